// Whether a daemon may send through its relay, as sequences of what its connections report (MAIL-4, MAIL-27,
// MAIL-30).
#include "sync/mail/relay_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/mail/delivery_rules.h"

namespace giftsync::sync {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr UtcMillis kNow{1'800'000'000'000};

SuspectMail suspect(std::int64_t gift, const std::string& recipient) {
  SuspectMail mail;
  mail.claim.transaction = {gift};
  mail.attempt = 1;
  mail.recipient = recipient;
  mail.reply = "530 no";
  return mail;
}

TEST(RelayHealth, TheOnlyConnectionsFaultPausesDeliveryAndOneConnectionTests) {
  RelayHealth health(2);
  EXPECT_EQ(health.begin(0, kNow), SendPermission::send);
  EXPECT_EQ(health.record_fault(0, "no route", kNow), FaultScope::relay);
  EXPECT_EQ(health.begin(0, kNow + 4999), SendPermission::wait);
  const UtcMillis over = health.pause()->until;
  EXPECT_EQ(over, kNow + 5000);
  EXPECT_EQ(health.begin(1, over), SendPermission::test);
  EXPECT_EQ(health.begin(0, over), SendPermission::wait) << "one connection tests";
  EXPECT_EQ(health.record_fault(1, "no route", over), FaultScope::relay);
  health.end(1);
  EXPECT_EQ(health.pause()->failures, 2);
  EXPECT_EQ(health.pause()->since, kNow);
  EXPECT_EQ(health.begin(0, health.pause()->until), SendPermission::test);
  EXPECT_TRUE(health.record_working(0, "a@x", true, kNow + 60'000).has_resumed);
  EXPECT_EQ(health.begin(1, kNow + 60'000), SendPermission::send);
}

TEST(RelayHealth, FaultsOfMailsThatWereBegunBeforeThePauseDoNotDoubleIt) {
  RelayHealth health(4);
  EXPECT_EQ(health.record_fault(0, "reset", kNow), FaultScope::relay);
  for (std::size_t other = 1; other < 4; ++other)
    EXPECT_EQ(health.record_fault(other, "reset", kNow + 10), FaultScope::known);
  EXPECT_EQ(health.pause()->failures, 1);
  const UtcMillis over = health.pause()->until;
  EXPECT_EQ(health.begin(0, over), SendPermission::test);
  EXPECT_EQ(health.record_fault(3, "timeout", over + 1), FaultScope::known) << "it does not test";
  EXPECT_EQ(health.pause()->failures, 1);
}

TEST(RelayHealth, AConnectionRestsForItselfWhileOthersWork) {
  RelayHealth health(2);
  health.record_working(0, "z@x", true, kNow);
  EXPECT_EQ(health.record_fault(1, "421 too many connections", kNow + 1), FaultScope::connection);
  EXPECT_FALSE(health.pause());
  EXPECT_EQ(health.begin(1, kNow + 5000), SendPermission::wait);
  EXPECT_EQ(health.begin(0, kNow + 5000), SendPermission::send);
  EXPECT_EQ(health.begin(1, kNow + 5001), SendPermission::send);
  health.record_working(0, "z@x", true, kNow + 5001);
  EXPECT_EQ(health.record_fault(1, "421 too many connections", kNow + 5002), FaultScope::connection);
  EXPECT_EQ(health.begin(1, kNow + 10'003), SendPermission::wait) << "longer each time";
  EXPECT_EQ(health.begin(1, kNow), SendPermission::wait);
  EXPECT_EQ(health.begin(1, kNow - kHourMillis), SendPermission::send)
      << "a clock that was ahead keeps no connection from sending";
}

TEST(RelayHealth, WhenTheLastConnectionFailsTheRelayIsAtFault) {
  RelayHealth health(2);
  health.record_working(0, "z@x", true, kNow);
  health.record_working(1, "z@x", true, kNow);
  EXPECT_EQ(health.record_fault(0, "reset", kNow + 1), FaultScope::connection);
  EXPECT_EQ(health.record_fault(1, "reset", kNow + 2), FaultScope::relay);
  RelayHealth idle(2);
  idle.record_working(0, "z@x", true, kNow);
  EXPECT_EQ(idle.record_fault(1, "reset", kNow + 10'000), FaultScope::relay)
      << "that the other one worked is too long ago";
}

TEST(RelayHealth, SuspectsConcernTheirRecipientsOnceAnotherMailIsTaken) {
  RelayHealth health(1);
  EXPECT_EQ(SuspectVerdict::undecided, health.record_suspect(0, suspect(1, "a@x"), kNow));
  EXPECT_EQ(SuspectVerdict::undecided, health.record_suspect(0, suspect(1, "a@x"), kNow + 5000))
      << "the same mail again";
  EXPECT_EQ(SuspectVerdict::undecided, health.record_suspect(0, suspect(2, "b@x"), kNow + 5000));
  EXPECT_THAT(health.suspects(), SizeIs(2));
  EXPECT_THAT(health.record_working(0, "z@x", true, kNow + 5001).of_one_recipient, SizeIs(2));
  EXPECT_THAT(health.suspects(), IsEmpty());
  EXPECT_FALSE(health.pause());
}

TEST(RelayHealth, SuspectsOfThreeRecipientsPauseDelivery) {
  RelayHealth health(1);
  EXPECT_EQ(SuspectVerdict::undecided, health.record_suspect(0, suspect(1, "a@x"), kNow));
  EXPECT_EQ(SuspectVerdict::undecided, health.record_suspect(0, suspect(2, "b@x"), kNow));
  EXPECT_EQ(SuspectVerdict::relay, health.record_suspect(0, suspect(3, "c@x"), kNow));
  ASSERT_TRUE(health.pause());
  EXPECT_THAT(health.pause()->reason, testing::HasSubstr("530 no"));
  EXPECT_THAT(health.record_working(0, "z@x", true, kNow).of_one_recipient, IsEmpty())
      << "they were the relay's";
}

SuspectMail refusal(std::int64_t gift, const std::string& recipient, bool is_limit_reached = false) {
  SuspectMail mail = suspect(gift, recipient);
  mail.reply = "554 5.7.1 denied";
  mail.is_refusal = true;
  mail.is_limit_reached = is_limit_reached;
  return mail;
}

TEST(RelayHealth, ARefusalIsTheRecipientsWhenItComesAgainAfterAnotherMailWasTaken) {
  RelayHealth health(2);
  EXPECT_EQ(health.record_suspect(0, refusal(1, "a@x"), kNow), SuspectVerdict::undecided);
  EXPECT_EQ(health.record_suspect(1, refusal(1, "a@x"), kNow), SuspectVerdict::undecided);
  EXPECT_THAT(health.record_working(1, "b@x", false, kNow).of_one_recipient, IsEmpty())
      << "a relay that denies all may know that b@x is none";
  EXPECT_EQ(health.record_suspect(0, refusal(1, "a@x"), kNow), SuspectVerdict::undecided);
  EXPECT_THAT(health.record_working(1, "c@x", true, kNow).of_one_recipient, SizeIs(1));
  EXPECT_EQ(health.record_suspect(0, refusal(1, "a@x"), kNow), SuspectVerdict::recipients);
  EXPECT_EQ(health.record_suspect(0, refusal(2, "a@x"), kNow), SuspectVerdict::undecided) << "once";
  health.record_working(0, "c@x", true, kNow);
  health.record_working(0, "a@x", true, kNow);
  EXPECT_EQ(health.record_suspect(0, refusal(3, "a@x"), kNow), SuspectVerdict::undecided)
      << "it was taken in between";
}

TEST(RelayHealth, APauseThatRefusalsBeganEndsWithAMailThatIsTaken) {
  RelayHealth health(1);
  for (std::int64_t gift = 1; gift <= 3; ++gift)
    health.record_suspect(0, refusal(gift, std::to_string(gift) + "@x"), kNow);
  ASSERT_TRUE(health.pause());
  RelayHealth restarted(1);
  restarted.set_pause(health.pause());
  EXPECT_FALSE(restarted.record_working(0, "none@x", false, kNow + 5000).has_resumed);
  EXPECT_TRUE(restarted.pause());
  EXPECT_TRUE(restarted.record_working(0, "d@x", true, kNow + 5000).has_resumed);
  EXPECT_THAT(health.record_working(0, "d@x", true, kNow + 5000).of_one_recipient, SizeIs(3))
      << "those that were refused before it are tried once more";
  EXPECT_EQ(health.record_suspect(0, refusal(2, "2@x"), kNow + 5001), SuspectVerdict::recipients);
}

TEST(RelayHealth, ANewPauseForgetsWhatTheRelayTookBefore) {
  RelayHealth health(1);
  health.record_suspect(0, refusal(1, "a@x"), kNow);
  health.record_working(0, "z@x", true, kNow);
  for (const char* other : {"b@x", "c@x", "d@x"}) health.record_suspect(0, refusal(other[0], other), kNow);
  ASSERT_TRUE(health.pause()) << "a limit was reached";
  EXPECT_EQ(health.record_suspect(0, refusal(1, "a@x"), kNow), SuspectVerdict::undecided);
}

TEST(RelayHealth, WhatNothingDecidesForADayIsTheRecipientsUnlessDeliveryIsPaused) {
  RelayHealth health(1);
  EXPECT_EQ(health.record_suspect(0, refusal(1, "a@x", true), kNow), SuspectVerdict::undecided)
      << "after a start others are tried first";
  EXPECT_EQ(health.record_suspect(0, refusal(1, "a@x", true), kNow), SuspectVerdict::recipients);
  for (std::int64_t gift = 1; gift <= 3; ++gift)
    health.record_suspect(0, refusal(gift, std::to_string(gift) + "@x", true), kNow);
  ASSERT_TRUE(health.pause());
  for (int tries = 0; tries < 2; ++tries)
    EXPECT_EQ(health.record_suspect(0, refusal(1, "1@x", true), kNow), SuspectVerdict::undecided);
}

// MAIL-2
TEST(RelayHealth, ALongPauseDoesNotCountAgainstRecipients) {
  RelayHealth health(1);
  const store::CircuitBreaker pause{kNow, kNow, 1, "no route"};
  const UtcMillis end = kNow + kDayMillis;
  const UtcMillis later = end + kDayMillis;
  health.end_pause(pause, kNow + kHourMillis - 1);
  EXPECT_EQ(health.day_started_at(kNow, later), kNow);
  EXPECT_EQ(health.long_pause_ended_at(), UtcMillis{0});
  health.set_pause(pause);
  EXPECT_EQ(health.day_started_at(kNow, kNow + kHourMillis - 1), kNow);
  EXPECT_EQ(health.day_started_at(kNow, end), end) << "of a test mail, whose answer ends the pause";
  health.end_pause(pause, end);
  EXPECT_EQ(health.day_started_at(kNow, later), end);
  EXPECT_EQ(health.day_started_at(later, later), later);
  RelayHealth restarted(1);
  restarted.set_long_pause_ended_at(health.long_pause_ended_at());
  EXPECT_EQ(restarted.day_started_at(kNow, later), end);
}

}  // namespace
}  // namespace giftsync::sync
