#include "daemon/sources/source_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/sql/database.h"
#include "tests/support/captured_log.h"
#include "tests/support/temporary_store.h"

namespace giftsync::daemon::sources {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// SRC-53
TEST(SourceHealthMonitor, AFailureThatEndsBeforeItIsLoggedIsIncludedInTheNextLogLine) {
  tests::TemporaryStore store;
  SourceHealthMonitor monitor(*store);
  tests::CapturedLog log;
  platform::UtcMillis now{1'795'264'267'000};
  monitor.set_state("crm", SourceState::failing, "connection refused", now);
  EXPECT_THAT(log.take_lines(), ElementsAre("warning source crm: failing: connection refused"));
  now.value += 20'000;
  monitor.set_state("crm", SourceState::invalid, "not JSON", now);
  now.value += 20'000;
  monitor.set_state("crm", SourceState::ok, "", now);
  EXPECT_THAT(log.take_lines(), IsEmpty()) << "one line a minute";
  now.value += 20'000;
  monitor.flush(now);
  EXPECT_THAT(log.take_lines(),
              ElementsAre(AllOf(HasSubstr("ok again, was: failing"), HasSubstr("invalid: not JSON"))));
  now.value += 120'000;
  monitor.set_state("crm", SourceState::ok, "", now);
  EXPECT_THAT(log.take_lines(), IsEmpty());
}

TEST(SourceHealthMonitor, AnAcceptedPageEndsAFailureButKeepsAWarning) {
  tests::TemporaryStore store;
  SourceHealthMonitor monitor(*store);
  tests::CapturedLog log;
  platform::UtcMillis now{1'795'264'267'000};
  monitor.register_source("crm", "", now);
  monitor.set_state("crm", SourceState::failing, "connection refused", now);
  log.take_lines();
  now.value += 60'000;
  monitor.record_page("crm", now);
  EXPECT_THAT(log.take_lines(), ElementsAre("info source crm: ok again, was: failing"));
  EXPECT_EQ((*store).sources.list().front().state, "ok");
  now.value += 60'000;
  monitor.set_state("crm", SourceState::ok, "no cursor was found", now);
  log.take_lines();
  now.value += 60'000;
  monitor.record_page("crm", now);
  EXPECT_THAT(log.take_lines(), IsEmpty());
  EXPECT_EQ((*store).sources.list().front().reason, "no cursor was found");
}

// SRC-17
TEST(SourceHealthMonitor, ASourceWithOnlyOrphanedChangesIsOkAndWarnsOnce) {
  tests::TemporaryStore store;
  tests::CapturedLog log;
  platform::UtcMillis now{1'795'264'267'000};
  const auto reason = [&] { return (*store).sources.list().front().reason; };
  {
    SourceHealthMonitor monitor(*store);
    monitor.register_source("crm", "", now);
    monitor.set_state("crm", SourceState::ok, "no cursor", now);
    log.take_lines();
    now.value += 61'000;
    monitor.set_all_orphaned("crm", "there are no such gifts", now);
    EXPECT_THAT(log.take_lines(),
                ElementsAre("warning source crm: ok, but no cursor; all its changes are orphaned "
                            "so far: there are no such gifts"));
    now.value += 61'000;
    monitor.set_all_orphaned("crm", "there are no such gifts", now);
    monitor.set_state("crm", SourceState::ok, "no cursor", now);
    EXPECT_THAT(log.take_lines(), IsEmpty());
    EXPECT_THAT(reason(), HasSubstr("all its changes are orphaned"));
  }
  SourceHealthMonitor monitor(*store);
  now.value += 61'000;
  monitor.set_all_orphaned("crm", "there are no such gifts", now);
  monitor.set_state("crm", SourceState::ok, "no cursor", now);
  EXPECT_THAT(log.take_lines(), IsEmpty()) << "nor after a restart";
  now.value += 61'000;
  monitor.set_all_orphaned("crm", "", now);
  EXPECT_THAT(log.take_lines(), ElementsAre("warning source crm: ok, but no cursor"));
  EXPECT_EQ(reason(), "no cursor");
}

TEST(SourceHealthMonitor, CloseLogsAndSavesEverythingPending) {
  tests::TemporaryStore store;
  tests::CapturedLog log;
  const platform::UtcMillis now{1'795'264'267'000};
  const auto source_row = [&] { return (*store).sources.list().front(); };
  {
    SourceHealthMonitor monitor(*store);
    monitor.register_source("crm", "", now);
    monitor.set_state("crm", SourceState::ok, "", now);
    monitor.set_state("crm", SourceState::invalid, "not JSON", now + 1000);
    monitor.count_refused("crm");
    log.take_lines();
    EXPECT_EQ(source_row().state, "ok");
    monitor.close(now + 2000);
  }
  EXPECT_THAT(log.take_lines(), ElementsAre("warning source crm: invalid: not JSON"));
  EXPECT_EQ(source_row().state, "invalid");
  EXPECT_EQ(source_row().rejected, 1);
}

TEST(SourceHealthMonitor, FailedSavesAreRetriedAndDoNotFailTheMessage) {
  tests::TemporaryStore store;
  schema::sql::Database database(store.address());
  const auto rename = [&](const std::string& from, const std::string& to) {
    database.write([&](soci::session& session) { session << "ALTER TABLE " + from + " RENAME TO " + to; });
  };
  const auto source_row = [&] { return (*store).sources.list().front(); };
  tests::CapturedLog log;
  SourceHealthMonitor monitor(*store);
  const platform::UtcMillis now{1'795'264'267'000};
  monitor.register_source("crm", "", now);
  rename("source", "source_away");
  monitor.set_state("crm", SourceState::invalid, "not JSON", now);
  monitor.count_refused("crm");
  monitor.count_refused("crm");
  EXPECT_THROW(monitor.flush(now), platform::DependencyError)
      << "from saving the counters; the worker logs it";
  rename("source_away", "source");
  monitor.flush(now + platform::kHourMillis);
  EXPECT_EQ(source_row().state, "invalid");
  EXPECT_EQ(source_row().rejected, 2);
}

// SRC-52
TEST(SourceHealthMonitor, ASourceWhoseEventsWereAppliedIsNoLongerOverLimit) {
  tests::TemporaryStore store;
  SourceHealthMonitor monitor(*store);
  tests::CapturedLog log;
  platform::UtcMillis now{1'795'264'267'000};
  monitor.set_state("crm", SourceState::over_limit, "too many", now);
  now.value += 60'000;
  monitor.clear_over_limit("crm", now);
  monitor.clear_over_limit("other", now);
  EXPECT_THAT(log.take_lines(), ElementsAre("warning source crm: over_limit: too many",
                                            HasSubstr("ok again, was: over_limit")));
}

TEST(SourceHealthMonitor, AWarningAboutAnOkSourceIsLoggedOnce) {
  tests::TemporaryStore store;
  tests::CapturedLog log;
  platform::UtcMillis now{1'795'264'267'000};
  const auto source_row = [&] { return (*store).sources.list().front(); };
  {
    SourceHealthMonitor monitor(*store);
    monitor.register_source("crm", "", now);
    for (int times = 0; times < 5; ++times) {
      monitor.set_state("crm", SourceState::ok, "no cursor was found", now);
      now.value += 70'000;
    }
    EXPECT_THAT(log.take_lines(), ElementsAre("warning source crm: ok, but no cursor was found"));
    EXPECT_EQ(source_row().state, "ok");
    EXPECT_EQ(source_row().reason, "no cursor was found");
  }
  SourceHealthMonitor restarted(*store);
  restarted.set_state("crm", SourceState::ok, "no cursor was found", now);
  EXPECT_THAT(log.take_lines(), IsEmpty());
  now.value += 70'000;
  restarted.set_state("crm", SourceState::failing, "connection refused", now);
  now.value += 70'000;
  restarted.set_state("crm", SourceState::ok, "no cursor was found", now);
  now.value += 70'000;
  restarted.set_state("crm", SourceState::ok, "", now);
  EXPECT_THAT(log.take_lines(),
              ElementsAre("warning source crm: failing: connection refused",
                          "warning source crm: ok again, was: failing, but no cursor was found",
                          "info source crm: ok"));
}

TEST(SourceHealthMonitor, LogsAfterTheClockWasSetBack) {
  tests::TemporaryStore store;
  SourceHealthMonitor monitor(*store);
  tests::CapturedLog log;
  platform::UtcMillis now{1'795'264'267'000};
  monitor.register_source("crm", "", now);
  monitor.set_state("crm", SourceState::failing, "connection refused", now + 6 * platform::kHourMillis);
  monitor.record_refused("crm", "without a signature", now + 6 * platform::kHourMillis);
  log.take_lines();
  monitor.set_state("crm", SourceState::invalid, "not JSON", now);
  monitor.record_refused("crm", "without a signature", now);
  EXPECT_THAT(log.take_lines(), ElementsAre(HasSubstr("invalid: not JSON"), HasSubstr("was refused")));
  EXPECT_EQ((*store).sources.list().front().state, "invalid");
}

}  // namespace
}  // namespace giftsync::daemon::sources
