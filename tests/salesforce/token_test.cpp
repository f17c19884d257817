// The token endpoint and sessions.
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <memory>

#include "platform/digest.h"
#include "tests/salesforce/fake_org_fixture.h"

namespace giftsync::tests::fake_org {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

std::string public_pem(EVP_PKEY* key) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bytes(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_PUBKEY(bytes.get(), key);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bytes.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string signed_token(EVP_PKEY* key, const Json& claims, const std::string& algorithm = "RS256") {
  const std::string text = to_base64url(Json{{"alg", algorithm}}.dump()) + "." + to_base64url(claims.dump());
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key);
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t size = 0;
  EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size());
  std::string signature(size, '\0');
  EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes,
                 text.size());
  signature.resize(size);
  return text + "." + to_base64url(signature);
}

class TokenTest : public FakeOrgTest {
 protected:
  void SetUp() override {
    org.set("certificate", public_pem(key.get()));
    org.set("consumer_key", "consumer");
    org.set("client_secret", "secret");
    org.set("run_as", "integration@example.com");
  }
  Json claims(std::int64_t seconds_ahead = 180) {
    return {{"iss", "consumer"},
            {"sub", "integration@example.com"},
            {"aud", "https://login.salesforce.com"},
            {"exp", org.now().value / 1000 + seconds_ahead}};
  }
  ApiAnswer ask(const std::string& form) {
    ApiRequest request;
    request.method = "POST";
    request.path = "/services/oauth2/token";
    request.headers["Host"] = "127.0.0.1:1";
    request.body = form;
    return api.answer(request);
  }
  ApiAnswer ask_with(const std::string& assertion) {
    return ask("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=" + assertion);
  }
  std::string refusal(const Json& changed) {
    Json given = claims();
    given.update(changed);
    const ApiAnswer answer = ask_with(signed_token(key.get(), given));
    return answer.status == 400 ? answer.body.value("error_description", "") : "granted";
  }

  Key key{EVP_RSA_gen(2048), EVP_PKEY_free};
};

TEST_F(TokenTest, GivesASessionForAnAssertion) {
  const ApiAnswer answer = ask_with(signed_token(key.get(), claims()));
  ASSERT_EQ(answer.status, 200) << answer.body.dump();
  EXPECT_EQ(answer.body["token_type"], "Bearer");
  EXPECT_EQ(answer.body["instance_url"], "http://127.0.0.1:1");
  EXPECT_FALSE(answer.body.contains("expires_in"));
  token = answer.body["access_token"].get<std::string>();
  EXPECT_EQ(call("GET", "/sobjects/Contact").status, 200);
}

TEST_F(TokenTest, RefusesWrongAssertions) {
  const std::int64_t now = org.now().value / 1000;
  EXPECT_EQ(refusal({{"aud", "https://test.salesforce.com"}}), "audience is invalid");
  EXPECT_EQ(refusal({{"iss", "other"}}), "client identifier invalid");
  EXPECT_EQ(refusal({{"sub", "unknown@example.com"}}), "user hasn't approved this consumer");
  EXPECT_EQ(refusal({{"exp", now - 1}}), "invalid assertion");
  EXPECT_EQ(refusal({{"exp", now + 400}}), "invalid assertion");
  EXPECT_EQ(refusal({{"exp", (now + 180) * 1000}}), "invalid assertion");  // milliseconds
  const Key other(EVP_RSA_gen(2048), EVP_PKEY_free);
  EXPECT_EQ(ask_with(signed_token(other.get(), claims())).status, 400);
  EXPECT_EQ(ask_with(signed_token(key.get(), claims(), "HS256")).status, 400);
  EXPECT_EQ(ask_with("no.token").status, 400);
}

TEST_F(TokenTest, GivesASessionForClientCredentials) {
  EXPECT_EQ(ask("grant_type=client_credentials&client_id=consumer&client_secret=secret").status, 200);
  const ApiAnswer refused = ask("grant_type=client_credentials&client_id=consumer&client_secret=other");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.body["error"], "invalid_client");
  EXPECT_EQ(ask("grant_type=password").body["error"], "unsupported_grant_type");
}

TEST_F(TokenTest, EndsSessions) {
  org.advance(kDayMillis + 1);
  ApiAnswer answer = call("GET", "/sobjects/Contact");
  EXPECT_EQ(answer.status, 401);
  EXPECT_EQ(answer.body.dump(),
            R"([{"message":"Session expired or invalid","errorCode":"INVALID_SESSION_ID"}])");
  for (const char* words :
       {"This session is not valid for use with the REST API", "Connected app is not attached to Agent"}) {
    org.set("session_refusal", words);
    answer = call("GET", "/sobjects/Contact");
    EXPECT_EQ(answer.status, 401);
    EXPECT_EQ(answer.body[0]["message"], words);
  }
}

TEST_F(TokenTest, CountsNeitherTokensNorVersions) {
  ApiRequest versions;
  versions.method = "GET";
  versions.path = "/services/data";
  EXPECT_EQ(api.answer(versions).status, 200);
  ask("grant_type=password");
  EXPECT_EQ(org.calls(), 0);
  call("GET", "/sobjects/Contact");
  EXPECT_EQ(org.calls(), 1);
}

}  // namespace
}  // namespace giftsync::tests::fake_org
