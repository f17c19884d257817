// Single-sign-on connections: URLs, home-realm discovery, metadata, and faults of providers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/config/connection_urls.h"
#include "daemon/handlers/saml_metadata_handler.h"
#include "daemon/signin/connection_check.h"
#include "daemon/signin/home_realm.h"
#include "daemon/signin/sp_metadata.h"
#include "tests/support/json.h"

namespace giftsync::signin {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using Kind = CheckResult::Kind;

constexpr UtcMillis kNow{1'795'264'267'000};
constexpr const char* kTenant = "11111111-2222-3333-4444-555555555555";

config::SsoConnectionSettings oidc() {
  config::SsoConnectionSettings one;
  one.name = "acme";
  one.issuer = "https://idp.acme.com/realm";
  one.client_id = "giftsync";
  one.domains = {"acme.com"};
  return one;
}

config::SsoConnectionSettings directory(bool v2) {
  config::SsoConnectionSettings one;
  one.name = "dir";
  one.kind = config::SsoKind::directory;
  one.domain = "edge.onmicrosoft.com";
  one.identity_api_v2 = v2;
  return one;
}

config::SsoSettings settings() {
  config::SsoSettings sso;
  sso.auth_url = "https://login.example.com:8443/auth";
  return sso;
}

// HTTP-41, HTTP-42
TEST(ConnectionUrls, NameTheConnection) {
  const config::SsoSettings sso = settings();
  EXPECT_EQ(config::login_redirect_url(sso), "https://login.example.com:8443/auth/login/callback");
  EXPECT_EQ(config::post_back_url(sso, oidc()),
            "https://login.example.com:8443/auth/login/callback?connection=acme");
  EXPECT_EQ(config::saml_entity_id(sso, oidc()), "urn:giftsync:login.example.com:acme");
  config::SsoSettings numeric;
  numeric.auth_url = "https://[2001:db8::1]:8443";
  EXPECT_EQ(config::saml_entity_id(numeric, oidc()), "urn:giftsync:2001:db8::1:acme");
}

TEST(ConnectionUrls, ProviderEndpoints) {
  config::SsoSettings sso = settings();
  EXPECT_EQ(config::provider_endpoints(sso, oidc()).discovery,
            "https://idp.acme.com/realm/.well-known/openid-configuration");
  const config::ProviderEndpoints v1 = config::provider_endpoints(sso, directory(false));
  EXPECT_EQ(v1.authorize, "https://login.microsoftonline.com/edge.onmicrosoft.com/oauth2/authorize");
  EXPECT_EQ(v1.token, "https://login.microsoftonline.com/edge.onmicrosoft.com/oauth2/token");
  sso.authority = "https://login.microsoftonline.us";
  const config::ProviderEndpoints v2 = config::provider_endpoints(sso, directory(true));
  EXPECT_EQ(v2.authorize, "https://login.microsoftonline.us/edge.onmicrosoft.com/oauth2/v2.0/authorize");
  EXPECT_EQ(v2.token, "https://login.microsoftonline.us/edge.onmicrosoft.com/oauth2/v2.0/token");
  EXPECT_EQ(v2.issuer, "https://login.microsoftonline.us/edge.onmicrosoft.com/v2.0");
  EXPECT_EQ(v2.discovery,
            "https://login.microsoftonline.us/edge.onmicrosoft.com/v2.0/.well-known/openid-configuration");
}

// HTTP-44
TEST(HomeRealm, SelectsTheConnectionByDomain) {
  config::SsoSettings sso = settings();
  sso.connections = {oidc(), directory(true)};
  const auto name_of = [&](const std::string& address) {
    const config::SsoConnectionSettings* one = find_connection(sso, address);
    return one ? one->name : std::string("none");
  };
  EXPECT_EQ(name_of("rose@ACME.com "), "acme");
  EXPECT_EQ(name_of("\"a@b\"@acme.com"), "acme");
  EXPECT_EQ(name_of("rose@edge.onmicrosoft.com"), "dir");
  for (const char* other_domain :
       {"rose@sub.acme.com", "rose@acme.com.evil.com", "acme.com", "rose@", "", "@"})
    EXPECT_EQ(name_of(other_domain), "none") << other_domain;
}

// HTTP-40
TEST(SpMetadata, IsServedForSamlConnectionsOnly) {
  config::SsoSettings sso = settings();
  config::SsoConnectionSettings saml;
  saml.name = "edge";
  saml.kind = config::SsoKind::saml;
  saml.claim_name = "a<\"&'>";
  sso.connections = {oidc(), saml};
  const http::HttpResponse response = handlers::saml_metadata(sso, {}, "edge");
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.body, AllOf(HasSubstr("entityID=\"urn:giftsync:login.example.com:edge\""),
                                   HasSubstr("callback?connection=edge\""), HasSubstr("a&lt;&quot;&amp;")));
  for (const char* other : {"acme", "unknown", "", "edge/"})
    EXPECT_EQ(handlers::saml_metadata(sso, {}, other).status, 404) << other;
}

/// A fake provider: its responses by URL.
class FakeProvider {
 public:
  FakeProvider() {
    json key = {{"kty", "RSA"}, {"use", "sig"}, {"kid", "k1"}, {"e", "AQAB"}};
    key["n"] = "0" + std::string(341, 'A');  // 2048 bits: the first base64url digit is not zero
    keys = {{"keys", {key}}};
    document = {{"issuer", "https://idp.acme.com/realm"},
                {"authorization_endpoint", "https://idp.acme.com/auth"},
                {"token_endpoint", "https://idp.acme.com/token"},
                {"jwks_uri", "https://idp.acme.com/keys"},
                {"response_types_supported", {"code"}},
                {"id_token_signing_alg_values_supported", {"RS256", "none"}}};
  }
  CheckReport check(const config::SsoConnectionSettings& connection,
                    const config::SsoSettings& sso = settings()) const {
    const auto fetch = [this](const HttpGetRequest& request, const auto&) {
      EXPECT_TRUE(request.https_only);
      EXPECT_TRUE(request.headers.empty()) << "no secret is sent";
      if (discovery_response.status != 200) return discovery_response;
      HttpGetResponse response;
      response.status = 200;
      response.body = request.url.ends_with("/keys") ? keys_text.value_or(keys.dump())
                                                     : document_text.value_or(document.dump());
      return response;
    };
    return check_connection(sso, connection, fetch, kNow);
  }
  json document;
  json keys;
  std::optional<std::string> document_text;
  std::optional<std::string> keys_text;
  HttpGetResponse discovery_response = [] {
    HttpGetResponse response;
    response.status = 200;
    return response;
  }();
};

std::string failures_in(const CheckReport& report) {
  std::string text;
  for (const CheckResult& one : report.all()) {
    if (one.kind == Kind::failure || one.kind == Kind::unreachable) text += one.text + "\n";
  }
  return text;
}

TEST(ConnectionCheck, AValidProviderHasNoFailure) {
  EXPECT_EQ(failures_in(FakeProvider().check(oidc())), "");
}

TEST(ConnectionCheck, NamesEachFailure) {
  struct Case {
    const char* name;
    std::function<void(FakeProvider&)> break_provider;
    const char* expected;
  };
  const std::vector<Case> cases{
      {"another issuer", [](auto& p) { p.document["issuer"] = "https://evil.example.com"; },
       "another server responds there"},
      {"a slash", [](auto& p) { p.document["issuer"] = "https://idp.acme.com/realm/"; }, "slash at the end"},
      {"another case", [](auto& p) { p.document["issuer"] = "https://idp.acme.com/Realm"; },
       "another server responds"},
      {"no issuer", [](auto& p) { p.document.erase("issuer"); }, "names no issuer"},
      {"an issuer that is not a text", [](auto& p) { p.document["issuer"] = 7; }, "names no issuer"},
      {"no keys", [](auto& p) { p.document.erase("jwks_uri"); }, "names no jwks_uri"},
      {"keys in clear text", [](auto& p) { p.document["jwks_uri"] = "http://idp.acme.com/keys"; },
       "does not begin with https://"},
      {"no code flow", [](auto& p) { p.document["response_types_supported"] = {"id_token"}; }, "code flow"},
      {"no signature",
       [](auto& p) {
         p.document["id_token_signing_alg_values_supported"] = {"none", "HS256"};
       },
       "no algorithm that can be verified"},
      {"no secret",
       [](auto& p) { p.document["token_endpoint_auth_methods_supported"] = {"private_key_jwt"}; },
       "accepts no client secret"},
      {"no JSON", [](auto& p) { p.document_text = "<html>"; }, "not valid JSON"},
      {"a list", [](auto& p) { p.document_text = "[]"; }, "a list"},
      {"an empty list of keys", [](auto& p) { p.keys["keys"] = json::array(); },
       "None of the provider's keys"},
      {"keys for encryption", [](auto& p) { p.keys["keys"][0]["use"] = "enc"; },
       "None of the provider's keys"},
      {"a weak key", [](auto& p) { p.keys["keys"][0]["n"] = "w" + std::string(170, 'A'); }, "has 1024 bits"},
      {"a published secret", [](auto& p) { p.keys["keys"][0]["d"] = "AAAA"; }, "private part of key"},
      {"keys that are none", [](auto& p) { p.keys_text = "7"; }, "no list"},
      {"not there", [](auto& p) { p.discovery_response.status = 404; }, "Check the address."},
      {"moved",
       [](auto& p) {
         p.discovery_response.status = 301;
         p.discovery_response.location = "https://new.acme.com/";
       },
       "https://new.acme.com/"},
      {"server error", [](auto& p) { p.discovery_response.status = 503; }, "responds with 503"},
      {"an expired certificate",
       [](auto& p) {
         p.discovery_response.status = 0;
         p.discovery_response.error = "SSL certificate problem: certificate has expired";
       },
       "certificate has expired"},
  };
  for (const Case& one : cases) {
    FakeProvider provider;
    one.break_provider(provider);
    EXPECT_THAT(failures_in(provider.check(oidc())), HasSubstr(one.expected)) << one.name;
  }
}

// SAML-23
TEST(ConnectionCheck, BothCertificatesAreChecked) {
  config::SsoConnectionSettings saml;
  saml.name = "edge";
  saml.kind = config::SsoKind::saml;
  saml.sign_in_url = "https://idp.edge.com/sso";
  saml.certificate = "/nonexistent/now.pem";
  saml.next_certificate = "/nonexistent/next.pem";
  const CheckReport report = check_connection(
      settings(), saml,
      [](const HttpGetRequest&, const std::function<bool()>&) {
        HttpGetResponse response;
        response.status = 200;
        return response;
      },
      kNow);
  EXPECT_THAT(failures_in(report), AllOf(HasSubstr("now.pem"), HasSubstr("next.pem")));
}

// HTTP-46
TEST(ConnectionCheck, ADirectoryIssuerContainsItsTenantId) {
  const config::SsoSettings sso = settings();
  const std::string id = kTenant;
  const auto v2 = [&](const std::string& issuer) { return is_expected_issuer(sso, directory(true), issuer); };
  EXPECT_TRUE(v2("https://login.microsoftonline.com/" + id + "/v2.0"));
  EXPECT_TRUE(v2("https://login.microsoftonline.com/edge.onmicrosoft.com/v2.0"));
  EXPECT_FALSE(v2("https://login.microsoftonline.com/{tenantid}/v2.0")) << "a multi-tenant issuer";
  EXPECT_FALSE(v2("https://login.microsoftonline.com/other.com/v2.0"));
  EXPECT_FALSE(v2("https://evil.example.com/" + id + "/v2.0"));
  EXPECT_FALSE(v2("https://login.microsoftonline.com/v2.0"));
  EXPECT_FALSE(v2(""));
  const auto v1 = [&](const std::string& issuer) {
    return is_expected_issuer(sso, directory(false), issuer);
  };
  EXPECT_TRUE(v1("https://sts.windows.net/" + id + "/"));
  EXPECT_TRUE(v1("https://sts.chinacloudapi.cn/" + id + "/"));
  EXPECT_FALSE(v1("https://evil.example.com/" + id + "/"));
  EXPECT_FALSE(v1("https://sts.windows.net/"));
  EXPECT_FALSE(v1("http://sts.windows.net/" + id + "/"));
}

}  // namespace
}  // namespace giftsync::signin
