// The mails that a daemon has claimed, shared by its connections (MAIL-30).
#include "sync/mail/claimed_mails.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/store_fixture.h"

namespace giftsync::sync {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST(NextClaimSize, KeepsClaimsAtAboutASecond) {
  EXPECT_EQ(next_claim_size(8, 100, 8), 16u);
  EXPECT_EQ(next_claim_size(400, 100, 8), 400u);
  EXPECT_EQ(next_claim_size(100, 1000, 8), 100u);
  EXPECT_EQ(next_claim_size(100, 3000, 8), 50u);
  EXPECT_EQ(next_claim_size(8, 60'000, 8), 8u);
  EXPECT_EQ(next_claim_size(100, -5, 8), 200u) << "the clock was set back";
}

class ClaimedMailsTest : public tests::StoreFixture {
 protected:
  ClaimedMails shared(std::size_t connections, std::size_t minimum) {
    return ClaimedMails(*store_, connections, minimum, [this] { return now_; });
  }
  void send_gifts(std::size_t count) {
    const store::NewGiftRequest request = request_for(count);
    store_->gifts.create(std::span(&request, 1));
  }

  UtcMillis now_ = kSentAt;
};

INSTANTIATE_TEST_SUITE_P(BackEnds, ClaimedMailsTest, testing::Values(sql::Dialect::sqlite),
                         tests::name_of_dialect);

// MAIL-30
TEST_P(ClaimedMailsTest, AMailGoesToTheFirstConnectionThatWaitsAndTheOthersHelpWithMore) {
  ClaimedMails mails = shared(3, 8);
  send_gifts(1);
  EXPECT_THAT(mails.take("a", {.connection = 2}), IsEmpty()) << "connection 0 waits";
  EXPECT_THAT(mails.take("a", {.connection = 0}), SizeIs(1));
  send_gifts(3);
  EXPECT_THAT(mails.take("a", {.connection = 1}), SizeIs(1))
      << "connection 0 has a mail, however long it takes";
  EXPECT_TRUE(mails.needs_more_connections());
  EXPECT_THAT(mails.take("a", {.connection = 2}), SizeIs(1));
  EXPECT_FALSE(mails.needs_more_connections());
}

// MAIL-30
TEST_P(ClaimedMailsTest, ARestingConnectionIsNotWaitedFor) {
  ClaimedMails mails = shared(2, 8);
  send_gifts(1);
  mails.set_paused(0);
  EXPECT_THAT(mails.take("a", {.connection = 1}), SizeIs(1));
}

TEST_P(ClaimedMailsTest, OldClaimsAreLeftToOthers) {
  ClaimedMails mails = shared(1, 8);
  send_gifts(3);
  EXPECT_THAT(mails.take("a", {}), SizeIs(1));
  now_ = now_ + 25'000;
  EXPECT_THAT(mails.take("a", {}), IsEmpty()) << "their leases end before they could be begun";
}

TEST_P(ClaimedMailsTest, ReleasedClaimsCanBeClaimedAtOnce) {
  ClaimedMails mails = shared(1, 8);
  send_gifts(3);
  EXPECT_THAT(mails.take("a", {}), SizeIs(1));
  mails.release_all("a");
  EXPECT_THAT(store_->deliveries.claim("b", 1000, 10, now_), SizeIs(2));
}

// MAIL-4
TEST_P(ClaimedMailsTest, ATestTakesTheMailThatWasTriedLeastOften) {
  ClaimedMails mails = shared(1, 8);
  send_gifts(1);
  const auto claims = store_->deliveries.claim("x", 60'000, 1, now_);
  const store::DeliveryQueue::Sending sending{claims.at(0), "m@example.com"};
  store_->deliveries.begin_sending("x", std::span(&sending, 1), 60'000, now_);
  const store::DeliveryOutcome failed{claims[0].transaction, 1, DeliveryState::queued, now_, "reset", false,
                                      std::nullopt};
  store_->deliveries.finish(std::span(&failed, 1), now_);
  send_gifts(1);
  const auto taken = mails.take("a", {.count = 2, .is_test = true});
  ASSERT_THAT(taken, SizeIs(2));
  EXPECT_EQ(taken[0].claim.attempt, 0);
  EXPECT_EQ(taken[1].claim.attempt, 1);
}

TEST_P(ClaimedMailsTest, WithOutcomesInHandNothingIsClaimed) {
  ClaimedMails mails = shared(1, 8);
  send_gifts(2);
  EXPECT_THAT(mails.take("a", {.may_claim = false}), IsEmpty());
  EXPECT_THAT(mails.take("a", {}), SizeIs(1));
  EXPECT_THAT(mails.take("a", {.may_claim = false}), SizeIs(1));
}

}  // namespace
}  // namespace giftsync::sync
