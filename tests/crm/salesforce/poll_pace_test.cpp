// How often an org is polled (REQ-55).
#include <gtest/gtest.h>

#include "crm/salesforce/records/request_poll.h"

namespace giftsync::salesforce {
namespace {

constexpr UtcMillis kStart{1'800'000'000'000};

/// Polls in one day of looks each half second.
int polls_of_a_day(PollPace& pace, bool has_changes) {
  int polls = 0;
  for (UtcMillis now = kStart; now.value < kStart.value + kDayMillis; now = now + 500) {
    if (!pace.is_due(now)) continue;
    ++polls;
    pace.note_call(now);
    pace.note_answer(has_changes, now);
  }
  return polls;
}

// REQ-55
TEST(PollPace, WaitsDoubleUpToFiveMinutesWithoutChanges) {
  PollPace pace({});
  EXPECT_TRUE(pace.is_due(kStart));
  pace.note_call(kStart);
  pace.note_answer(true, kStart);
  EXPECT_FALSE(pace.is_due(kStart + 14'999));
  EXPECT_TRUE(pace.is_due(kStart + 15'000));
  pace.note_call(kStart);
  pace.note_answer(false, kStart);
  EXPECT_FALSE(pace.is_due(kStart + 29'999));
  for (int i = 0; i < 10; ++i) pace.note_answer(false, kStart);
  EXPECT_FALSE(pace.is_due(kStart + 299'999));
  EXPECT_TRUE(pace.is_due(kStart + 300'000));
  pace.note_answer(true, kStart);
  EXPECT_TRUE(pace.is_due(kStart + 15'000));
}

TEST(PollPace, AnIdleDayAndABusyOneHaveTheirNumberOfCalls) {
  PollPace idle({});
  EXPECT_LE(polls_of_a_day(idle, false), 292);
  PollPace busy({});
  const int polls = polls_of_a_day(busy, true);
  EXPECT_LE(polls, kMostPollsPerDay);
  EXPECT_GE(polls, kMostPollsPerDay - 5);
}

TEST(PollPace, AFailedCallIsRepeatedAfterTheLeastWait) {
  PollPace pace({});
  for (int i = 0; i < 10; ++i) pace.note_answer(false, kStart);
  pace.note_call(kStart);
  EXPECT_FALSE(pace.is_due(kStart + 14'999));
  EXPECT_TRUE(pace.is_due(kStart + 15'000));
}

// REQ-55
TEST(PollPace, RefusalsDoubleTheWaitUpToAQuarterOfAnHour) {
  PollPace pace({});
  UtcMillis now = kStart;
  for (const std::int64_t seconds : {30, 60, 120, 240, 480, 900, 900}) {
    ASSERT_TRUE(pace.is_due(now));
    pace.note_call(now);
    pace.note_refusal(now);
    EXPECT_FALSE(pace.is_due(now + (seconds * 1000 - 1))) << seconds;
    now = now + seconds * 1000;
  }
  pace.note_call(now);
  pace.note_answer(false, now);
  now = now + 30'000;
  EXPECT_TRUE(pace.is_due(now)) << "an answer ends it";
  pace.note_refusal(now);
  EXPECT_FALSE(pace.is_due(now + 29'999)) << "and the waits begin again";
  pace.hurry();
  EXPECT_TRUE(pace.is_due(now));
}

TEST(PollPace, AClockThatWasSetBackDoesNotStopIt) {
  PollPace pace({});
  pace.note_call(kStart);
  pace.note_answer(false, kStart);
  EXPECT_TRUE(pace.is_due({kStart.value - kHourMillis}));
}

TEST(PollPace, HurryMakesItDue) {
  PollPace pace({});
  pace.note_call(kStart);
  pace.note_answer(false, kStart);
  pace.hurry();
  EXPECT_TRUE(pace.is_due(kStart));
}

}  // namespace
}  // namespace giftsync::salesforce
