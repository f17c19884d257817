// The pauses that an admin begins: of all mail, of an API key and of an organization token, on both back
// ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr UtcMillis kNow{1'800'000'000'000};

class Pauses : public tests::StoreFixture {
 protected:
  AccountId account() {
    Account account;
    account.email = "ana@example.com";
    account.name = "Ana";
    return *store_->accounts.create(account);
  }
  Credential key(const std::string& prefix) {
    Credential made{.kind = CredentialKind::api_key, .account = account_, .prefix = prefix, .hash = prefix};
    made.id = store_->credentials.insert(made);
    return made;
  }
  std::vector<std::string> paused() {
    std::vector<std::string> prefixes;
    for (const Credential& one : store_->credentials.list_paused(kSentAt)) prefixes.push_back(one.prefix);
    return prefixes;
  }
  void SetUp() override {
    StoreFixture::SetUp();
    if (!IsSkipped()) account_ = account();
  }
  AccountId account_;
};

INSTANTIATE_TEST_SUITE_P(BackEnds, Pauses, testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// MAIL-36
TEST_P(Pauses, TheFirstPauseOfMailStaysUntilItIsEnded) {
  EXPECT_FALSE(store_->mail_pauses.state().pause);
  EXPECT_FALSE(store_->mail_pauses.end(kNow)) << "there is none";
  EXPECT_EQ(store_->mail_pauses.state().last_ended_at, UtcMillis{0});
  EXPECT_TRUE(store_->mail_pauses.begin({kNow, "ana", "wrong item\nand more"}));
  EXPECT_FALSE(store_->mail_pauses.begin({kNow + 1, "bo", "another"}));
  const auto pause = Store(address()).mail_pauses.state().pause;
  ASSERT_TRUE(pause) << "it is in the store";
  EXPECT_EQ(pause->since, kNow);
  EXPECT_EQ(pause->by, "ana");
  EXPECT_EQ(pause->reason, "wrong item\nand more");
  const auto ended = store_->mail_pauses.end(kNow + 5);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->by, "ana");
  EXPECT_FALSE(store_->mail_pauses.state().pause);
  EXPECT_EQ(store_->mail_pauses.state().last_ended_at, kNow + 5);
  EXPECT_TRUE(store_->mail_pauses.begin({kNow + 6, "bo"}));
  EXPECT_EQ(store_->mail_pauses.state().pause->reason, "");
}

// HTTP-51
TEST_P(Pauses, APausedKeyKeepsItsFirstPauseUntilItIsReleased) {
  const Credential first = key("gsk_live_a");
  const Credential other = key("gsk_live_b");
  EXPECT_FALSE(store_->credentials.release(first)) << "it is not paused";
  EXPECT_TRUE(store_->credentials.pause(first, "runaway flow", kNow));
  EXPECT_FALSE(store_->credentials.pause(first, "another", kNow + 1));
  EXPECT_THAT(paused(), ElementsAre("gsk_live_a"));
  const auto found = store_->credentials.find_key_by_hash("gsk_live_a");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->key.paused_at, kNow);
  EXPECT_EQ(found->key.pause_reason, "runaway flow");
  EXPECT_FALSE(store_->credentials.find_key_by_hash("gsk_live_b")->key.paused_at);
  EXPECT_TRUE(store_->credentials.release(first));
  EXPECT_THAT(paused(), IsEmpty());
  EXPECT_EQ(store_->credentials.find_key_by_hash("gsk_live_a")->key.pause_reason, "");
  ASSERT_TRUE(store_->credentials.pause(other, "", kNow));
  store_->credentials.revoke(other, kNow);
  EXPECT_THAT(paused(), IsEmpty()) << "it is revoked";
}

// HTTP-51
TEST_P(Pauses, APausedKeyThatExpiredNeedsNoAttention) {
  Credential ended{.kind = CredentialKind::api_key, .account = account_, .prefix = "gsk_live_c", .hash = "c"};
  ended.expires_at = kNow + 10;
  ended.id = store_->credentials.insert(ended);
  ASSERT_TRUE(store_->credentials.pause(ended, "", kNow));
  EXPECT_THAT(store_->credentials.list_paused(kNow + 9), testing::SizeIs(1));
  EXPECT_THAT(store_->credentials.list_paused(kNow + 10), IsEmpty()) << "nothing releases it any more";
}

// HTTP-51
TEST_P(Pauses, AnOrganizationTokenIsPausedAndReleased) {
  Credential token{.kind = CredentialKind::organization_token, .prefix = "got_live_a", .hash = "h"};
  store_->organizations.create("Edge", token);
  token = store_->credentials.list(CredentialKind::organization_token).front();
  EXPECT_TRUE(store_->credentials.pause(token, "", kNow));
  EXPECT_THAT(paused(), ElementsAre("got_live_a"));
  EXPECT_EQ(store_->credentials.find_by_hash(CredentialKind::organization_token, "h")->paused_at, kNow);
  EXPECT_TRUE(store_->credentials.release(token));
  EXPECT_THAT(paused(), IsEmpty());
}

}  // namespace
}  // namespace giftsync::store
