// An OpenID provider in the test's own process, whose documents and tokens a test falsifies. It checks what
// it gets: client secret, PKCE verifier, redirect URI, single use of codes.
#pragma once

#include <Poco/URI.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "daemon/identity/oidc/discovery.h"
#include "tests/daemon/identity/test_tokens.h"

namespace giftsync::tests {

inline constexpr UtcMillis kSignInTime{1'795'264'267'000};

class FakeProvider {
 public:
  explicit FakeProvider(std::string issuer_url = "https://idp.acme.com") : issuer(std::move(issuer_url)) {
    static const TestKey rsa = make_rsa_key();
    key = rsa;
    discovery = {{"issuer", issuer},
                 {"authorization_endpoint", issuer + "/auth"},
                 {"token_endpoint", issuer + "/token"},
                 {"jwks_uri", issuer + "/keys"},
                 {"userinfo_endpoint", issuer + "/me"},
                 {"response_types_supported", {"code"}},
                 {"authorization_response_iss_parameter_supported", true},
                 {"id_token_signing_alg_values_supported", {"RS256", "ES256"}}};
    keys = {jwk_of(key, "k1")};
    header = {{"alg", "RS256"}, {"kid", "k1"}, {"typ", "JWT"}};
    const auto seconds = kSignInTime.value / 1000;
    claims = {{"iss", issuer},  {"aud", "giftsync"},       {"sub", "user-1"},
              {"iat", seconds}, {"exp", seconds + 300},    {"email", "rose@acme.com"},
              {"name", "Rose"}, {"auth_time", seconds - 5}};
    userinfo = {{"sub", "user-1"}, {"email", "rose@acme.com"}, {"email_verified", true}};
  }

  /// The connection to it.
  config::SsoConnectionSettings connection(const std::string& name = "acme") const {
    config::SsoConnectionSettings one;
    one.name = name;
    one.issuer = issuer;
    one.client_id = "giftsync";
    one.client_secret = config::Secret("hush hush+%");
    one.domains = {"acme.com"};
    return one;
  }

  oidc::Send send() {
    return [this](const HttpRequest& request, const std::string&) {
      ++requests[request.url];
      HttpResponse response = respond(request);
      if (tamper) tamper(request.url, response);
      return response;
    };
  }

  /// The user signs in at `url`: the query with which the browser comes back.
  std::string authorize(const std::string& url) {
    std::map<std::string, std::string> given;
    for (const auto& [name, value] : Poco::URI(url).getQueryParameters()) given.emplace(name, value);
    EXPECT_TRUE(url.starts_with(issuer + "/auth?")) << url;
    EXPECT_EQ(given["response_type"] + given["code_challenge_method"], "codeS256");
    EXPECT_GE(given["state"].size(), 43u);
    const std::string code = "code-" + std::to_string(++codes_made_);
    codes_[code] = {given["code_challenge"], given["redirect_uri"], given["nonce"]};
    redirect_uri = given["redirect_uri"];
    state = given["state"];
    return "code=" + code + "&state=" + state + "&iss=" + percent_encoded(issuer);
  }

  std::string issuer;
  TestKey key;
  json discovery, header, claims, userinfo, token_reply = json::object();
  std::vector<json> keys;
  bool adds_at_hash = true;
  std::function<void(const std::string& url, HttpResponse&)> tamper;
  std::function<std::string(const std::string& token)> sign_instead;  ///< gets the token's unsigned text
  std::map<std::string, int> requests;
  std::string redirect_uri, state;  ///< of the last authorization

 private:
  struct Code {
    std::string challenge, redirect_uri, nonce;
  };

  static HttpResponse reply(int status, const json& body) {
    HttpResponse response;
    response.status = status;
    response.body = body.dump();
    return response;
  }

  HttpResponse respond(const HttpRequest& request) {
    if (request.url.ends_with("/.well-known/openid-configuration")) return reply(200, discovery);
    if (request.url == issuer + "/keys") return reply(200, {{"keys", keys}});
    if (request.url == issuer + "/token") return exchange(request);
    if (request.url != issuer + "/me") return reply(404, {{"error", "not_found"}});
    EXPECT_EQ(request.headers.at(0), "Authorization: Bearer access-1");
    return reply(200, userinfo);
  }

  HttpResponse exchange(const HttpRequest& request) {
    std::map<std::string, std::string> form;
    Poco::URI body;
    body.setRawQuery(request.body);
    for (const auto& [name, value] : body.getQueryParameters()) form.emplace(name, value);
    const bool is_post = form.contains("client_secret");
    const std::string basic = "Authorization: Basic " + to_base64_text("giftsync:hush%20hush%2B%25");
    EXPECT_TRUE(is_post ? form["client_secret"] == "hush hush+%" : request.headers.back() == basic);
    const auto found = codes_.find(form["code"]);
    if (found == codes_.end()) return reply(400, {{"error", "invalid_grant"}});
    const Code code = found->second;
    codes_.erase(found);
    EXPECT_EQ(form["grant_type"], "authorization_code");
    EXPECT_EQ(form["redirect_uri"], code.redirect_uri);
    if (to_base64url(sha256(form["code_verifier"])) != code.challenge)
      return reply(400, {{"error", "invalid_grant"}});
    json all = claims;
    if (!all.contains("nonce")) all["nonce"] = code.nonce;
    if (adds_at_hash && !all.contains("at_hash"))
      all["at_hash"] = to_base64url(sha256("access-1").substr(0, 16));
    const std::string text = to_base64url(header.dump()) + "." + to_base64url(all.dump());
    const std::string token =
        sign_instead ? sign_instead(text) : text + "." + to_base64url(jws_signature(key, text));
    json body_json{{"access_token", "access-1"}, {"token_type", "Bearer"}, {"id_token", token}};
    body_json.update(token_reply);
    return reply(200, body_json);
  }

  std::map<std::string, Code> codes_;
  int codes_made_ = 0;
};

}  // namespace giftsync::tests
