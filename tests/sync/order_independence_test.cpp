// STATUS-4: the same changes, in any order, repeated, split over batches and restarts, with timers and
// conditional outcomes in between, give the identical record and history. Here as pure rules in thousands of
// random cases; order_independence_store_test.cpp uses the real store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/status/status_rules.h"
#include "tests/support/random_changes.h"

namespace giftsync::sync {
namespace {

std::vector<store::StatusChange> random_changes(std::mt19937& random) {
  std::vector<store::StatusChange> changes(random() % 14);
  for (store::StatusChange& change : changes) {
    change = tests::random_change(random);
    if (random() % 8 == 0) change.voiding = store::AuditStamp{tests::kSent, "ana", ""};
  }
  return changes;
}

/// What the store's query returns for one batch of changes.
std::vector<store::ChangeSpan> spans_of(std::span<const store::StatusChange> changes) {
  std::vector<store::ChangeSpan> spans;
  for (const store::StatusChange& change : changes) {
    if (change.voiding) continue;
    const auto same = std::find_if(spans.begin(), spans.end(), [&](const store::ChangeSpan& span) {
      return span.status == change.status && span.premise == change.premise;
    });
    if (same == spans.end()) {
      spans.push_back(
          {change.transaction, change.status, change.premise, change.occurred_at, change.occurred_at});
    } else {
      same->earliest = std::min(same->earliest, change.occurred_at);
      same->latest = std::max(same->latest, change.occurred_at);
    }
  }
  return spans;
}

TEST(OrderIndependence, RepetitionAndBatchesFoldTheSame) {
  std::mt19937 random(tests::seed());
  for (int round = 0; round < 20'000; ++round) {
    std::vector<store::StatusChange> changes = random_changes(random);
    const FoldedStatus expected = fold(tests::kSent, changes);
    tests::shuffle_with_repeats(changes, random);
    ASSERT_EQ(fold(tests::kSent, changes), expected) << tests::seed_info(round);
    std::vector<store::ChangeSpan> spans;
    for (std::size_t at = 0; at < changes.size();) {
      const std::size_t size = std::min<std::size_t>(1 + random() % 5, changes.size() - at);
      for (const store::ChangeSpan& span : spans_of(std::span(changes).subspan(at, size)))
        spans.push_back(span);
      at += size;
    }
    ASSERT_EQ(fold(tests::kSent, spans), expected) << tests::seed_info(round) << ": summed up batch by batch";
  }
}

TEST(OrderIndependence, GiftHasConflictIffOneOfItsChangesHas) {
  std::mt19937 random(tests::seed());
  for (int round = 0; round < 20'000; ++round) {
    const std::vector<store::StatusChange> changes = random_changes(random);
    const bool flagged = std::any_of(changes.begin(), changes.end(), [&](const store::StatusChange& change) {
      return !conflict_reason(change, changes).empty();
    });
    ASSERT_EQ(fold(tests::kSent, changes).has_conflict, flagged) << tests::seed_info(round);
  }
}

TEST(OrderIndependence, StatusHasATimeAndOnlyOneClaimIsKept) {
  std::mt19937 random(tests::seed());
  for (int round = 0; round < 5000; ++round) {
    const FoldedStatus folded = fold(tests::kSent, random_changes(random));
    ASSERT_TRUE(folded.times[folded.status]) << tests::seed_info(round);
    ASSERT_FALSE(folded.times[Status::redeemed] && folded.times[Status::donated]) << tests::seed_info(round);
  }
}

/// One gift's log in memory, with small timers (LIFE-3, LIFE-4): unopened it expires after 3, opened after 5.
class GiftInMemory {
 public:
  std::vector<store::StatusChange> log;
  FoldedStatus state() const { return fold(tests::kSent, log); }

  bool decide(Status status, Premise premise, UtcMillis at) {
    store::StatusChange change{{}, "giftsync", {1}, status, at, at, {}};
    change.premise = premise;
    if (!allows(state(), change)) return false;
    log.push_back(change);
    return true;
  }
  void tick(UtcMillis now) {
    const UtcMillis unopened_due = tests::kSent + 3;
    const auto opened = state().times[Status::opened];
    const bool in_time = opened && *opened < unopened_due;
    const UtcMillis due = in_time ? *opened + 5 : unopened_due;
    if (due <= now) decide(Status::expired, in_time ? Premise::unclaimed : Premise::unopened, due);
  }
};

TEST(OrderIndependence, TimerTicksInBetweenDoNotChangeTheRecord) {
  std::mt19937 random(tests::seed());
  for (int round = 0; round < 10'000; ++round) {
    std::vector<store::StatusChange> reports;
    for (std::size_t i = random() % 8; i > 0; --i) {
      store::StatusChange change = tests::random_change(random);
      change.premise = Premise::none;
      constexpr Status kMailAndPage[] = {Status::delivered, Status::undelivered, Status::opened};
      change.status = kMailAndPage[random() % 3];
      reports.push_back(change);
    }
    const UtcMillis end = tests::kSent + static_cast<std::int64_t>(random() % 16);
    GiftInMemory last_tick_only;
    last_tick_only.log = reports;
    last_tick_only.tick(end);
    GiftInMemory ticking;
    std::shuffle(reports.begin(), reports.end(), random);
    for (const store::StatusChange& report : reports) {
      if (random() % 2)
        ticking.tick(tests::kSent + static_cast<std::int64_t>(random() % 16) - 16 +
                     (end.value - tests::kSent.value));
      ticking.log.push_back(report);
    }
    ticking.tick(end);
    FoldedStatus record = ticking.state();
    // An expiry that a late report contradicts stays in the history, flagged. Nothing else may differ.
    record.has_conflict = last_tick_only.state().has_conflict;
    ASSERT_EQ(record, last_tick_only.state()) << tests::seed_info(round);
  }
}

TEST(OrderIndependence, ConditionalOutcomesNeverConflict) {
  std::mt19937 random(tests::seed());
  for (int round = 0; round < 10'000; ++round) {
    GiftInMemory gift;
    for (std::int64_t step = 0; step < 12; ++step) {
      const UtcMillis now = tests::kSent + step;
      switch (random() % 6) {
        case 0:
          gift.decide(Status::redeemed, Premise::none, now);
          break;
        case 1:
          gift.decide(Status::donated, Premise::none, now);
          break;
        case 2:
          if (random() % 4 == 0) gift.decide(Status::refunded, Premise::none, now);
          break;
        case 3:
          gift.decide(Status::refunded, Premise::expired, now);
          break;
        case 4:
          gift.tick(now);
          break;
        default:
          gift.log.push_back({{}, "relay", {1}, Status::delivered, now, now, {}});
      }
    }
    const FoldedStatus state = gift.state();
    ASSERT_FALSE(state.has_conflict) << tests::seed_info(round);
    // Everything accepted is data from here on: it folds the same in any order.
    tests::shuffle_with_repeats(gift.log, random);
    ASSERT_EQ(gift.state(), state) << tests::seed_info(round);
  }
}

}  // namespace
}  // namespace giftsync::sync
