#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "platform/digest.h"
#include "sync/access/credential.h"

namespace giftsync::sync {
namespace {

using ::testing::MatchesRegex;

// HTTP-29
TEST(ApiKey, HasTheDocumentedForm) {
  const NewCredential key = make_credential(CredentialKind::api_key);
  EXPECT_THAT(key.text, MatchesRegex("gsk_live_[0-9A-Za-z]{38}"));
  EXPECT_EQ(key.prefix, key.text.substr(0, 16));
  EXPECT_EQ(key.hash, sha256_hex(key.text));
  EXPECT_EQ(key.hash, api_key_hash(key.text));
  EXPECT_TRUE(is_credential(CredentialKind::api_key, key.text));
}

// MSG-1
TEST(MessageToken, Keeps256BitsBehindWhatListingsShow) {
  const NewCredential token = make_credential(CredentialKind::message_token);
  EXPECT_THAT(token.text, MatchesRegex("gmt_live_[0-9A-Za-z]{56}"));
  EXPECT_EQ(token.prefix, token.text.substr(0, 16));
  EXPECT_EQ(token.hash, api_key_hash(token.text));
  const std::size_t secret_digits = token.text.size() - token.prefix.size() - 6;
  EXPECT_GE(static_cast<double>(secret_digits) * std::log2(62.0), 256.0);
  EXPECT_TRUE(is_credential(CredentialKind::message_token, token.text));
  EXPECT_FALSE(is_credential(CredentialKind::api_key, token.text));
  EXPECT_FALSE(is_credential(CredentialKind::organization_token, token.text));
  EXPECT_FALSE(
      is_credential(CredentialKind::message_token, make_credential(CredentialKind::organization_token).text));
  std::string other = token.text;
  other[20] = other[20] == 'a' ? 'b' : 'a';
  EXPECT_FALSE(is_credential(CredentialKind::message_token, other));
  EXPECT_NE(make_credential(CredentialKind::message_token).text, token.text);
}

TEST(ApiKey, AcceptsAKnownKey) {
  EXPECT_TRUE(is_credential(CredentialKind::api_key, "gsk_live_000000000000000000000000000000003lMRX3"))
      << "issued keys must stay valid";
}

TEST(ApiKey, EverySingleCharacterChangeIsRejected) {
  const std::string text = make_credential(CredentialKind::api_key).text;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = other[i] == 'a' ? 'b' : 'a';
    EXPECT_FALSE(is_credential(CredentialKind::api_key, other)) << other;
  }
  for (const std::string& other :
       {text + "a", text.substr(0, 46), " " + text, std::string(), std::string("gsk_live_"),
        std::string(47, '\0'), text.substr(0, 46) + "\xC3"}) {
    EXPECT_FALSE(is_credential(CredentialKind::api_key, other)) << other;
  }
}

TEST(ApiKey, DigitsAreUniformlyDistributed) {
  std::vector<int> occurrences(128);
  for (int i = 0; i < 2000; ++i) {
    for (const char c : make_credential(CredentialKind::api_key).text.substr(9, 32))
      ++occurrences[static_cast<std::size_t>(c)];
  }
  // 64,000 digits, 1,032 of each on average with a deviation of 32: six of those either way.
  for (const char c : std::string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")) {
    EXPECT_NEAR(occurrences[static_cast<std::size_t>(c)], 1032, 192) << c;
  }
}

}  // namespace
}  // namespace giftsync::sync
