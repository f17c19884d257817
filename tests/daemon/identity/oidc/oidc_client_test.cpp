// Sign-in at an OpenID provider: the relying-party modules of the OpenID Foundation's conformance suite that
// apply to the code flow (by their names), and a table of what Microsoft Entra ID may say.
#include "daemon/identity/oidc/oidc_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/daemon/identity/oidc/fake_provider.h"

namespace giftsync::oidc {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using tests::FakeProvider;
constexpr UtcMillis kNow = tests::kSignInTime;

class SignIn {
 public:
  explicit SignIn(FakeProvider& provider) : provider_(provider), connection(provider.connection()) {
    sso_.auth_url = "https://login.example.com";
  }
  SignIn(FakeProvider& provider, config::SsoConnectionSettings to, const std::string& authority)
      : SignIn(provider) {
    connection = std::move(to);
    sso_.authority = authority;
  }

  tl::expected<VerifiedIdentity, SignInRefusal> run(UtcMillis now = kNow) {
    request.started_at = now;
    const auto url = client_.begin(connection, request);
    if (!url) return tl::unexpected(url.error());
    std::string query = provider_.authorize(*url);
    if (change_reply) query = change_reply(query);
    const auto reply = parse_authorization_reply(query);
    if (!reply) return tl::unexpected(reply.error());
    verdicts.clear();
    return client_.complete(connection, *reply, request, now, verdicts);
  }
  /// Empty when the sign-in succeeds, else the rule.
  std::string rule(UtcMillis now = kNow) {
    const auto outcome = run(now);
    last_text = outcome ? "" : outcome.error().text;
    EXPECT_THAT(last_text, Not(HasSubstr("hush")));
    return outcome ? "" : outcome.error().rule;
  }

 private:
  FakeProvider& provider_;
  config::SsoSettings sso_;
  OidcClient client_{sso_, provider_.send()};

 public:
  config::SsoConnectionSettings connection;
  AuthorizationRequest request = make_authorization_request(kNow);
  std::function<std::string(std::string)> change_reply;
  RuleVerdicts verdicts;
  std::string last_text;
};

struct Module {
  const char* name;
  const char* rule;  ///< empty: the sign-in succeeds
  std::function<void(FakeProvider&)> change;
};

std::string with_bad_signature(const std::string& text) {
  std::string signature = tests::jws_signature(FakeProvider().key, text);
  signature[10] = static_cast<char>(signature[10] ^ 1);
  return text + "." + to_base64url(signature);
}

// OIDC-1, OIDC-3, OIDC-4, OIDC-5, OIDC-6, OIDC-7, OIDC-8
TEST(OidcModules, HaveTheirVerdicts) {
  const auto other = std::make_shared<tests::TestKey>(tests::make_rsa_key());
  const auto curve = std::make_shared<tests::TestKey>(tests::make_ec_key());
  const std::vector<Module> modules{
      {"oidcc-client-test", "", [](auto&) {}},
      {"oidcc-client-test-invalid-iss", "OIDC-5", [](auto& p) { p.claims["iss"] = p.issuer + "/"; }},
      {"oidcc-client-test-missing-sub", "OIDC-5", [](auto& p) { p.claims.erase("sub"); }},
      {"oidcc-client-test-invalid-aud", "OIDC-5", [](auto& p) { p.claims["aud"] = "giftsync2"; }},
      {"oidcc-client-test-missing-aud", "OIDC-5", [](auto& p) { p.claims.erase("aud"); }},
      {"oidcc-client-test-missing-iat", "OIDC-5", [](auto& p) { p.claims.erase("iat"); }},
      {"oidcc-client-test-nonce-invalid", "OIDC-5", [](auto& p) { p.claims["nonce"] = "other"; }},
      {"oidcc-client-test-kid-absent-single-jwks", "", [](auto& p) { p.header.erase("kid"); }},
      {"oidcc-client-test-kid-absent-multiple-jwks", "OIDC-4",
       [&](auto& p) {
         p.header.erase("kid");
         p.keys.push_back(tests::jwk_of(*other, "k2"));
       }},
      {"oidcc-client-test-kid-absent-multiple-jwks, one fits", "",
       [&](auto& p) {
         p.header.erase("kid");
         p.keys.push_back(tests::jwk_of(*curve, "k2"));
       }},
      {"oidcc-client-test-idtoken-sig-none", "OIDC-4",
       [](auto& p) {
         p.header = {{"alg", "none"}};
         p.sign_instead = [](const std::string& text) { return text + "."; };
       }},
      {"oidcc-client-test-invalid-sig-rs256", "OIDC-4", [](auto& p) { p.sign_instead = with_bad_signature; }},
      {"oidcc-client-test-invalid-sig-hs256", "OIDC-4",
       [](auto& p) {
         p.header = {{"alg", "HS256"}};
         p.sign_instead = [](const std::string& text) {
           return text + "." + to_base64url(hmac_sha256("hush hush+%", text));
         };
       }},
      {"oidcc-client-test-invalid-sig-es256", "OIDC-4",
       [&](auto& p) {
         p.keys = {tests::jwk_of(*curve, "k1")};
         p.header["alg"] = "ES256";
       }},
      {"id token signed with ES256", "",
       [&](auto& p) {
         p.keys.push_back(tests::jwk_of(*curve, "k2"));
         p.header = {{"alg", "ES256"}, {"kid", "k2"}};
         p.key = *curve;
       }},
      {"oidcc-client-test-invalid-athash", "OIDC-6", [](auto& p) { p.claims["at_hash"] = "AAAA"; }},
      {"oidcc-client-test-missing-athash", "", [](auto& p) { p.adds_at_hash = false; }},
      {"oidcc-client-test-invalid-chash", "OIDC-6", [](auto& p) { p.claims["c_hash"] = "AAAA"; }},
      {"c_hash of the code", "",
       [](auto& p) { p.claims["c_hash"] = to_base64url(sha256("code-1").substr(0, 16)); }},
      {"oidcc-client-test-userinfo-invalid-sub", "OIDC-7",
       [](auto& p) {
         p.claims.erase("email");
         p.userinfo["sub"] = "user-2";
       }},
      {"oidcc-client-test-scope-userinfo-claims", "", [](auto& p) { p.claims.erase("email"); }},
      {"oidcc-client-test-client-secret-basic", "",
       [](auto& p) { p.discovery["token_endpoint_auth_methods_supported"] = {"client_secret_basic"}; }},
      {"client_secret_post", "",
       [](auto& p) { p.discovery["token_endpoint_auth_methods_supported"] = {"client_secret_post"}; }},
      {"oidcc-client-test-aggregated-claims, distributed claims", "",
       [](auto& p) {
         p.claims["_claim_names"] = {{"email", "src1"}};
         p.claims["_claim_sources"] = {{"src1", {{"endpoint", "https://evil.example"}}}};
       }},
      {"mtls_endpoint_aliases", "",
       [](auto& p) {
         p.discovery["mtls_endpoint_aliases"] = {{"token_endpoint", "https://mtls.evil.example/token"}};
       }},
      {"oidcc-client-test-discovery-issuer-mismatch", "OIDC-1",
       [](auto& p) { p.discovery["issuer"] = "https://evil.example"; }},
      {"oidcc-client-test-signing-key-rotation-just-before-signing", "",
       [&](auto& p) {
         p.tamper = [&p, other](const std::string& url, auto&) {
           if (!url.ends_with("/keys")) return;
           p.keys = {tests::jwk_of(*other, "k2")};
           p.key = *other;
           p.header["kid"] = "k2";
         };
       }},
      {"a key of the set cannot be parsed", "",
       [](auto& p) {
         p.keys.insert(p.keys.begin(), json{{"kty", "RSA"}, {"kid", "k1"}, {"n", 7}});
       }},
      {"token endpoint over http", "OIDC-1",
       [](auto& p) { p.discovery["token_endpoint"] = "http://idp.acme.com/token"; }},
      {"doubled member of the claims", "OIDC-4",
       [](auto& p) {
         p.sign_instead = [&p](const std::string& text) {
           const std::string claims = R"({"sub":"a","sub":"b"})";
           const std::string own = text.substr(0, text.find('.') + 1) + to_base64url(claims);
           return own + "." + to_base64url(tests::jws_signature(p.key, own));
         };
       }},
      {"byte order marks before documents, header and claims (READ-2)", "",
       [](auto& p) {
         p.claims.erase("email");
         p.tamper = [](const std::string&, auto& response) { response.body.insert(0, "\xEF\xBB\xBF"); };
         p.sign_instead = [&p](const std::string& text) {
           const std::size_t dot = text.find('.');
           const auto marked = [](const std::string& part) {
             return to_base64url("\xEF\xBB\xBF" + *from_base64url(part));
           };
           const std::string own = marked(text.substr(0, dot)) + "." + marked(text.substr(dot + 1));
           return own + "." + to_base64url(tests::jws_signature(p.key, own));
         };
       }},
      {"half of a surrogate pair in the claims", "OIDC-4",
       [](auto& p) {
         p.sign_instead = [&p](const std::string& text) {
           const std::string own = text.substr(0, text.find('.') + 1) + to_base64url(R"({"sub":"\ud83d"})");
           return own + "." + to_base64url(tests::jws_signature(p.key, own));
         };
       }},
      {"logout token as an id token", "OIDC-4", [](auto& p) { p.header["typ"] = "logout+jwt"; }},
      {"several audiences without azp", "OIDC-5",
       [](auto& p) {
         p.claims["aud"] = {"giftsync", "other"};
       }},
      {"several audiences with azp", "",
       [](auto& p) {
         p.claims.update({{"aud", {"giftsync", "other"}}, {"azp", "giftsync"}});
       }},
      {"azp of another client", "OIDC-5", [](auto& p) { p.claims["azp"] = "other"; }},
      {"sub of 256 characters", "OIDC-5", [](auto& p) { p.claims["sub"] = std::string(256, 'a'); }},
      {"sub is a number", "OIDC-5", [](auto& p) { p.claims["sub"] = 7; }},
      {"expired", "OIDC-5", [](auto& p) { p.claims["exp"] = kNow.value / 1000 - 121; }},
      {"expired within the skew", "", [](auto& p) { p.claims["exp"] = kNow.value / 1000 - 60; }},
      {"exp is text", "OIDC-5", [](auto& p) { p.claims["exp"] = "4000000000"; }},
      {"issued an hour ago", "OIDC-5", [](auto& p) { p.claims["iat"] = kNow.value / 1000 - 3600; }},
      {"issued in an hour", "OIDC-5", [](auto& p) { p.claims["iat"] = kNow.value / 1000 + 3600; }},
      {"times with decimals", "", [](auto& p) { p.claims["iat"] = double(kNow.value) / 1000; }},
      {"not valid yet", "OIDC-5", [](auto& p) { p.claims["nbf"] = kNow.value / 1000 + 3600; }},
      {"email_verified false", "OIDC-8", [](auto& p) { p.claims["email_verified"] = false; }},
      {"token_type mac", "OIDC-3",
       [](auto& p) {
         p.token_reply = {{"token_type", "mac"}};
       }},
      {"no id token", "OIDC-3",
       [](auto& p) {
         p.token_reply = {{"id_token", nullptr}};
       }},
  };
  for (const Module& module : modules) {
    SCOPED_TRACE(module.name);
    FakeProvider provider;
    module.change(provider);
    SignIn sign_in(provider);
    EXPECT_EQ(sign_in.rule(), module.rule) << sign_in.last_text;
  }
}

// OIDC-1: a key without a name is replaced by another one without a name.
TEST(OidcClient, FetchesNewKeysWhereTheyHaveNoNames) {
  FakeProvider provider;
  SignIn sign_in(provider);
  const auto sign_with = [&](const tests::TestKey& key) {
    provider.key = key;
    provider.keys = {tests::jwk_of(key, "")};
    provider.header.erase("kid");
  };
  sign_with(tests::make_rsa_key());
  EXPECT_EQ(sign_in.rule(), "") << sign_in.last_text;
  sign_with(tests::make_rsa_key());
  EXPECT_EQ(sign_in.rule(), "") << sign_in.last_text;
  EXPECT_EQ(provider.requests["https://idp.acme.com/keys"], 2);
  provider.key = tests::make_rsa_key();
  EXPECT_EQ(sign_in.rule(), "OIDC-4");
  EXPECT_THAT(sign_in.last_text, HasSubstr("not the key's"));
  EXPECT_EQ(provider.requests["https://idp.acme.com/keys"], 2) << "at most each 5 minutes";
}

// OIDC-1
TEST(OidcClient, FetchesNewKeysForAnUnknownKeyAtMostEachFiveMinutes) {
  FakeProvider provider;
  SignIn sign_in(provider);
  EXPECT_EQ(sign_in.rule(), "");
  EXPECT_EQ(sign_in.rule(), "");
  EXPECT_EQ(provider.requests["https://idp.acme.com/keys"], 1) << "kept for an hour";
  const tests::TestKey fresh = tests::make_rsa_key();
  provider.key = fresh;
  provider.keys = {tests::jwk_of(fresh, "k2")};
  provider.header["kid"] = "k2";
  EXPECT_EQ(sign_in.rule(), "") << sign_in.last_text;
  EXPECT_EQ(provider.requests["https://idp.acme.com/keys"], 2);
  const auto later = [&](std::int64_t minutes) {
    const UtcMillis now = kNow + minutes * kMinuteMillis;
    provider.claims.update({{"iat", now.value / 1000}, {"exp", now.value / 1000 + 300}});
    return sign_in.rule(now);
  };
  provider.header["kid"] = "k3";
  EXPECT_EQ(later(1), "OIDC-4");
  EXPECT_EQ(later(4), "OIDC-4");
  EXPECT_EQ(provider.requests["https://idp.acme.com/keys"], 2) << "a flood of unknown keys costs nothing";
  EXPECT_EQ(later(6), "OIDC-4");
  EXPECT_EQ(provider.requests["https://idp.acme.com/keys"], 3);
}

// OIDC-1: a provider that is down is asked once in 30 seconds; the answer says that a retry may help.
TEST(OidcClient, KeepsAFailureForHalfAMinute) {
  FakeProvider provider;
  SignIn sign_in(provider);
  provider.tamper = [](const std::string&, HttpResponse& response) {
    response = {};
    response.error = "Timeout was reached";
  };
  const auto down = sign_in.run();
  ASSERT_FALSE(down.has_value());
  EXPECT_TRUE(down.error().is_unavailable);
  EXPECT_THAT(down.error().text, HasSubstr("Timeout was reached"));
  provider.tamper = nullptr;
  EXPECT_EQ(sign_in.rule(kNow + 29'000), "OIDC-1");
  EXPECT_EQ(sign_in.rule(kNow + 31'000), "");
}

// OIDC-2
TEST(OidcReply, IsRefusedUnlessItIsOneOfThisProvider) {
  const std::vector<std::pair<std::function<std::string(std::string)>, const char*>> cases{
      {[](const std::string& query) { return query + "&code=other"; }, "repeats the parameter"},
      {[](const std::string& query) { return query + "&state=other"; }, "repeats the parameter"},
      {[](const std::string&) { return "state=x&error=access_denied&error_description=%3Cb%3Eno"; }, "<b>no"},
      {[](const std::string&) { return "state=x&code=%ff"; }, "not valid text"},
      {[](const std::string& query) { return query.substr(0, query.find("&iss=")); }, "comes from issuer"},
      {[](const std::string& query) {
         return query.substr(0, query.find("&iss=")) + "&iss=https://evil.example";
       },
       "https://evil.example"},
      {[](const std::string& query) { return query.substr(query.find('&') + 1); },
       "neither a code nor an error"},
      {[](const std::string&) { return std::string(17'000, 'a'); }, "longer than 16 KiB"}};
  for (const auto& [change, text] : cases) {
    FakeProvider provider;
    SignIn sign_in(provider);
    sign_in.change_reply = change;
    EXPECT_EQ(sign_in.rule(), "OIDC-2");
    EXPECT_THAT(sign_in.last_text, HasSubstr(text));
    EXPECT_EQ(provider.requests["https://idp.acme.com/token"], 0) << "no code is sent anywhere";
  }
}

// OIDC-3: a code belongs to the verifier of the sign-in that began it, and to one redirect URI.
TEST(OidcClient, SendsVerifierAndRedirectUri) {
  FakeProvider provider;
  SignIn sign_in(provider);
  EXPECT_EQ(sign_in.rule(), "");
  EXPECT_EQ(provider.redirect_uri, "https://login.example.com/login/callback?connection=acme");
  sign_in.connection.redirect_to_login = true;
  EXPECT_EQ(sign_in.rule(), "");
  EXPECT_EQ(provider.redirect_uri, "https://login.example.com/login/callback");
  SignIn injected(provider);
  injected.change_reply = [&](std::string query) {
    injected.request.code_verifier = random_token();
    return query;
  };
  EXPECT_EQ(injected.rule(), "OIDC-3");
  EXPECT_THAT(injected.last_text, HasSubstr("invalid_grant"));
}

// OIDC-6
TEST(OidcClient, ANewProofOfTheUserIsHeldToItsTime) {
  FakeProvider provider;
  SignIn sign_in(provider);
  sign_in.request = make_authorization_request(kNow, true);
  EXPECT_EQ(sign_in.rule(), "");
  provider.claims["auth_time"] = kNow.value / 1000 - 3600;
  EXPECT_EQ(sign_in.rule(), "OIDC-6");
  provider.claims.erase("auth_time");
  EXPECT_EQ(sign_in.rule(), "OIDC-6");
}

// OIDC-8: an address links a user only inside the connection's own domains.
TEST(OidcIdentity, HasAnAddressInsideTheDomainsOnly) {
  const auto address = [](const json& email, const json& verified) {
    FakeProvider provider;
    provider.claims["email"] = email;
    if (!verified.is_null()) provider.claims["email_verified"] = verified;
    SignIn sign_in(provider);
    const auto identity = sign_in.run();
    return identity ? identity->address : identity.error().rule;
  };
  EXPECT_EQ(address("rose@acme.com", nullptr), "rose@acme.com");
  EXPECT_EQ(address("rose@ACME.com", true), "rose@ACME.com");
  EXPECT_EQ(address("rose@acme.com", "true"), "rose@acme.com");
  EXPECT_EQ(address("rose@acme.com", "false"), "OIDC-8");
  for (const json& other : {json("rose@other.com"), json("rose@sub.acme.com"), json("@acme.com"), json(""),
                            json("rose@acme.com.evil.com"), json(7)})
    EXPECT_EQ(address(other, true), "") << other;
}

// OIDC-5, OIDC-12: what pages and the audit log show is one line, and an address that links is one address.
TEST(OidcIdentity, HasLinesAndOneAddress) {
  const auto rule_of = [](const char* claim, const std::string& value) {
    FakeProvider provider;
    provider.claims[claim] = value;
    return SignIn(provider).rule();
  };
  const std::string override = "\u202E";
  for (const std::string end : {"\r\n", "\n", "\t", "\x01", "\u2028"}) {
    EXPECT_EQ(rule_of("sub", "248" + end), "OIDC-5") << end;
    EXPECT_EQ(rule_of("name", "Rose" + end + "Tyler"), "OIDC-12") << end;
    FakeProvider provider;
    provider.claims["email"] = "rose@acme.com" + end;
    const auto identity = SignIn(provider).run();
    EXPECT_EQ(identity ? identity->address : "", "") << end << ": it links no user";
  }
  EXPECT_EQ(rule_of("sub", override + "248"), "OIDC-5");
  EXPECT_EQ(rule_of("name", "Rose" + override), "OIDC-12");
  for (const char* address :
       {" rose@acme.com", "rose@acme.com ", "ceo@evil.example@acme.com", "rose tyler@acme.com",
        "\"rose\"@acme.com", "rose\r\n@acme.com", "a,b@acme.com"})
    EXPECT_EQ(rule_of("email", address), "OIDC-12") << address;
  EXPECT_EQ(rule_of("name", "Zo\u00eb \u200fx"), "") << "some scripts need such marks";
  EXPECT_EQ(rule_of("name", std::string(300, 'a')), "") << "it is cut";
}

constexpr const char* kTenant = "11111111-2222-3333-4444-555555555555";

struct DirectoryCase {
  const char* name;
  const char* outcome;  ///< the address, "none", or the rule that refuses
  std::function<void(FakeProvider&, config::SsoConnectionSettings&)> change;
};

std::string directory_outcome(const DirectoryCase& one, bool v2) {
  const std::string authority = "https://login.example.net";
  FakeProvider provider(authority + "/" + kTenant + (v2 ? "/v2.0" : "/"));
  config::SsoConnectionSettings connection = provider.connection("dir");
  connection.kind = config::SsoKind::directory;
  connection.domain = "acme.onmicrosoft.com";
  connection.identity_api_v2 = v2;
  provider.claims.erase("email");
  provider.claims.update({{"tid", kTenant}, {"oid", "object-1"}, {"sub", "pairwise"}});
  provider.claims[v2 ? "preferred_username" : "upn"] = "rose@acme.com";
  one.change(provider, connection);
  SignIn sign_in(provider, connection, authority);
  const auto identity = sign_in.run();
  if (!identity) return identity.error().rule;
  EXPECT_EQ(identity->subject + " " + identity->tenant, std::string("object-1 ") + kTenant);
  return identity->address.empty() ? "none" : identity->address;
}

// OIDC-9, OIDC-10, OIDC-11, OIDC-12
TEST(Directory, IsHeldToItsTenantAndNeverLinkedByEmail) {
  using C = config::SsoConnectionSettings;
  const std::vector<DirectoryCase> cases{
      {"a member", "rose@acme.com", [](auto&, C&) {}},
      {"another tenant", "OIDC-9",
       [](auto& p, C&) { p.claims["tid"] = "99999999-2222-3333-4444-555555555555"; }},
      {"no tenant", "OIDC-9", [](auto& p, C&) { p.claims.erase("tid"); }},
      {"another tenant than the setting's", "OIDC-9",
       [](auto&, C& c) { c.tenant_id = "99999999-2222-3333-4444-555555555555"; }},
      {"the setting's tenant", "rose@acme.com", [](auto&, C& c) { c.tenant_id = kTenant; }},
      {"no oid", "OIDC-10", [](auto& p, C&) { p.claims.erase("oid"); }},
      {"an oid of two lines", "OIDC-10", [](auto& p, C&) { p.claims["oid"] = "object-1\n"; }},
      {"a name of two lines", "OIDC-12", [](auto& p, C&) { p.claims["name"] = "Rose\nTyler"; }},
      {"an address in an address", "OIDC-12",
       [](auto& p, C&) {
         p.claims["preferred_username"] = "ceo@evil.example@acme.com";
         p.claims["upn"] = "ceo@evil.example@acme.com";
       }},
      {"email of a victim", "none",
       [](auto& p, C&) {
         p.claims.erase("preferred_username");
         p.claims.erase("upn");
         p.claims["email"] = "ceo@acme.com";
       }},
      {"email that the directory vouches for", "ceo@acme.com",
       [](auto& p, C&) {
         p.claims.erase("preferred_username");
         p.claims.erase("upn");
         p.claims.update({{"email", "ceo@acme.com"}, {"xms_edov", true}});
       }},
      {"a name outside the domains", "none",
       [](auto& p, C&) {
         p.claims["preferred_username"] = "rose@other.com";
         p.claims["upn"] = "rose@other.com";
       }},
      {"unique_name is ignored", "none",
       [](auto& p, C&) {
         p.claims.erase("preferred_username");
         p.claims.erase("upn");
         p.claims["unique_name"] = "rose@acme.com";
       }},
      {"a guest by acct", "OIDC-11", [](auto& p, C&) { p.claims["acct"] = 1; }},
      {"a guest by idp", "OIDC-11", [](auto& p, C&) { p.claims["idp"] = "https://sts.windows.net/other/"; }},
      {"a guest who may", "rose@acme.com",
       [](auto& p, C& c) {
         p.claims["acct"] = 1;
         c.allow_guests = true;
       }},
      {"its own idp", "rose@acme.com", [](auto& p, C&) { p.claims["idp"] = p.claims["iss"]; }},
      {"an issuer of all directories", "OIDC-1",
       [](auto& p, C&) { p.discovery["issuer"] = "https://login.example.net/{tenantid}/v2.0"; }},
  };
  for (const DirectoryCase& one : cases) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(directory_outcome(one, true), one.outcome);
    EXPECT_EQ(directory_outcome(one, false), one.outcome);
  }
}

// OIDC-9
TEST(Directory, TenantOfAnIssuer) {
  const std::string id = kTenant;
  EXPECT_EQ(tenant_in_issuer("https://login.microsoftonline.com/" + id + "/v2.0"), id);
  EXPECT_EQ(tenant_in_issuer("https://sts.windows.net/" + id + "/"), id);
  EXPECT_EQ(tenant_in_issuer("https://login.microsoftonline.com/common/v2.0"), std::nullopt);
  EXPECT_EQ(tenant_in_issuer(""), std::nullopt);
}

// OIDC-5: what `sso sign-in-test` prints is what was checked.
TEST(OidcClient, ListsTheRulesThatHold) {
  FakeProvider provider;
  SignIn sign_in(provider);
  EXPECT_EQ(sign_in.rule(), "");
  std::string rules;
  for (const signin::RuleVerdict& one : sign_in.verdicts) rules.append(one.rule).append(" ");
  EXPECT_EQ(rules,
            "OIDC-1 OIDC-2 OIDC-3 OIDC-4 OIDC-5 OIDC-5 OIDC-5 OIDC-5 OIDC-5 OIDC-6 OIDC-6 OIDC-8 "
            "OIDC-12 ");
}

struct GroupsCase {
  const char* name;
  const char* outcome;  ///< the known groups, or the rule that refuses
  std::function<void(FakeProvider&)> change;
};

std::string groups_outcome(const GroupsCase& one, const std::string& claim, int* userinfo_requests) {
  FakeProvider provider;
  one.change(provider);
  SignIn sign_in(provider);
  sign_in.connection.groups = {{"Approvers", "approver"}, {"Admins", "admin"}, {"", "admin"}};
  sign_in.connection.groups_claim = claim;
  const auto identity = sign_in.run();
  *userinfo_requests = provider.requests[provider.issuer + "/me"];
  if (!identity) return identity.error().rule;
  std::string text;
  for (const std::string& group : identity->groups) text += group + " ";
  return text;
}

// OIDC-13, OIDC-7
TEST(OidcGroups, AreThoseOfTheSettingThatTheClaimNames) {
  const auto claim = [](const json& value) {
    return [value](FakeProvider& provider) { provider.claims["groups"] = value; };
  };
  for (const GroupsCase& one : std::initializer_list<GroupsCase>{
           {"in the order of the setting", "Approvers Admins ", claim({"Sales", "Admins", "Approvers"})},
           {"one text", "Admins ", claim("Admins")},
           {"compared exactly", "", claim({"admins", "Admins ", "/Admins"})},
           {"none", "", claim(json::array())},
           {"null", "", claim(nullptr)},
           {"an empty text", "", claim("")},
           {"no list of texts", "OIDC-13", claim({"Admins", 7})},
           {"an object", "OIDC-13", claim({{"Admins", true}})},
           {"no claim", "", [](FakeProvider&) {}},
           {"in the userinfo alone", "Admins ",
            [](FakeProvider& provider) { provider.userinfo["groups"] = {"Admins"}; }},
           {"in both: the token counts", "Approvers ",
            [](FakeProvider& provider) {
              provider.claims["groups"] = {"Approvers"};
              provider.userinfo["groups"] = {"Admins"};
            }},
           {"too many for the token", "OIDC-13",
            [](FakeProvider& provider) {
              provider.claims["_claim_names"] = {{"groups", "src1"}};
              provider.claims["_claim_sources"] = {{"src1", {{"endpoint", "https://graph.example.com/"}}}};
            }},
           {"too many for the token, in the implicit form", "OIDC-13",
            [](FakeProvider& provider) { provider.claims["hasgroups"] = true; }},
           {"another claim has too many", "", [](FakeProvider& provider) {
              provider.claims["_claim_names"] = {{"addresses", "src1"}};
            }}}) {
    int userinfo_requests = 0;
    EXPECT_EQ(groups_outcome(one, "groups", &userinfo_requests), one.outcome) << one.name;
  }
  int userinfo_requests = 0;
  const GroupsCase roles{"", "", [](FakeProvider& provider) { provider.claims["roles"] = {"Admins"}; }};
  EXPECT_EQ(groups_outcome(roles, "roles", &userinfo_requests), "Admins ");
  EXPECT_EQ(userinfo_requests, 0) << "the token has all";
  EXPECT_EQ(groups_outcome(roles, "groups", &userinfo_requests), "");
  EXPECT_EQ(userinfo_requests, 1);
  const GroupsCase many{"", "", [](FakeProvider& provider) { provider.claims["hasgroups"] = true; }};
  EXPECT_EQ(groups_outcome(many, "roles", &userinfo_requests), "") << "too many groups, and no app role";
}

// OIDC-13: the address of the token stays, whatever the userinfo endpoint says of it.
TEST(OidcGroups, OfTheUserinfoComeWithoutItsAddress) {
  FakeProvider provider;
  provider.userinfo = {{"sub", "user-1"}, {"email", "eve@acme.com"}, {"groups", {"Admins"}}};
  SignIn sign_in(provider);
  sign_in.connection.groups = {{"Admins", "admin"}};
  const auto identity = sign_in.run();
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->address, "rose@acme.com");
  EXPECT_EQ(identity->groups, std::vector<std::string>{"Admins"});
}

}  // namespace
}  // namespace giftsync::oidc
