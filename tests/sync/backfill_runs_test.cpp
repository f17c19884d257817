// What is said of the latest runs of backfills (SYNC-72).
#include "sync/crm/backfill_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace giftsync::sync {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr UtcMillis kStart{1'795'264'267'000};  // 2026-11-21T12:31:07Z

store::BackfillRun run_of(const std::string& name, std::optional<std::int64_t> lasted_millis,
                          const std::string& error = "", std::int64_t differing = 0) {
  store::BackfillRun run;
  run.name = name;
  run.started_at = kStart;
  run.differing = differing;
  run.error = error;
  run.summary = name + ": 2 examined: 2 unchanged.";
  if (lasted_millis) run.ended_at = kStart + *lasted_millis;
  return run;
}

TEST(BackfillRuns, EachStateIsSaidWithItsTime) {
  struct Case {
    store::BackfillRun run;
    std::string word;
    std::string text;
  };
  const std::vector<Case> cases{
      {run_of("gift-records", std::nullopt), "running",
       "running since 2026-11-21 12:31 UTC, gift-records: 2 examined: 2 unchanged."},
      {run_of("gift-records", kMinuteMillis), "finished",
       "finished 2026-11-21 12:32 UTC, gift-records: 2 examined: 2 unchanged."},
      {run_of("gift-records", kMinuteMillis, "no relay"), "failed",
       "ended early 2026-11-21 12:32 UTC, gift-records: 2 examined: 2 unchanged. no relay"}};
  for (const Case& one : cases) {
    EXPECT_EQ(to_word(state_of(one.run)), one.word);
    EXPECT_EQ(describe(one.run), one.text);
  }
}

TEST(BackfillRuns, WarnOfWhatWasLeftAndOfAWeekWithoutARun) {
  const std::string late =
      "gift-records has not run since 2026-11-21 12:31 UTC: \"systemctl status giftsync-backfill.timer\" "
      "shows "
      "whether it is scheduled";
  struct Case {
    store::BackfillRun run;
    std::int64_t after_millis;
    std::vector<std::string> expected;
  };
  const std::vector<Case> cases{
      {run_of("gift-records", 0), 8 * kDayMillis, {}},
      {run_of("gift-records", 0), 8 * kDayMillis + 1, {late}},
      {run_of("gift-records", std::nullopt), 9 * kDayMillis, {}},  // a long one
      {run_of("gift-records", 0, "no CRM"), 9 * kDayMillis, {}},   // a condition of its own
      {run_of("status-timestamps", 0), 100 * kDayMillis, {}},      // runs once
      {run_of("gift-records", 0), -kDayMillis, {}},                // the clock was set back
      {run_of("gift-records", 0, "", 1),
       9 * kDayMillis,
       {"gift-records left 1 difference, which \"giftsyncctl backfill gift-records --dry-run\" shows", late}},
      {run_of("status-timestamps", 0, "", 3),
       0,
       {"status-timestamps left 3 differences, which \"giftsyncctl backfill status-timestamps --dry-run\" "
        "shows"}}};
  for (const Case& one : cases)
    EXPECT_EQ(warnings(one.run, "giftsyncctl ", kStart + one.after_millis), one.expected) << one.run.name;
}

}  // namespace
}  // namespace giftsync::sync
