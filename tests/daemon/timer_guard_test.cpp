// When timers may act while somebody sets the clock: a table of looks.
#include "daemon/timer_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace giftsync::daemon {
namespace {

using schema::kDayMillis;
using schema::kHourMillis;
using schema::kMinuteMillis;
using schema::kSecondMillis;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr schema::UtcMillis kStart{1'800'000'000'000};  // 2027-01-15 08:00 UTC
constexpr std::int64_t kStartUnset = 5'000;

struct Look {
  std::int64_t passed = 0;  ///< since the look before, by the clock that no one sets
  std::int64_t set_by = 0;  ///< how far the wall clock was set ahead meanwhile; below 0: back
  bool may_act = true;
  std::string news = {};  ///< part of the line; empty: none
};
struct Story {
  std::string name;
  std::vector<Look> looks;
};

class TimerGuardTest : public testing::TestWithParam<Story> {};

INSTANTIATE_TEST_SUITE_P(
    Stories, TimerGuardTest,
    testing::Values(
        Story{"TheClockGoesOn", {{kSecondMillis}, {kSecondMillis}, {40 * kDayMillis}}},
        Story{"AnHourIsNoJump", {{kSecondMillis, kHourMillis}, {kSecondMillis, kHourMillis}}},
        Story{"DriftsDoNotAddUp",
              {{kMinuteMillis, 1'800'000}, {kMinuteMillis, 1'800'000}, {kMinuteMillis, 1'800'000}}},
        Story{"FiveSecondsOfAClockThatIsAhead",
              {{kSecondMillis, 50 * kDayMillis, false,
                "the clock jumped ahead by 50 days 0 h 0 min: nothing expires or is refunded before "
                "2027-03-06T09:00:01.000Z, unless it is put right"},
               {kSecondMillis, 0, false},
               {kSecondMillis, 0, false},
               {kSecondMillis, -50 * kDayMillis, true, "the clock was put right: timers go on"},
               {kSecondMillis}}},
        Story{"PutRightToWithinAnHour",
              {{kSecondMillis, 6 * kHourMillis, false, "ahead by 6 h 0 min"},
               {kSecondMillis, -5 * kHourMillis, true, "put right"}}},
        Story{"ATimeThatStandsForAnHourCounts",
              {{kSecondMillis, kHourMillis + kMinuteMillis, false, "ahead by 1 h 1 min"},
               {kHourMillis - 1, 0, false},
               {1, 0, true, "has stood for an hour: timers go on by it"},
               {kSecondMillis}}},
        Story{"AnotherTimeMustStandForAnHourItself",
              {{kSecondMillis, 6 * kHourMillis, false, "ahead by 6 h 0 min"},
               {50 * kMinuteMillis, 2 * kHourMillis, false, "ahead by 8 h 0 min"},
               {50 * kMinuteMillis, -3 * kHourMillis, false, "ahead by 5 h 0 min"},
               {50 * kMinuteMillis, 0, false},
               {10 * kMinuteMillis, 0, true, "has stood"}}},
        Story{"PutRightByAndBy",
              {{kSecondMillis, 2 * kHourMillis, false, "ahead by 2 h 0 min"},
               {kSecondMillis, -40 * kMinuteMillis, false},
               {kSecondMillis, -40 * kMinuteMillis, true, "put right"}}},
        Story{"AClockThatWasBehindIsDoubtedOncePutRight",
              {{kSecondMillis, -6 * kHourMillis}, {kSecondMillis, 6 * kHourMillis, false, "ahead by 6 h"}}}),
    [](const auto& story) { return story.param.name; });

TEST_P(TimerGuardTest, LooksAsTold) {
  TimerGuard guard;
  schema::UtcMillis wall = kStart;
  std::int64_t unset = kStartUnset;
  EXPECT_TRUE(guard.look(wall, unset).may_act) << "of a first look there is nothing to doubt";
  int number = 0;
  for (const Look& one : GetParam().looks) {
    SCOPED_TRACE(++number);
    wall = wall + one.passed + one.set_by;
    unset += one.passed;
    const TimerGuard::Verdict verdict = guard.look(wall, unset);
    EXPECT_EQ(verdict.may_act, one.may_act);
    if (one.news.empty())
      EXPECT_THAT(verdict.news, IsEmpty());
    else
      EXPECT_THAT(verdict.news, HasSubstr(one.news));
  }
}

}  // namespace
}  // namespace giftsync::daemon
