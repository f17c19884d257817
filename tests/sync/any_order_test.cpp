// The promise of design 3.1: the same changes, in any order, repeated, split over batches and restarts, with
// timer ticks and conditional outcomes in between, give the identical record and the identical history. Here
// as pure rules in thousands of random cases; any_order_stored_test.cpp goes through the real store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/decided_outcome.h"
#include "tests/sync/random_changes.h"

namespace giftsync::sync {
namespace {

using namespace schema;

std::vector<StatusChange> random_changes(std::mt19937& random) {
  std::vector<StatusChange> changes(random() % 14);
  for (StatusChange& change : changes) {
    change = random_change(random);
    if (random() % 8 == 0) change.voiding = Review{kSent, "ana", ""};
  }
  return changes;
}

/// What the store's query gives for one batch of changes.
std::vector<ChangeSpan> spans_of(std::span<const StatusChange> changes) {
  std::vector<ChangeSpan> spans;
  for (const StatusChange& change : changes) {
    if (change.voiding) continue;
    const auto same = std::find_if(spans.begin(), spans.end(), [&](const ChangeSpan& span) {
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

TEST(AnyOrder, RepetitionAndBatchesFoldTheSame) {
  std::mt19937 random(seed());
  for (int round = 0; round < 20'000; ++round) {
    std::vector<StatusChange> changes = random_changes(random);
    const FoldedStatus expected = fold(kSent, changes);
    shuffle_with_repeats(changes, random);
    ASSERT_EQ(fold(kSent, changes), expected) << told(round);
    std::vector<ChangeSpan> spans;
    for (std::size_t at = 0; at < changes.size();) {
      const std::size_t size = std::min<std::size_t>(1 + random() % 5, changes.size() - at);
      for (const ChangeSpan& span : spans_of(std::span(changes).subspan(at, size))) spans.push_back(span);
      at += size;
    }
    ASSERT_EQ(fold(kSent, spans), expected) << told(round) << ": summed up batch by batch";
  }
}

TEST(AnyOrder, AGiftIsFlaggedExactlyWhenOneOfItsChangesIs) {
  std::mt19937 random(seed());
  for (int round = 0; round < 20'000; ++round) {
    const std::vector<StatusChange> changes = random_changes(random);
    const bool flagged = std::any_of(changes.begin(), changes.end(), [&](const StatusChange& change) {
      return !contradiction(change, changes).empty();
    });
    ASSERT_EQ(fold(kSent, changes).contradictory, flagged) << told(round);
  }
}

TEST(AnyOrder, TheStatusHasATimeAndOnlyOneClaimStands) {
  std::mt19937 random(seed());
  for (int round = 0; round < 5000; ++round) {
    const FoldedStatus folded = fold(kSent, random_changes(random));
    ASSERT_TRUE(folded.times[folded.status]) << told(round);
    ASSERT_FALSE(folded.times[Status::redeemed] && folded.times[Status::donated]) << told(round);
  }
}

/// One gift's log in memory, with the timer of design 3.6 in small: unopened for 3 it expires, opened for 5.
class GiftInMemory {
 public:
  std::vector<StatusChange> log;
  FoldedStatus state() const { return fold(kSent, log); }

  bool decide(Status status, Premise premise, UtcMillis at) {
    StatusChange change{{}, "giftsync", {1}, status, at, at, {}};
    change.premise = premise;
    if (!allows(state(), change)) return false;
    log.push_back(change);
    return true;
  }
  void tick(UtcMillis now) {
    const UtcMillis unopened_due = kSent + 3;
    const auto opened = state().times[Status::opened];
    const bool in_time = opened && *opened < unopened_due;
    const UtcMillis due = in_time ? *opened + 5 : unopened_due;
    if (due <= now) decide(Status::expired, in_time ? Premise::unclaimed : Premise::unopened, due);
  }
};

TEST(AnyOrder, TimerTicksInBetweenChangeNoRecord) {
  std::mt19937 random(seed());
  for (int round = 0; round < 10'000; ++round) {
    std::vector<StatusChange> reports;
    for (std::size_t i = random() % 8; i > 0; --i) {
      StatusChange change = random_change(random);
      change.premise = Premise::none;
      constexpr Status kMailAndPage[] = {Status::delivered, Status::undelivered, Status::opened};
      change.status = kMailAndPage[random() % 3];
      reports.push_back(change);
    }
    const UtcMillis end = kSent + static_cast<std::int64_t>(random() % 16);
    GiftInMemory last_tick_only;
    last_tick_only.log = reports;
    last_tick_only.tick(end);
    GiftInMemory ticking;
    std::shuffle(reports.begin(), reports.end(), random);
    for (const StatusChange& report : reports) {
      if (random() % 2)
        ticking.tick(kSent + static_cast<std::int64_t>(random() % 16) - 16 + (end.value - kSent.value));
      ticking.log.push_back(report);
    }
    ticking.tick(end);
    FoldedStatus record = ticking.state();
    // An expiry that a late report denied stays in the history, flagged: that is all that may differ.
    record.contradictory = last_tick_only.state().contradictory;
    ASSERT_EQ(record, last_tick_only.state()) << told(round);
  }
}

TEST(AnyOrder, ConditionalOutcomesNeverContradictEachOther) {
  std::mt19937 random(seed());
  for (int round = 0; round < 10'000; ++round) {
    GiftInMemory gift;
    for (std::int64_t step = 0; step < 12; ++step) {
      const UtcMillis now = kSent + step;
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
    ASSERT_FALSE(state.contradictory) << told(round);
    // Whatever was accepted is data from here on: it folds the same in any order.
    shuffle_with_repeats(gift.log, random);
    ASSERT_EQ(gift.state(), state) << told(round);
  }
}

}  // namespace
}  // namespace giftsync::sync
