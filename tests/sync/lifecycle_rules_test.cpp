// The next outcome of a gift, as tables and as properties (LIFE-3, LIFE-4, LIFE-5, LIFE-6).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "sync/gift/lifecycle.h"

namespace giftsync::sync {
namespace {

using testing::Optional;

UtcMillis at(std::string_view text) {
  return *from_rfc3339(text);
}
const UtcMillis kSent = at("2026-03-01T12:00:00Z");
constexpr std::int64_t kDay = kDayMillis;

store::StatusChange change(Status status, UtcMillis when, Premise premise = Premise::none) {
  return {{}, "test", {1}, status, when, when, {}, premise};
}
FoldedStatus state(std::vector<store::StatusChange> changes) {
  return fold(kSent, changes);
}
DueOutcome outcome(Status status, Premise premise, UtcMillis when) {
  return {status, premise, when};
}

// LIFE-8
TEST(LifecycleRules, NextOutcomeAndTime) {
  LifecycleTerms terms;
  const DueOutcome unopened = outcome(Status::expired, Premise::unopened, kSent + 30 * kDay);
  EXPECT_THAT(next_outcome(terms, state({}), {}), Optional(unopened));
  EXPECT_THAT(next_outcome(terms, state({change(Status::delivered, kSent + 5)}), {}), Optional(unopened));
  const FoldedStatus undelivered = state({change(Status::undelivered, kSent + kDay)});
  EXPECT_THAT(next_outcome(terms, undelivered, {}),
              Optional(outcome(Status::refunded, Premise::undelivered, kSent + 8 * kDay)));
  EXPECT_THAT(next_outcome(terms, undelivered, kSent + kDay), Optional(unopened)) << "it was sent again";
  EXPECT_THAT(next_outcome(terms, undelivered, kSent + kDay - 1),
              Optional(outcome(Status::refunded, Premise::undelivered, kSent + 8 * kDay)))
      << "it failed after it was sent again";
  EXPECT_THAT(next_outcome(terms, state({change(Status::undelivered, kSent + 25 * kDay)}), {}),
              Optional(unopened))
      << "the earlier of two";
  EXPECT_THAT(next_outcome(terms, state({change(Status::opened, kSent + 3 * kDay)}), {}),
              Optional(outcome(Status::expired, Premise::unclaimed, kSent + 368 * kDay)));
  const auto expired = change(Status::expired, kSent + 30 * kDay, Premise::unopened);
  EXPECT_THAT(next_outcome(terms, state({expired}), {}),
              Optional(outcome(Status::refunded, Premise::expired, at("2026-04-10T00:00:00Z"))));
  terms.refund_day = 0;
  EXPECT_THAT(next_outcome(terms, state({expired}), {}),
              Optional(outcome(Status::refunded, Premise::expired, kSent + 30 * kDay)));
  for (const Status over : {Status::redeemed, Status::donated, Status::refunded})
    EXPECT_EQ(next_outcome(terms, state({change(over, kSent + 1)}), {}), std::nullopt) << to_word(over);
}

// LIFE-23
TEST(LifecycleRules, AnExtensionMovesAnExpiryAndNothingElse) {
  const LifecycleTerms terms;
  const FoldedStatus undelivered = state({change(Status::undelivered, kSent + kDay)});
  const FoldedStatus opened = state({change(Status::opened, kSent + 3 * kDay)});
  const auto expired = state({change(Status::expired, kSent + 30 * kDay, Premise::unopened)});
  EXPECT_THAT(next_outcome(terms, state({}), {}, kSent + 90 * kDay),
              Optional(outcome(Status::expired, Premise::unopened, kSent + 90 * kDay)));
  EXPECT_THAT(next_outcome(terms, state({}), {}, kSent + 20 * kDay),
              Optional(outcome(Status::expired, Premise::unopened, kSent + 30 * kDay)))
      << "never back";
  EXPECT_THAT(next_outcome(terms, opened, {}, kSent + 90 * kDay),
              Optional(outcome(Status::expired, Premise::unclaimed, kSent + 368 * kDay)));
  EXPECT_THAT(next_outcome(terms, opened, {}, kSent + 400 * kDay),
              Optional(outcome(Status::expired, Premise::unclaimed, kSent + 400 * kDay)));
  EXPECT_THAT(next_outcome(terms, undelivered, {}, kSent + 90 * kDay),
              Optional(outcome(Status::refunded, Premise::undelivered, kSent + 8 * kDay)));
  EXPECT_EQ(next_outcome(terms, expired, {}, kSent + 90 * kDay), next_outcome(terms, expired, {}));
}

struct RefundDay {
  const char* zone;
  const char* expired;
  int day;
  const char* refunded;
};
TEST(LifecycleRules, ReportDatedBeforeSentAtDoesNotExpireEarly) {
  LifecycleTerms terms;
  FoldedStatus state;
  const UtcMillis sent{1'800'000'000'000};
  state.times[Status::sent] = sent;
  state.status = Status::opened;
  state.times[Status::opened] = UtcMillis{1'000'000'000'000};
  EXPECT_EQ(next_outcome(terms, state, {})->at, sent + terms.opened_days * kDayMillis);
}

// LIFE-7
TEST(LifecycleRules, TheRefundDayBeginsInItsTimeZone) {
  const RefundDay days[] = {
      {"UTC", "2026-01-31T23:59:59.999Z", 10, "2026-02-10T00:00:00Z"},
      {"UTC", "2026-12-31T00:00:00Z", 10, "2027-01-10T00:00:00Z"},
      {"Europe/Berlin", "2026-02-28T22:59:59Z", 10, "2026-03-09T23:00:00Z"},
      {"Europe/Berlin", "2026-02-28T23:00:00Z", 10, "2026-04-09T22:00:00Z"},  // it is March in Berlin
      {"America/Los_Angeles", "2026-03-01T07:59:59Z", 10, "2026-03-10T07:00:00Z"},
      {"Asia/Kolkata", "2026-05-05T00:00:00Z", 1, "2026-05-31T18:30:00Z"},
      // The clocks jump from 00:00 to 01:00: the day begins with the jump.
      {"Asia/Beirut", "2026-02-10T00:00:00Z", 28, "2026-03-27T22:00:00Z"},
      {"America/Santiago", "2026-08-10T00:00:00Z", 6, "2026-09-06T04:00:00Z"},
      // 00:00 occurs twice: the first one.
      {"America/Havana", "2026-10-10T00:00:00Z", 1, "2026-11-01T04:00:00Z"},
      {"No/Such_Zone", "2026-01-05T00:00:00Z", 10, "2026-02-10T00:00:00Z"},
  };
  for (const RefundDay& one : days)
    EXPECT_EQ(to_rfc3339(start_of_day_next_month(one.zone, at(one.expired), one.day)),
              to_rfc3339(at(one.refunded)))
        << one.zone << " " << one.expired;
}

TEST(LifecycleRules, OnlySystemTimeZonesAreAccepted) {
  for (const char* good : {"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5"})
    EXPECT_TRUE(is_time_zone(good)) << good;
  for (const char* bad : {"", "Mars/Olympus", "/etc/passwd", "../../etc/passwd", "Fixed/UTC+01:00:00",
                          "libc:localtime", "Europe/Berlin "})
    EXPECT_FALSE(is_time_zone(bad)) << bad;
}

// LIFE-14
TEST(LifecycleRules, RemindersAreSentOnceAndNeverTooLate) {
  LifecycleTerms terms;
  terms.reminder_days = {7, 21, 30};
  const auto next = [&](const FoldedStatus& s, std::int64_t reminded, std::int64_t now_day,
                        SendMode mode = SendMode::email) -> std::int64_t {
    const auto due = next_reminder(terms, mode, s, {}, reminded, kSent + now_day * kDay);
    return due ? due->day : 0;
  };
  EXPECT_EQ(next(state({}), 0, 0), 7);
  EXPECT_EQ(next(state({change(Status::delivered, kSent + 1)}), 0, 7), 7);
  EXPECT_EQ(next(state({}), 7, 7), 21);
  EXPECT_EQ(next(state({}), 0, 25), 21) << "of two that have passed, only the last";
  EXPECT_EQ(next(state({}), 21, 25), 0) << "none at the moment of expiry";
  EXPECT_EQ(next(state({change(Status::opened, kSent + 1)}), 0, 0), 0);
  EXPECT_EQ(next(state({change(Status::undelivered, kSent + 1)}), 0, 0), 0);
  EXPECT_EQ(next(state({change(Status::expired, kSent + 1, Premise::unopened)}), 0, 0), 0);
  EXPECT_EQ(next(state({}), 0, 0, SendMode::urls), 0);
}

store::Gift gift_with(const LifecycleTerms& terms, const std::vector<store::StatusChange>& changes) {
  store::Gift gift;
  gift.request.terms = format_terms(terms);
  const FoldedStatus folded = state(changes);
  gift.transaction.status = folded.status;
  gift.transaction.times = folded.times;
  return gift;
}

TEST(LifecycleRules, GiftIsClaimableUntilItsNextOutcome) {
  const LifecycleTerms terms;
  EXPECT_THAT(claimable_until(gift_with(terms, {})), Optional(kSent + 30 * kDay));
  EXPECT_THAT(claimable_until(gift_with(terms, {change(Status::opened, kSent + kDay)})),
              Optional(kSent + 366 * kDay));
  for (const Status over : {Status::redeemed, Status::donated, Status::expired, Status::refunded})
    EXPECT_EQ(claimable_until(gift_with(terms, {change(over, kSent + 5)})), std::nullopt) << to_word(over);
  store::Gift elsewhere = gift_with(terms, {});
  elsewhere.transaction.gift_source = "vendor";
  EXPECT_EQ(claimable_until(elsewhere), std::nullopt);
  elsewhere.transaction.gift_source.clear();
  elsewhere.request.terms.clear();
  EXPECT_EQ(claimable_until(elsewhere), std::nullopt);
}

TEST(LifecycleRules, TermsDependOnSendMode) {
  LifecycleTerms terms;
  terms.reminder_days = {7};
  const store::LifecycleStampFunction stamp = terms_stamper(terms, 90);
  const store::LifecycleStamp mailed = stamp(SendMode::email, kSent);
  EXPECT_EQ(parse_terms(mailed.terms), terms);
  EXPECT_THAT(mailed.due_at, Optional(kSent + 7 * kDay));
  const store::LifecycleStamp linked = stamp(SendMode::urls, kSent);
  EXPECT_EQ(parse_terms(linked.terms)->unopened_days, 90);
  EXPECT_THAT(linked.due_at, Optional(kSent + 90 * kDay));
}

TEST(LifecycleRules, TermsRoundTripAndOtherTextIsRejected) {
  std::mt19937 random(7);
  const auto below = [&](std::int64_t end) { return static_cast<std::int64_t>(random()) % end; };
  for (int i = 0; i < 200; ++i) {
    LifecycleTerms terms{below(4000), below(4000), below(100), below(29), "Europe/Berlin", {}};
    for (std::int64_t k = below(5); k > 0; --k) terms.reminder_days.push_back(below(365) + 1);
    EXPECT_EQ(parse_terms(format_terms(terms)), terms);
  }
  for (const char* text :
       {"", "unopened", "unopened=", "unopened=x", "unopened=-3", "colour=red", "remind=7,,"})
    EXPECT_EQ(parse_terms(text), std::nullopt) << text;
}

/// After any changes, the timers of a gift terminate, in order, and the fold contains each outcome.
TEST(LifecycleRules, EveryGiftReachesAFinalStatus) {
  std::mt19937 random(20261121);
  for (int round = 0; round < 2000; ++round) {
    LifecycleTerms terms;
    terms.refund_day = random() % 29;
    terms.time_zone = random() % 2 ? "America/Havana" : "Asia/Beirut";
    std::vector<store::StatusChange> changes;
    for (unsigned n = random() % 4; n > 0; --n) {
      const Status reported[] = {Status::delivered, Status::undelivered, Status::opened, Status::redeemed,
                                 Status::donated};
      changes.push_back(
          change(reported[random() % 5], kSent + static_cast<std::int64_t>(random() % 60) * kDay));
    }
    UtcMillis last = kSent;
    int steps = 0;
    for (auto due = next_outcome(terms, state(changes), {}); due;
         due = next_outcome(terms, state(changes), {})) {
      ASSERT_LT(++steps, 5);
      EXPECT_GE(due->at, last);
      last = due->at;
      changes.push_back(change(due->status, due->at, due->premise));
      ASSERT_EQ(state(changes).status, due->status) << "the due outcome counts";
    }
    EXPECT_TRUE(is_ended(state(changes)));
  }
}

}  // namespace
}  // namespace giftsync::sync
