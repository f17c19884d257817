#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "platform/digest.h"
#include "sync/gift/gift_links.h"

namespace giftsync::sync {
namespace {

using ::testing::MatchesRegex;

// PAGE-1
TEST(LinkToken, RoundTripsItsPayload) {
  const LinkSigner signer(std::string(32, 's'));
  for (const LinkKind kind : {LinkKind::redeem, LinkKind::donate, LinkKind::view}) {
    for (const std::int64_t id : {std::int64_t{1}, std::int64_t{123456789}, kMaxId}) {
      for (const std::int64_t generation : {std::int64_t{0}, std::int64_t{7}, std::int64_t{4294967295}}) {
        const std::string token = signer.token(kind, {id}, generation);
        EXPECT_THAT(token, MatchesRegex("[A-Za-z0-9_-]{44}"));
        const std::optional<LinkPayload> payload = signer.verify(token);
        ASSERT_TRUE(payload) << token;
        EXPECT_EQ(payload->kind, kind);
        EXPECT_EQ(payload->transaction.value, id);
        EXPECT_EQ(payload->generation, generation);
      }
    }
  }
}

TEST(LinkToken, IsDeterministicForPayloadAndSecret) {
  const LinkSigner signer(std::string(32, 's'));
  EXPECT_EQ(signer.token(LinkKind::redeem, {42}, 1),
            LinkSigner(std::string(32, 's')).token(LinkKind::redeem, {42}, 1));
  EXPECT_EQ(signer.token(LinkKind::redeem, {42}, 1), "9AAAAAAAAACoAAAABNdOa6li82iA0m2tSX-euV9v8j_o")
      << "links in mails must stay valid";
  const std::set<std::string> different{
      signer.token(LinkKind::redeem, {42}, 1), signer.token(LinkKind::donate, {42}, 1),
      signer.token(LinkKind::redeem, {43}, 1), signer.token(LinkKind::redeem, {42}, 2)};
  EXPECT_EQ(different.size(), 4U);
}

TEST(LinkToken, EveryModifiedTokenIsRejected) {
  const LinkSigner signer(std::string(32, 's'));
  const std::string token = signer.token(LinkKind::redeem, {42}, 1);
  for (std::size_t i = 0; i < token.size(); ++i) {
    for (const char c : std::string("ABz09-_+/=. \n\xff", 14) + '\0') {
      if (c == token[i]) continue;
      std::string other = token;
      other[i] = c;
      EXPECT_FALSE(signer.verify(other)) << other;
    }
    EXPECT_FALSE(signer.verify(token.substr(0, i))) << i;
  }
  for (const std::string& other :
       {token + "A", token + "=", token + token, " " + token, std::string(1'000'000, 'A')}) {
    EXPECT_FALSE(signer.verify(other));
  }
}

TEST(LinkToken, TokenOfAnotherSecretIsRejectedEvenWithTheSameKeyId) {
  const LinkSigner signer(std::string(32, 's'));
  const char key_id = signer.token(LinkKind::view, {1}, 0).front();
  int same_key_id = 0;
  for (int i = 0; i < 1000; ++i) {
    const LinkSigner other(random_bytes(32));
    const std::string token = other.token(LinkKind::redeem, {42}, 1);
    EXPECT_FALSE(signer.verify(token));
    if (token.front() == key_id) ++same_key_id;
  }
  EXPECT_GT(same_key_id, 0) << "the proof is the code, not the key id";
}

TEST(LinkToken, FingerprintDistinguishesSecrets) {
  const LinkSigner signer(std::string(32, 's'));
  EXPECT_THAT(signer.fingerprint(), MatchesRegex("[0-9a-f]{32}"));
  EXPECT_EQ(signer.fingerprint(), LinkSigner(std::string(32, 's')).fingerprint());
  EXPECT_NE(signer.fingerprint(), LinkSigner(std::string(32, 't')).fingerprint());
}

// MAIL-25
TEST(LinkToken, SettingsFingerprintChangesWithSettingsAndSecret) {
  const LinkSigner signer(std::string(32, 's'));
  EXPECT_THAT(signer.settings_fingerprint("password"), MatchesRegex("[0-9a-f]{16}"));
  EXPECT_EQ(signer.settings_fingerprint("password"),
            LinkSigner(std::string(32, 's')).settings_fingerprint("password"));
  EXPECT_NE(signer.settings_fingerprint("password"), signer.settings_fingerprint("passwort"));
  EXPECT_NE(signer.settings_fingerprint("password"),
            LinkSigner(std::string(32, 't')).settings_fingerprint("password"))
      << "without the secret no password can be tried against it";
}

TEST(LinkTokenDeathTest, InvalidArgumentsTerminateTheProgram) {
  const LinkSigner signer("secret");
  EXPECT_DEATH(LinkSigner(""), "");
  EXPECT_DEATH(signer.token(LinkKind::view, {0}, 0), "");
  EXPECT_DEATH(signer.token(LinkKind::view, {1}, -1), "");
  EXPECT_DEATH(signer.token(LinkKind::view, {1}, std::int64_t{1} << 32), "");
}

}  // namespace
}  // namespace giftsync::sync
