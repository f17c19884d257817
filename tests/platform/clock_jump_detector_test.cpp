// When timers may act while the clock is set: a table of steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "platform/clock.h"

namespace giftsync {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr UtcMillis kStart{1'800'000'000'000};  // 2027-01-15 08:00 UTC
constexpr std::int64_t kStartBoottime = 5'000;

struct Step {
  std::int64_t elapsed_millis = 0;   ///< since the previous observation, by the boot-time clock
  std::int64_t adjusted_millis = 0;  ///< how far the wall clock was set ahead meanwhile; negative: back
  bool may_act = true;
  std::string log_line = {};  ///< part of the line; empty: none
};
struct Scenario {
  std::string name;
  std::vector<Step> steps;
};

class ClockJumpDetectorTest : public testing::TestWithParam<Scenario> {};

INSTANTIATE_TEST_SUITE_P(
    Scenarios, ClockJumpDetectorTest,
    testing::Values(
        Scenario{"TheClockRunsNormally", {{kSecondMillis}, {kSecondMillis}, {40 * kDayMillis}}},
        Scenario{"AnHourIsNoJump", {{kSecondMillis, kHourMillis}, {kSecondMillis, kHourMillis}}},
        Scenario{"DriftsDoNotAccumulate",
                 {{kMinuteMillis, 1'800'000}, {kMinuteMillis, 1'800'000}, {kMinuteMillis, 1'800'000}}},
        Scenario{"AShortJumpAheadThatIsCorrected",
                 {{kSecondMillis, 50 * kDayMillis, false,
                   "the clock jumped ahead by 50 days 0 h 0 min: nothing expires or is refunded before "
                   "2027-03-06T09:00:01.000Z, unless it is corrected"},
                  {kSecondMillis, 0, false},
                  {kSecondMillis, 0, false},
                  {kSecondMillis, -50 * kDayMillis, true, "the clock was corrected: timers continue"},
                  {kSecondMillis}}},
        Scenario{"CorrectedToWithinAnHour",
                 {{kSecondMillis, 6 * kHourMillis, false, "ahead by 6 h 0 min"},
                  {kSecondMillis, -5 * kHourMillis, true, "corrected"}}},
        Scenario{"ATimeStableForAnHourIsTrusted",
                 {{kSecondMillis, kHourMillis + kMinuteMillis, false, "ahead by 1 h 1 min"},
                  {kHourMillis - 1, 0, false},
                  {1, 0, true, "has been stable for an hour: timers use it"},
                  {kSecondMillis}}},
        Scenario{"ASecondJumpRestartsTheHour",
                 {{kSecondMillis, 6 * kHourMillis, false, "ahead by 6 h 0 min"},
                  {50 * kMinuteMillis, 2 * kHourMillis, false, "ahead by 8 h 0 min"},
                  {50 * kMinuteMillis, -3 * kHourMillis, false, "ahead by 5 h 0 min"},
                  {50 * kMinuteMillis, 0, false},
                  {10 * kMinuteMillis, 0, true, "has been stable"}}},
        Scenario{"CorrectedInSteps",
                 {{kSecondMillis, 2 * kHourMillis, false, "ahead by 2 h 0 min"},
                  {kSecondMillis, -40 * kMinuteMillis, false},
                  {kSecondMillis, -40 * kMinuteMillis, true, "corrected"}}},
        Scenario{
            "AClockThatWasBehindIsDistrustedOnceCorrected",
            {{kSecondMillis, -6 * kHourMillis}, {kSecondMillis, 6 * kHourMillis, false, "ahead by 6 h"}}}),
    [](const auto& scenario) { return scenario.param.name; });

// LIFE-17, LIFE-18
TEST_P(ClockJumpDetectorTest, DecidesAsExpected) {
  ClockJumpDetector detector;
  UtcMillis wall = kStart;
  std::int64_t boottime = kStartBoottime;
  EXPECT_FALSE(detector.doubt());
  EXPECT_TRUE(detector.observe(wall, boottime).may_act)
      << "the first observation has nothing to compare with";
  int number = 0;
  for (const Step& one : GetParam().steps) {
    SCOPED_TRACE(++number);
    wall = wall + one.elapsed_millis + one.adjusted_millis;
    boottime += one.elapsed_millis;
    const ClockJumpDetector::Decision decision = detector.observe(wall, boottime);
    EXPECT_EQ(decision.may_act, one.may_act);
    EXPECT_EQ(detector.doubt().has_value(), !one.may_act);
    if (one.log_line.empty())
      EXPECT_THAT(decision.log_line, IsEmpty());
    else
      EXPECT_THAT(decision.log_line, HasSubstr(one.log_line));
  }
}

// LIFE-18
TEST(ClockJumpDetector, SaysHowFarTheClockIsAheadAndUntilWhen) {
  ClockJumpDetector detector;
  detector.observe(kStart, kStartBoottime);
  const UtcMillis ahead = kStart + kDayMillis;
  detector.observe(ahead, kStartBoottime);
  detector.observe(ahead + kMinuteMillis, kStartBoottime + kMinuteMillis);
  const auto doubt = detector.doubt();
  ASSERT_TRUE(doubt);
  EXPECT_EQ(doubt->ahead_millis, kDayMillis);
  EXPECT_EQ(doubt->until, ahead + kHourMillis) << "the same while the clock runs";
  EXPECT_EQ(describe(*doubt),
            "the clock jumped ahead by 1 days 0 h 0 min: nothing expires or is refunded before "
            "2027-01-16T09:00:00.000Z, unless it is corrected");
}

}  // namespace
}  // namespace giftsync
