// Single-sign-on connections: addresses, home-realm discovery, metadata, and what a provider may get wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "daemon/http/sso_metadata.h"
#include "daemon/sso/connection_addresses.h"
#include "daemon/sso/connection_check.h"
#include "daemon/sso/provider_documents.h"
#include "daemon/sso/route.h"
#include "daemon/sso/sp_metadata.h"

namespace giftsync::daemon {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using Kind = Finding::Kind;

constexpr schema::UtcMillis kNow{1'795'264'267'000};
constexpr const char* kTenant = "11111111-2222-3333-4444-555555555555";

SsoConnectionSettings oidc() {
  SsoConnectionSettings one;
  one.name = "acme";
  one.issuer = "https://idp.acme.com/realm";
  one.client_id = "giftsync";
  one.domains = {"acme.com"};
  return one;
}

SsoConnectionSettings directory(bool v2) {
  SsoConnectionSettings one;
  one.name = "dir";
  one.kind = SsoKind::directory;
  one.domain = "edge.onmicrosoft.com";
  one.identity_api_v2 = v2;
  return one;
}

SsoSettings settings() {
  SsoSettings sso;
  sso.auth_url = "https://login.example.com:8443/auth";
  return sso;
}

TEST(Sso, AddressesNameTheConnection) {
  const SsoSettings sso = settings();
  EXPECT_EQ(login_redirect_url(sso), "https://login.example.com:8443/auth/login/callback");
  EXPECT_EQ(post_back_url(sso, oidc()), "https://login.example.com:8443/auth/login/callback?connection=acme");
  EXPECT_EQ(saml_entity_id(sso, oidc()), "urn:giftsync:login.example.com:acme");
  SsoSettings numeric;
  numeric.auth_url = "https://[2001:db8::1]:8443";
  EXPECT_EQ(saml_entity_id(numeric, oidc()), "urn:giftsync:2001:db8::1:acme");
}

TEST(Sso, EndpointsInEffect) {
  SsoSettings sso = settings();
  EXPECT_EQ(provider_addresses(sso, oidc()).discovery,
            "https://idp.acme.com/realm/.well-known/openid-configuration");
  const ProviderAddresses v1 = provider_addresses(sso, directory(false));
  EXPECT_EQ(v1.authorize, "https://login.microsoftonline.com/edge.onmicrosoft.com/oauth2/authorize");
  EXPECT_EQ(v1.token, "https://login.microsoftonline.com/edge.onmicrosoft.com/oauth2/token");
  sso.authority = "https://login.microsoftonline.us";
  const ProviderAddresses v2 = provider_addresses(sso, directory(true));
  EXPECT_EQ(v2.authorize, "https://login.microsoftonline.us/edge.onmicrosoft.com/oauth2/v2.0/authorize");
  EXPECT_EQ(v2.token, "https://login.microsoftonline.us/edge.onmicrosoft.com/oauth2/v2.0/token");
  EXPECT_EQ(v2.issuer, "https://login.microsoftonline.us/edge.onmicrosoft.com/v2.0");
  EXPECT_EQ(v2.discovery,
            "https://login.microsoftonline.us/edge.onmicrosoft.com/v2.0/.well-known/openid-configuration");
}

TEST(Sso, RoutesByTheDomainAlone) {
  SsoSettings sso = settings();
  sso.connections = {oidc(), directory(true)};
  const auto name_of = [&](const std::string& address) {
    const SsoConnectionSettings* one = route(sso, address);
    return one ? one->name : std::string("none");
  };
  EXPECT_EQ(name_of("rose@ACME.com "), "acme");
  EXPECT_EQ(name_of("\"a@b\"@acme.com"), "acme");
  EXPECT_EQ(name_of("rose@edge.onmicrosoft.com"), "dir");
  for (const char* stranger : {"rose@sub.acme.com", "rose@acme.com.evil.com", "acme.com", "rose@", "", "@"})
    EXPECT_EQ(name_of(stranger), "none") << stranger;
}

TEST(Sso, MetadataIsServedForSamlConnectionsAlone) {
  SsoSettings sso = settings();
  SsoConnectionSettings saml;
  saml.name = "edge";
  saml.kind = SsoKind::saml;
  saml.claim_name = "a<\"&'>";
  sso.connections = {oidc(), saml};
  const HttpResponse answer = metadata_answer(sso, "edge");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, AllOf(HasSubstr("entityID=\"urn:giftsync:login.example.com:edge\""),
                                 HasSubstr("callback?connection=edge\""), HasSubstr("a&lt;&quot;&amp;")));
  for (const char* other : {"acme", "nobody", "", "edge/"})
    EXPECT_EQ(metadata_answer(sso, other).status, 404) << other;
}

/// A provider on paper: what it answers by URL.
class Provider {
 public:
  Provider() {
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
  Findings check(const SsoConnectionSettings& connection, const SsoSettings& sso = settings()) const {
    const auto fetch = [this](const WebRequest& request, const auto&) {
      EXPECT_TRUE(request.https_only);
      EXPECT_TRUE(request.headers.empty()) << "nothing secret is sent";
      if (discovery_answer.status != 200) return discovery_answer;
      WebAnswer answer;
      answer.status = 200;
      answer.body = request.url.ends_with("/keys") ? keys_text.value_or(keys.dump())
                                                   : document_text.value_or(document.dump());
      return answer;
    };
    return check_connection(sso, connection, fetch, kNow);
  }
  json document;
  json keys;
  std::optional<std::string> document_text;
  std::optional<std::string> keys_text;
  WebAnswer discovery_answer = [] {
    WebAnswer answer;
    answer.status = 200;
    return answer;
  }();
};

std::string faults_in(const Findings& findings) {
  std::string text;
  for (const Finding& one : findings.all()) {
    if (one.kind == Kind::fault || one.kind == Kind::unreachable) text += one.text + "\n";
  }
  return text;
}

TEST(SsoCheck, AGoodProviderHasNoFault) {
  EXPECT_EQ(faults_in(Provider().check(oidc())), "");
}

TEST(SsoCheck, SaysInWordsWhatIsWrong) {
  struct Case {
    const char* name;
    std::function<void(Provider&)> spoil;
    const char* says;
  };
  const std::vector<Case> cases{
      {"a liar", [](auto& p) { p.document["issuer"] = "https://evil.example.com"; }, "not who it should be"},
      {"a slash", [](auto& p) { p.document["issuer"] = "https://idp.acme.com/realm/"; }, "slash at the end"},
      {"another case", [](auto& p) { p.document["issuer"] = "https://idp.acme.com/Realm"; },
       "not who it should"},
      {"no issuer", [](auto& p) { p.document.erase("issuer"); }, "names no issuer"},
      {"an issuer that is no text", [](auto& p) { p.document["issuer"] = 7; }, "names no issuer"},
      {"no keys", [](auto& p) { p.document.erase("jwks_uri"); }, "names no jwks_uri"},
      {"keys in clear text", [](auto& p) { p.document["jwks_uri"] = "http://idp.acme.com/keys"; },
       "does not begin with https://"},
      {"no code flow", [](auto& p) { p.document["response_types_supported"] = {"id_token"}; }, "code flow"},
      {"no signature",
       [](auto& p) {
         p.document["id_token_signing_alg_values_supported"] = {"none", "HS256"};
       },
       "no key that could be checked"},
      {"no secret",
       [](auto& p) { p.document["token_endpoint_auth_methods_supported"] = {"private_key_jwt"}; },
       "takes no client secret"},
      {"no JSON", [](auto& p) { p.document_text = "<html>"; }, "no JSON"},
      {"a list", [](auto& p) { p.document_text = "[]"; }, "a list"},
      {"an empty list of keys", [](auto& p) { p.keys["keys"] = json::array(); },
       "None of the provider's keys"},
      {"keys for encryption", [](auto& p) { p.keys["keys"][0]["use"] = "enc"; },
       "None of the provider's keys"},
      {"a weak key", [](auto& p) { p.keys["keys"][0]["n"] = "w" + std::string(170, 'A'); }, "has 1024 bits"},
      {"a published secret", [](auto& p) { p.keys["keys"][0]["d"] = "AAAA"; }, "secret part of key"},
      {"keys that are none", [](auto& p) { p.keys_text = "7"; }, "no list"},
      {"not there", [](auto& p) { p.discovery_answer.status = 404; }, "Is the address right?"},
      {"moved",
       [](auto& p) {
         p.discovery_answer.status = 301;
         p.discovery_answer.location = "https://new.acme.com/";
       },
       "https://new.acme.com/"},
      {"ill", [](auto& p) { p.discovery_answer.status = 503; }, "answers 503"},
      {"an expired certificate",
       [](auto& p) {
         p.discovery_answer.status = 0;
         p.discovery_answer.fault = "SSL certificate problem: certificate has expired";
       },
       "certificate has expired"},
  };
  for (const Case& one : cases) {
    Provider provider;
    one.spoil(provider);
    EXPECT_THAT(faults_in(provider.check(oidc())), HasSubstr(one.says)) << one.name;
  }
}

TEST(SsoCheck, ADirectoryCallsItselfByItsId) {
  const SsoSettings sso = settings();
  const std::string id = kTenant;
  const auto v2 = [&](const std::string& told) { return is_expected_issuer(sso, directory(true), told); };
  EXPECT_TRUE(v2("https://login.microsoftonline.com/" + id + "/v2.0"));
  EXPECT_TRUE(v2("https://login.microsoftonline.com/edge.onmicrosoft.com/v2.0"));
  EXPECT_FALSE(v2("https://login.microsoftonline.com/{tenantid}/v2.0")) << "of no directory in particular";
  EXPECT_FALSE(v2("https://login.microsoftonline.com/other.com/v2.0"));
  EXPECT_FALSE(v2("https://evil.example.com/" + id + "/v2.0"));
  EXPECT_FALSE(v2("https://login.microsoftonline.com/v2.0"));
  EXPECT_FALSE(v2(""));
  const auto v1 = [&](const std::string& told) { return is_expected_issuer(sso, directory(false), told); };
  EXPECT_TRUE(v1("https://sts.windows.net/" + id + "/"));
  EXPECT_TRUE(v1("https://sts.chinacloudapi.cn/" + id + "/"));
  EXPECT_FALSE(v1("https://evil.example.com/" + id + "/"));
  EXPECT_FALSE(v1("https://sts.windows.net/"));
  EXPECT_FALSE(v1("http://sts.windows.net/" + id + "/"));
}

}  // namespace
}  // namespace giftsync::daemon
