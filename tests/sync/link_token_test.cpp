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
  for (const LinkKind kind : {LinkKind::redeem, LinkKind::donate, LinkKind::view, LinkKind::stop}) {
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
  EXPECT_EQ(signer.token(LinkKind::donate, {42}, 1), "9AQAAAAAAACoAAAAB6sztc9CejsisX51zhfAiS4TZL2A");
  EXPECT_EQ(signer.token(LinkKind::view, {42}, 1), "9AgAAAAAAACoAAAABb7LztvS-PT_aHpJS4NaItfcOuNQ");
  EXPECT_EQ(signer.token(LinkKind::stop, {42}, 1), "9AwAAAAAAACoAAAABcmMk16RspNJlAMHrKJ7equpe3Gs");
  const std::set<std::string> different{
      signer.token(LinkKind::redeem, {42}, 1), signer.token(LinkKind::donate, {42}, 1),
      signer.token(LinkKind::redeem, {43}, 1), signer.token(LinkKind::redeem, {42}, 2)};
  EXPECT_EQ(different.size(), 4U);
}

// GUARD-5
TEST(LinkToken, AStopLinkIsOfTheAddressAndTheOthersOfTheGeneration) {
  const LinkSigner signer(std::string(32, 's'));
  const GiftLinks links("https://gifts.example", signer);
  EXPECT_EQ(signer.address_number("rose@edge.example"), 3139096478) << "links in mails must stay valid";
  store::RecipientTransaction gift;
  gift.id = {42};
  gift.email = "rose@edge.example";
  gift.generation = 1;
  const auto payload_of = [&](LinkKind kind) {
    return *signer.verify(links.url_for(kind, gift).substr(std::string("https://gifts.example/g/").size()));
  };
  const LinkPayload redeem = payload_of(LinkKind::redeem);
  const LinkPayload stop = payload_of(LinkKind::stop);
  EXPECT_TRUE(links.is_current(redeem, gift));
  EXPECT_TRUE(links.is_current(stop, gift));
  gift.generation = 2;
  EXPECT_FALSE(links.is_current(redeem, gift));
  EXPECT_TRUE(links.is_current(stop, gift)) << "after a cancel";
  gift.email = " Rose@EDGE.example";
  EXPECT_TRUE(links.is_current(stop, gift)) << "the same address";
  gift.email = "ada@edge.example";
  EXPECT_FALSE(links.is_current(stop, gift));
  EXPECT_NE(LinkSigner("other").address_number("rose@edge.example"),
            signer.address_number("rose@edge.example"));
}

// OPS-37
TEST(LinkToken, LinksOfAFormerSecretAreValidUntilTheirEnd) {
  const LinkSigner former(std::string(32, 's'));
  const LinkSigner signer(std::string(32, 't'));
  constexpr UtcMillis kEnd{1'800'000'000'000};
  const GiftLinks before("https://gifts.example", former);
  const GiftLinks links("https://gifts.example", signer, FormerSigner{former, kEnd});
  const std::size_t prefix = std::string("https://gifts.example/g/").size();
  store::RecipientTransaction gift;
  gift.id = {42};
  gift.email = "rose@edge.example";
  for (const LinkKind kind : {LinkKind::redeem, LinkKind::donate, LinkKind::view, LinkKind::stop}) {
    const std::string old_token = before.url_for(kind, gift).substr(prefix);
    const auto payload = links.verify(old_token, {kEnd.value - 1});
    ASSERT_TRUE(payload);
    EXPECT_EQ(payload->kind, kind);
    EXPECT_TRUE(links.is_current(*payload, gift));
    EXPECT_FALSE(links.verify(old_token, kEnd));
    const std::string token = links.url_for(kind, gift).substr(prefix);
    EXPECT_TRUE(signer.verify(token)) << "new links are of the new secret";
    EXPECT_FALSE(former.verify(token));
    EXPECT_TRUE(links.is_current(links.verify(token, kEnd).value(), gift));
  }
  store::RecipientTransaction changed = gift;
  changed.email = "ada@edge.example";
  changed.generation = 1;
  for (const LinkKind kind : {LinkKind::redeem, LinkKind::stop}) {
    const auto payload = links.verify(before.url_for(kind, gift).substr(prefix), {0});
    EXPECT_FALSE(links.is_current(payload.value(), changed)) << "a former secret makes no link valid again";
  }
  EXPECT_FALSE(GiftLinks("https://gifts.example", signer).verify(former.token(LinkKind::view, {42}, 0), {0}));
}

// OPS-38
TEST(LinkToken, LinksEndWhenTheStoreHasAnotherSecretAlthoughThisProcessHasNot) {
  const LinkSigner former(std::string(32, 's'));
  const LinkSigner signer(std::string(32, 't'));
  constexpr UtcMillis kEnd{1'800'000'000'000};
  GiftLinks links("https://gifts.example", signer, FormerSigner{former, kEnd + kDayMillis});
  const std::string token = signer.token(LinkKind::redeem, {42}, 0);
  const std::string old_token = former.token(LinkKind::redeem, {42}, 0);
  EXPECT_TRUE(links.verify(token, kEnd));
  EXPECT_TRUE(links.verify(old_token, kEnd));
  links.end_links(kEnd);
  EXPECT_FALSE(links.have_ended({kEnd.value - 1}));
  EXPECT_TRUE(links.have_ended(kEnd));
  EXPECT_TRUE(links.verify(token, {kEnd.value - 1}));
  EXPECT_FALSE(links.verify(token, kEnd));
  EXPECT_FALSE(links.verify(old_token, {kEnd.value - 1})) << "the store has forgotten that secret";
  links.end_links({kEnd.value + 1});
  EXPECT_FALSE(links.verify(token, kEnd)) << "an end is not put off";
  links.end_links({kEnd.value - 5});
  EXPECT_FALSE(links.verify(token, {kEnd.value - 5}));
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

// SIGN-15
TEST(LinkToken, OfASignInFollowsFromSaltAndSecretAndIsNoGiftLink) {
  const LinkSigner signer(std::string(32, 's'));
  const std::string token = signer.sign_in_token("salt");
  EXPECT_THAT(token, MatchesRegex("[A-Za-z0-9_-]{43}"));
  EXPECT_EQ(token, LinkSigner(std::string(32, 's')).sign_in_token("salt"));
  EXPECT_NE(token, signer.sign_in_token("salu"));
  EXPECT_NE(token, LinkSigner(std::string(32, 't')).sign_in_token("salt"));
  EXPECT_FALSE(signer.verify(token));
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
