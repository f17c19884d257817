// Keys that may sign, keys that must not, and what a signed JWT looks like.
#include <gtest/gtest.h>

#include "platform/digest.h"
#include "platform/keys.h"
#include "tests/support/test_certificate.h"
#include "tests/support/test_keys.h"

namespace giftsync {
namespace {

TEST(SigningKey, SignsAJwtThatItsPublicKeyVerifies) {
  const tests::TestKey pair = tests::make_rsa_key();
  const auto key = SigningKey::from_pem(tests::private_pem(pair));
  ASSERT_TRUE(key) << key.error();
  const std::string jwt = signed_jwt(*key, R"({"iss":"app"})");
  const std::size_t first = jwt.find('.');
  const std::size_t last = jwt.rfind('.');
  ASSERT_LT(first, last);
  EXPECT_EQ(from_base64url(jwt.substr(0, first)), R"({"alg":"RS256"})");
  EXPECT_EQ(from_base64url(jwt.substr(first + 1, last - first - 1)), R"({"iss":"app"})");
  const auto signature = from_base64url(jwt.substr(last + 1));
  ASSERT_TRUE(signature);
  EXPECT_TRUE(tests::is_rs256_signature(pair, jwt.substr(0, last), *signature));
  EXPECT_FALSE(tests::is_rs256_signature(tests::make_rsa_key(), jwt.substr(0, last), *signature));
}

TEST(SigningKey, RefusesOtherKeysWithTheReason) {
  const tests::TestKey good = tests::make_rsa_key();
  const std::string pem = tests::private_pem(good);
  const struct {
    std::string pem;
    std::string reason;
  } cases[] = {
      {tests::private_pem(tests::make_ec_key()), "which is an EC key, and RS256 needs an RSA key"},
      {tests::private_pem(tests::make_rsa_key(1024)),
       "which is an RSA key of 1024 bits, and at least 2048 are needed"},
      {tests::private_pem(good, "a passphrase"), "which is protected by a passphrase"},
      {tests::public_pem(good), "which is a public key and not the private key"},
      {tests::make_certificate(), "which is a certificate and not the private key"},
      {pem.substr(0, pem.size() / 2), "which is a damaged private key"},
      {"3MVG9lKcPoNINVBIPJjdw1J9LLM82Hn", "which is not a private key in PEM form"},
      {"", "which is not a private key in PEM form"},
  };
  for (const auto& one : cases) {
    const auto key = SigningKey::from_pem(one.pem);
    ASSERT_FALSE(key) << one.reason;
    EXPECT_EQ(key.error(), one.reason);
  }
}

}  // namespace
}  // namespace giftsync
