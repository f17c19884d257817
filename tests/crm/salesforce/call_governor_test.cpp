// Which calls may be made, when, and with how many rows.
#include "crm/salesforce/calls/call_governor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace giftsync::salesforce {
namespace {
using ::testing::HasSubstr;

constexpr UtcMillis kNow{1'795'341'600'000};  // the beginning of a bucket

TEST(LimitInfo, ReadsTheHeader) {
  EXPECT_EQ(parse_limit_info("api-usage=17/15000"), (LimitInfo{{17, 15000}, {}}));
  EXPECT_EQ(parse_limit_info("api-usage=25/5000; per-app-api-usage=17/250(appName=x)"),
            (LimitInfo{{25, 5000}, CallQuota{17, 250}}));
  EXPECT_EQ(parse_limit_info("Per-App-Api-Usage=1/2(appName=a b), API-Usage= 3 / 4"),
            (LimitInfo{{3, 4}, CallQuota{1, 2}}));
  for (const char* header : {"", "api-usage", "api-usage=", "api-usage=1", "api-usage=1/0", "api-usage=-1/5",
                             "api-usage=a/b", "per-app-api-usage=1/2", ";;"})
    EXPECT_EQ(parse_limit_info(header), std::nullopt) << header;
}

CallGovernor with_calls(int calls, CallQuota org) {
  CallGovernor governor({});
  for (int i = 0; i < calls; ++i) governor.note_call(kNow);
  governor.note_limits({org, {}}, kNow);
  return governor;
}

TEST(CallGovernor, BeforeTheFirstAnswerEachCallIsAllowed) {
  const CallGovernor governor({});
  EXPECT_TRUE(governor.permit(CallPurpose::backfill, kNow).is_allowed);
  EXPECT_EQ(governor.rows_per_call(), 1000U);
  EXPECT_EQ(governor.share(), std::nullopt);
}

TEST(CallGovernor, TheLeastImportantStopsFirst) {
  // A share of 200 calls; gifts and status may go beyond it.
  const struct {
    int calls;
    std::vector<bool> allowed;
  } kCases[] = {
      {159, {true, true, true}},    {160, {true, true, false}},    {180, {true, false, false}},
      {200, {false, false, false}}, {5000, {false, false, false}},
  };
  for (const auto& one : kCases) {
    const CallGovernor governor = with_calls(one.calls, {one.calls, 1000});
    // The org as a whole has enough calls left.
    CallGovernor roomy = governor;
    roomy.note_limits({{0, 1000}, {}}, kNow);
    for (const CallPurpose whole :
         {CallPurpose::watch, CallPurpose::gifts, CallPurpose::matching, CallPurpose::status})
      EXPECT_TRUE(roomy.permit(whole, kNow).is_allowed) << one.calls;
    constexpr CallPurpose kLimited[] = {CallPurpose::requests, CallPurpose::tasks, CallPurpose::backfill};
    for (std::size_t i = 0; i < one.allowed.size(); ++i)
      EXPECT_EQ(roomy.permit(kLimited[i], kNow).is_allowed, one.allowed[i]) << one.calls << " " << i;
  }
}

TEST(CallGovernor, TheShareIsFreeAgainADayAfterItsCalls) {
  CallGovernor governor({});
  for (int i = 0; i < 200; ++i) governor.note_call(kNow + i * kMinuteMillis);
  const UtcMillis later = kNow + 200 * kMinuteMillis;
  governor.note_limits({{200, 1000}, {}}, later);
  const CallPermit permit = governor.permit(CallPurpose::requests, later);
  EXPECT_FALSE(permit.is_allowed);
  EXPECT_EQ(permit.not_before, kNow + kBucketMillis + kDayMillis);
  EXPECT_THAT(permit.reason, HasSubstr("200 of its 200 calls"));
  EXPECT_FALSE(governor.permit(CallPurpose::requests, permit.not_before - 1).is_allowed);
  EXPECT_TRUE(governor.permit(CallPurpose::requests, permit.not_before).is_allowed);
}

TEST(CallGovernor, TheReserveOfOthersIsKeptExceptForAProbe) {
  const CallGovernor governor = with_calls(1, {901, 1000});
  const CallPermit permit = governor.permit(CallPurpose::gifts, kNow);
  EXPECT_FALSE(permit.is_allowed);
  EXPECT_EQ(permit.not_before, kNow + kProbeMillis);
  EXPECT_TRUE(governor.permit(CallPurpose::gifts, permit.not_before).is_allowed);
  EXPECT_TRUE(with_calls(1, {900, 1000}).permit(CallPurpose::gifts, kNow).is_allowed);

  CallGovernor probed = governor;
  probed.note_call(permit.not_before);
  EXPECT_FALSE(probed.permit(CallPurpose::gifts, permit.not_before).is_allowed) << "one probe";
}

TEST(CallGovernor, AnAppCannotUseMoreThanItsOwnCalls) {
  CallGovernor governor({});
  governor.note_call(kNow);
  governor.note_limits({{25, 5000}, CallQuota{250, 250}}, kNow);
  EXPECT_FALSE(governor.permit(CallPurpose::gifts, kNow).is_allowed);
}

TEST(CallGovernor, RestsUntilTheLatestTime) {
  CallGovernor governor({});
  governor.rest_until(kNow + 500, "maintenance");
  governor.rest_until(kNow + 100, "shorter");
  const CallPermit permit = governor.permit(CallPurpose::gifts, kNow + 499);
  EXPECT_FALSE(permit.is_allowed);
  EXPECT_EQ(permit.reason, "maintenance");
  EXPECT_EQ(permit.not_before, kNow + 500);
  EXPECT_TRUE(governor.permit(CallPurpose::gifts, kNow + 500).is_allowed);
  EXPECT_TRUE(governor.permit(CallPurpose::gifts, kNow - 2 * kDayMillis).is_allowed)
      << "the clock was set back";
}

// ORG-18
TEST(CallGovernor, WhatNeedsAnAdminRestsAloneUntilARetry) {
  CallGovernor governor({});
  governor.refuse_until(kNow + 1000, "no tasks", CallPurpose::tasks);
  CallGovernor other({});
  ASSERT_TRUE(other.read_text(governor.to_text()));
  const CallPermit permit = other.permit(CallPurpose::tasks, kNow);
  EXPECT_FALSE(permit.is_allowed || permit.is_transient);
  EXPECT_EQ(permit.reason, "no tasks");
  EXPECT_EQ(permit.not_before, kNow + 1000);
  EXPECT_THAT(permit.next_step, HasSubstr("giftsyncctl crm retry --all"));
  EXPECT_TRUE(other.permit(CallPurpose::gifts, kNow).is_allowed);
  EXPECT_TRUE(other.permit(CallPurpose::tasks, kNow + 1000).is_allowed);
  other.retry_now();
  EXPECT_TRUE(other.permit(CallPurpose::tasks, kNow).is_allowed);
  other.rest_until(kNow + 1000, "no API", true);
  ASSERT_TRUE(governor.read_text(other.to_text()));
  EXPECT_FALSE(governor.permit(CallPurpose::gifts, kNow).is_transient);
  EXPECT_THAT(governor.permit(CallPurpose::gifts, kNow).next_step, HasSubstr("giftsyncctl crm check"));
}

// ORG-5
TEST(CallGovernor, AnAdminsRetryAllowsOneCallWhateverTheOrgSaidLast) {
  CallGovernor governor = with_calls(1, {901, 1000});
  governor.rest_until(kNow + kProbeMillis, "used up");
  governor.retry_now();
  EXPECT_TRUE(governor.permit(CallPurpose::gifts, kNow).is_allowed);
  governor.note_call(kNow);
  EXPECT_FALSE(governor.permit(CallPurpose::gifts, kNow).is_allowed) << "the reserve is kept as before";

  CallGovernor spent({});
  for (int i = 0; i < 200; ++i) spent.note_call(kNow);
  spent.note_limits({{200, 1000}, {}}, kNow);
  spent.retry_now();
  EXPECT_FALSE(spent.permit(CallPurpose::requests, kNow).is_allowed) << "the share stays a limit";
}

TEST(CallGovernor, AFallOfTheUsageEndsTheRest) {
  CallGovernor governor({});
  EXPECT_FALSE(governor.note_limits({{999, 1000}, {}}, kNow));
  governor.rest_until(kNow + kProbeMillis, "used up");
  EXPECT_FALSE(governor.note_limits({{998, 1000}, {}}, kNow));
  EXPECT_FALSE(governor.permit(CallPurpose::gifts, kNow).is_allowed);
  EXPECT_TRUE(governor.note_limits({{10, 1000}, {}}, kNow));
  EXPECT_TRUE(governor.permit(CallPurpose::gifts, kNow).is_allowed);
}

// ORG-7
TEST(CallGovernor, AnOutageIsWaitedForUpToFiveMinutes) {
  CallGovernor governor({});
  UtcMillis now = kNow;
  const auto wait_after_outage = [&] {
    governor.note_outage(now, "HTTP 503");
    const CallPermit permit = governor.permit(CallPurpose::gifts, now);
    const std::int64_t wait = permit.is_allowed ? 0 : permit.not_before.value - now.value;
    now = now + wait;
    return wait / kSecondMillis;
  };
  for (const std::int64_t seconds : {0, 0, 0, 5, 10, 20, 40, 80, 160, 300, 300, 300})
    EXPECT_EQ(wait_after_outage(), seconds);
  CallGovernor other({});
  ASSERT_TRUE(other.read_text(governor.to_text()));
  EXPECT_EQ(other.to_text(), governor.to_text());
  governor.note_recovery();
  EXPECT_EQ(wait_after_outage(), 0);
}

TEST(CallGovernor, RowsAreHalvedAndDoubledAgain) {
  CallGovernor governor({});
  governor.note_outcome({.millis = 100, .halves_rows = true});
  EXPECT_EQ(governor.rows_per_call(), 500U);
  governor.note_outcome({.millis = GovernorOptions().slow_call_millis + 1});
  EXPECT_EQ(governor.rows_per_call(), 250U);
  for (int i = 0; i < 9; ++i) governor.note_outcome({.millis = GovernorOptions().slow_call_millis});
  EXPECT_EQ(governor.rows_per_call(), 250U);
  governor.note_outcome({});
  EXPECT_EQ(governor.rows_per_call(), 500U);
  for (int i = 0; i < 20; ++i) governor.note_outcome({.halves_rows = true});
  EXPECT_EQ(governor.rows_per_call(), kLeastRows);
  for (int i = 0; i < 1000; ++i) governor.note_outcome({});
  EXPECT_EQ(governor.rows_per_call(), 1000U);
}

TEST(CallGovernor, CountsOwnCallsOfADayWhateverTheClockDoes) {
  std::mt19937 random(3);
  CallGovernor governor({});
  UtcMillis now = kNow;
  for (int i = 0; i < 3000; ++i) {
    now = now + static_cast<std::int64_t>(random() % (2 * kMinuteMillis));
    if (i % 500 == 499) now = now - 3 * kDayMillis;
    governor.note_call(now);
    EXPECT_GE(governor.own_calls(now), 1);
    EXPECT_LE(governor.own_calls(now), i + 1);
  }
  EXPECT_EQ(governor.own_calls(now + kDayMillis + 2 * kBucketMillis), 0);
}

TEST(CallGovernor, TheStateSurvivesAsText) {
  CallGovernor governor({});
  for (int i = 0; i < 30; ++i) governor.note_call(kNow + i * kMinuteMillis);
  governor.note_limits({{300, 1000}, CallQuota{1, 250}}, kNow);
  governor.note_outcome({.halves_rows = true});
  governor.note_outcome({});
  governor.rest_until(kNow + kDayMillis / 2, "it says \"no\"");
  CallGovernor other({});
  ASSERT_TRUE(other.read_text(governor.to_text()));
  EXPECT_EQ(other.to_text(), governor.to_text());
  EXPECT_EQ(other.rows_per_call(), 500U);
  EXPECT_EQ(other.own_calls(kNow), 30);
  EXPECT_EQ(other.permit(CallPurpose::gifts, kNow).reason, "it says \"no\"");
}

TEST(CallGovernor, ATextThatCannotBeReadChangesNothing) {
  CallGovernor governor = with_calls(5, {1, 10});
  const std::string before = governor.to_text();
  for (const char* text : {"", "{", "[]", "{}", R"({"buckets":[[1]]})", R"({"buckets":[[5,1],[4,1]]})",
                           R"({"buckets":[[5,-1]]})"})
    EXPECT_FALSE(governor.read_text(text)) << text;
  EXPECT_EQ(governor.to_text(), before);
  ASSERT_TRUE(governor.read_text(R"({"rows":-7,"clean_calls":99,"org":[1,0],"buckets":[]})"));
  EXPECT_EQ(governor.rows_per_call(), kLeastRows);
  EXPECT_EQ(governor.limits(), std::nullopt);
}

}  // namespace
}  // namespace giftsync::salesforce
