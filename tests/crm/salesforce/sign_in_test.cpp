// Signing in at a token endpoint on loopback: what is sent, and what each kind of answer means.
#include "crm/salesforce/calls/sign_in.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "platform/clock.h"
#include "platform/digest.h"
#include "platform/time.h"
#include "tests/crm/salesforce/loopback_org.h"
#include "tests/crm/salesforce/recorded_answers.h"
#include "tests/support/json.h"
#include "tests/support/test_keys.h"

namespace giftsync::salesforce {
namespace {

using testing::HasSubstr;

constexpr UtcMillis kNow{1'800'000'000'000};
constexpr const char* kIdentity = "https://login.salesforce.com/id/00Dx0000000BV7zEAG/005x00000012Q9PAAU";

const tests::TestKey& key_pair() {
  static const tests::TestKey key = tests::make_rsa_key();
  return key;
}

SignInSettings jwt_settings(const std::string& domain) {
  SignInSettings settings;
  settings.domain = domain;
  settings.client_id = "3MVG9.app&key";
  settings.username = "giftsync@acme.example";
  settings.private_key = SigningKey::from_pem(tests::private_pem(key_pair())).value();
  return settings;
}

SignInSettings secret_settings(const std::string& domain) {
  SignInSettings settings;
  settings.domain = domain;
  settings.flow = SignInFlow::client_credentials;
  settings.client_id = "3MVG9.app";
  settings.client_secret = "a+secret&more=";
  return settings;
}

http::HttpResponse signed_in(const std::string& instance_url = "https://acme.my.salesforce.com",
                             const std::string& identity = kIdentity,
                             const std::string& token = "00Dx!AQ.token") {
  return json_response(200, nlohmann::json{{"access_token", token},
                                           {"instance_url", instance_url},
                                           {"id", identity},
                                           {"token_type", "Bearer"},
                                           {"issued_at", "1800000000000"},
                                           {"signature", "c2ln"}}
                                .dump());
}

SignInOutcome outcome_of(const http::HttpResponse& response, UtcMillis now = kNow) {
  LoopbackOrg org([&](const auto&) { return response; });
  HttpClient http({});
  return sign_in(secret_settings(org.url()), http, now);
}

std::map<std::string, std::string> form_of(const std::string& body) {
  std::map<std::string, std::string> form;
  for (std::size_t begin = 0; begin < body.size();) {
    const std::size_t end = std::min(body.find('&', begin), body.size());
    const std::string pair = body.substr(begin, end - begin);
    const std::size_t equals = pair.find('=');
    std::string value;
    for (std::size_t i = equals + 1; i < pair.size(); ++i) {
      if (pair[i] != '%') {
        value += pair[i];
      } else {
        value += from_hex(pair.substr(i + 1, 2)).value();
        i += 2;
      }
    }
    form[pair.substr(0, equals)] = value;
    begin = end + 1;
  }
  return form;
}

TEST(SignIn, SendsASignedAssertionToTheOrgsOwnDomain) {
  const std::pair<const char*, const char*> audiences[] = {
      {"production", "https://login.salesforce.com"},
      {"sandbox", "https://test.salesforce.com"},
      {"https://acme.my.salesforce.com", "https://acme.my.salesforce.com"}};
  for (const auto& [login, audience] : audiences) {
    LoopbackOrg org([](const auto&) { return signed_in(); });
    HttpClient http({});
    SignInSettings settings = jwt_settings(org.url());
    settings.login = login;
    const SignInOutcome outcome = sign_in(settings, http, kNow);
    ASSERT_TRUE(std::holds_alternative<Session>(outcome));
    EXPECT_EQ(std::get<Session>(outcome), (Session{"00Dx!AQ.token", "https://acme.my.salesforce.com",
                                                   "00Dx0000000BV7zEAG", "005x00000012Q9PAAU"}));
    ASSERT_EQ(org.requests().size(), 1U);
    const http::HttpRequest request = org.requests().front();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.path, "/services/oauth2/token");
    EXPECT_EQ(request.query, "");
    EXPECT_EQ(request.header("Content-Type"), "application/x-www-form-urlencoded");
    const auto form = form_of(request.body);
    EXPECT_EQ(form.at("grant_type"), "urn:ietf:params:oauth:grant-type:jwt-bearer");
    const std::string jwt = form.at("assertion");
    const std::size_t last = jwt.rfind('.');
    EXPECT_TRUE(tests::is_rs256_signature(key_pair(), jwt.substr(0, last),
                                          from_base64url(jwt.substr(last + 1)).value()));
    const std::size_t first = jwt.find('.');
    const auto claims = tests::parse_json(from_base64url(jwt.substr(first + 1, last - first - 1)).value());
    EXPECT_EQ(claims, (nlohmann::json{{"iss", settings.client_id},
                                      {"sub", settings.username},
                                      {"aud", audience},
                                      {"exp", kNow.value / 1000 + 180}}));
  }
}

TEST(SignIn, SendsTheAppsSecretInTheBody) {
  LoopbackOrg org([](const auto&) { return signed_in(); });
  HttpClient http({});
  const SignInSettings settings = secret_settings(org.url());
  EXPECT_TRUE(std::holds_alternative<Session>(sign_in(settings, http, kNow)));
  const auto form = form_of(org.requests().at(0).body);
  EXPECT_EQ(form, (std::map<std::string, std::string>{{"grant_type", "client_credentials"},
                                                      {"client_id", settings.client_id},
                                                      {"client_secret", settings.client_secret}}));
}

TEST(SignIn, ARefusalSaysWhatToDo) {
  const struct {
    const char* error;
    const char* description;
    const char* next_step;
  } cases[] = {
      {"invalid_grant", "user hasn't approved this consumer", "permission set"},
      {"invalid_grant", "user hasn't approved this consumer", "check crm.salesforce.username"},
      {"invalid_app_access", "user is not admin approved to access this app", "permission set"},
      {"invalid_grant", "audience is invalid", "crm.salesforce.login"},
      {"invalid_grant", "Audience validation failed", "crm.salesforce.login"},
      {"invalid_grant", "invalid assertion", "crm.salesforce.private_key"},
      {"invalid_grant", "no client credentials user enabled", "Run As"},
      {"invalid_grant", "request not supported on this domain", "crm.salesforce.domain"},
      {"invalid_grant", "ip restricted", "IP restrictions"},
      {"invalid_grant", "inactive user", "crm.salesforce.username"},
      {"inactive_org", "", "ask Salesforce"},
      {"app_not_found", "External client app is not installed in this org", "crm.salesforce.client_id"},
      {"OAUTH_EC_APP_NOT_FOUND", "", "crm.salesforce.client_id"},
      {"invalid_client_id", "client identifier invalid", "crm.salesforce.client_id"},
      {"invalid_client", "invalid client credentials", "crm.salesforce.client_secret"},
      {"unsupported_grant_type", "grant type not supported", "crm.salesforce.flow"},
      {"invalid_grant", "authentication failure", "Login History"},
      {"something_new", "", "Login History"},
  };
  for (const auto& one : cases) {
    for (const int status : {400, 401, 403}) {
      const SignInOutcome outcome = outcome_of(
          json_response(status,
                        nlohmann::json{{"error", one.error}, {"error_description", one.description}}.dump()),
          system_now());
      ASSERT_TRUE(std::holds_alternative<SignInRefusal>(outcome)) << one.error;
      const auto& refusal = std::get<SignInRefusal>(outcome);
      EXPECT_THAT(refusal.reason, HasSubstr(one.error));
      EXPECT_THAT(refusal.reason, HasSubstr(one.description));
      EXPECT_THAT(refusal.next_step, HasSubstr(one.next_step)) << one.error << ' ' << one.description;
    }
  }
}

/// The server's own clock is the machine's.
TEST(SignIn, AWrongClockIsTheReasonOfAnInvalidAssertion) {
  const http::HttpResponse refused =
      json_response(400, R"({"error":"invalid_grant","error_description":"invalid assertion"})");
  const UtcMillis now = system_now();
  const auto next_step = [&](std::int64_t lead_millis) {
    return std::get<SignInRefusal>(outcome_of(refused, now + lead_millis)).next_step;
  };
  EXPECT_THAT(next_step(0), HasSubstr("crm.salesforce.private_key"));
  EXPECT_THAT(next_step(10 * kMinuteMillis), HasSubstr("s ahead of the server's"));
  EXPECT_THAT(next_step(-10 * kMinuteMillis), HasSubstr("s behind the server's"));
}

TEST(SignIn, WhatSaysNothingAboutTheCredentialsIsTemporary) {
  const std::string page = "<html><body>Down for maintenance</body></html>";
  const http::HttpResponse responses[] = {
      http::text_response(503, "text/html", page),
      http::text_response(200, "text/html", page),
      http::text_response(404, "text/html", page),
      http::text_response(400, "text/xml", "<LOGIN_OAUTH_INVALID_TOKEN/>"),
      json_response(500, R"({"error":"invalid_grant"})"),
      json_response(400, R"({"error":"rate_limit_exceeded"})"),
      json_response(400, R"({"error":"invalid_grant","error_description":"login rate exceeded"})"),
      json_response(400, R"({"error":"unknown_error","error_description":"retry your request"})"),
      json_response(400, "{}"),
      json_response(400, "[]"),
      json_response(200, ""),
      http::with_header(json_response(302, ""), "Location", "https://elsewhere.example/"),
  };
  for (const http::HttpResponse& response : responses) {
    const SignInOutcome outcome = outcome_of(response);
    ASSERT_TRUE(std::holds_alternative<SignInFault>(outcome)) << response.status << ' ' << response.body;
    EXPECT_NE(std::get<SignInFault>(outcome).reason, "");
  }
  const auto fault = std::get<SignInFault>(
      outcome_of(http::with_retry_after(http::text_response(503, "text/html", page), 120)));
  EXPECT_EQ(fault.reason, "HTTP 503, text/html: " + page);
  EXPECT_EQ(fault.retry_after_seconds, 120);
}

TEST(SignIn, AnAnswerWithoutAUsableSessionIsAFaultThatShowsNoToken) {
  const http::HttpResponse responses[] = {
      signed_in("http://acme.my.salesforce.com"),
      signed_in(""),
      signed_in("https://acme.my.salesforce.com", "https://login.salesforce.com/id"),
      signed_in("https://acme.my.salesforce.com", "https://login.salesforce.com/id/00D/005"),
      signed_in("https://acme.my.salesforce.com", ""),
      signed_in("https://acme.my.salesforce.com", kIdentity, ""),
      signed_in("https://acme.my.salesforce.com", kIdentity, "00Dx!AQ.token\r\nX-Other: 1"),
      json_response(200, R"({"access_token":"00Dx!AQ.token",)"),
      json_response(200, R"(["access_token","00Dx!AQ.token"])"),
  };
  for (const http::HttpResponse& response : responses) {
    const SignInOutcome outcome = outcome_of(response);
    ASSERT_TRUE(std::holds_alternative<SignInFault>(outcome)) << response.body;
    EXPECT_EQ(std::get<SignInFault>(outcome).reason.find("AQ.token"), std::string::npos);
  }
}

TEST(SignIn, AnUnreachableOrgIsAFault) {
  HttpClient http({.connect_timeout_millis = 2000});
  const SignInOutcome outcome = sign_in(secret_settings("http://127.0.0.1:1"), http, kNow);
  ASSERT_TRUE(std::holds_alternative<SignInFault>(outcome));
}

TEST(SignIn, RecordedRefusalsAreFinal) {
  SKIP_WITHOUT_RECORDED();
  for (const char* name : {"auth_error_response.json", "refresh_error_response.json"}) {
    const std::string body = recorded(std::string("restforce/") + name);
    EXPECT_TRUE(std::holds_alternative<SignInRefusal>(outcome_of(json_response(400, body)))) << body;
  }
}

TEST(SignIn, TheFingerprintTellsWhoseSessionItIs) {
  const SignInSettings settings = jwt_settings("https://acme.my.salesforce.com");
  const auto changed = [&](auto change) {
    SignInSettings other = settings;
    change(other);
    return sign_in_fingerprint(other);
  };
  const std::string own = sign_in_fingerprint(settings);
  EXPECT_NE(own, changed([](auto& other) { other.domain += ".x"; }));
  EXPECT_NE(own, changed([](auto& other) { other.client_id += "x"; }));
  EXPECT_NE(own, changed([](auto& other) { other.username += "x"; }));
  EXPECT_NE(own, changed([](auto& other) { other.flow = SignInFlow::client_credentials; }));
  EXPECT_EQ(own, changed([](auto& other) { other.client_secret = "x"; }));
}

}  // namespace
}  // namespace giftsync::salesforce
