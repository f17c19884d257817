#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/sources/event_ingestor.h"
#include "schema/sql/database.h"
#include "tests/support/captured_log.h"
#include "tests/support/temporary_store.h"

namespace giftsync::sources {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

store::RefusedMessage message() {
  return {.message_id = "msg_1", .status = 400, .size = 2, .body = "{}"};
}

SourceHealthMonitor::Refusal verified(const std::string& reason) {
  return {reason, reason, message()};
}

// SRC-53
TEST(SourceHealthMonitor, AFailureThatEndsBeforeItIsLoggedIsIncludedInTheNextLogLine) {
  tests::TemporaryStore store;
  SourceHealthMonitor monitor(*store);
  tests::CapturedLog log;
  UtcMillis now{1'795'264'267'000};
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
  UtcMillis now{1'795'264'267'000};
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
  UtcMillis now{1'795'264'267'000};
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
  const UtcMillis now{1'795'264'267'000};
  const auto source_row = [&] { return (*store).sources.list().front(); };
  {
    SourceHealthMonitor monitor(*store);
    monitor.register_source("crm", "", now);
    monitor.set_state("crm", SourceState::ok, "", now);
    monitor.set_state("crm", SourceState::invalid, "not JSON", now + 1000);
    monitor.record_refused("crm", {"it came without a signature", "it came without a signature"}, now + 1000);
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
  sql::Database database(store.address());
  const auto rename = [&](const std::string& from, const std::string& to) {
    database.write([&](soci::session& session) { session << "ALTER TABLE " + from + " RENAME TO " + to; });
  };
  const auto source_row = [&] { return (*store).sources.list().front(); };
  tests::CapturedLog log;
  SourceHealthMonitor monitor(*store);
  const UtcMillis now{1'795'264'267'000};
  monitor.register_source("crm", "", now);
  rename("source", "source_away");
  monitor.set_state("crm", SourceState::invalid, "not JSON", now);
  monitor.record_refused("crm", verified("the first one"), now);
  monitor.record_refused("crm", verified("the second one"), now + 1);
  EXPECT_THROW(monitor.flush(now), DependencyError) << "the worker logs it";
  monitor.record_refused("crm", verified("the third one"), now + 2);
  rename("source_away", "source");
  monitor.flush(now + kHourMillis);
  EXPECT_EQ(source_row().state, "invalid");
  EXPECT_EQ(source_row().rejected, 3);
  EXPECT_EQ(source_row().refused_in_row, 3);
  EXPECT_EQ(source_row().last_refusal, "the third one");
  const auto kept = (*store).refused_messages.list("crm", 10);
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[0].reason, "the third one");
  EXPECT_EQ(kept[2].reason, "the first one");
  monitor.flush(now + kHourMillis);
  EXPECT_EQ(source_row().rejected, 3) << "saved once";
}

// SRC-29, SRC-60
TEST(SourceHealthMonitor, ARefusedMessageChangesNoStateAndIsShownAfterTheNextFlush) {
  tests::TemporaryStore store;
  SourceHealthMonitor monitor(*store);
  tests::CapturedLog log;
  const UtcMillis now{1'795'264'267'000};
  const auto source_row = [&] { return (*store).sources.list().front(); };
  monitor.register_source("crm", "", now);
  monitor.set_state("crm", SourceState::ok, "no cursor", now);
  log.take_lines();
  monitor.record_refused("crm", {"status: found \"x\"", "no event could be read: status", message()},
                         now + 5);
  EXPECT_THAT(log.take_lines(),
              ElementsAre("warning source crm: a message was refused: no event could be read: status"));
  EXPECT_EQ(source_row().rejected, 0) << "off the path of the request";
  monitor.flush(now + 6);
  EXPECT_EQ(source_row().state, "ok");
  EXPECT_EQ(source_row().reason, "no cursor");
  EXPECT_EQ(source_row().rejected, 1);
  EXPECT_EQ(source_row().last_refusal, "status: found \"x\"");
  EXPECT_EQ(source_row().last_refused_at, now + 5);
  const auto kept = (*store).refused_messages.list("crm", 10);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept.front().body, "{}");
  EXPECT_EQ(kept.front().received_at, now + 5);
}

// SRC-61
TEST(SourceHealthMonitor, MessagesWithoutAVerifiedSenderAreCountedButNotKept) {
  tests::TemporaryStore store;
  SourceHealthMonitor monitor(*store);
  tests::CapturedLog log;
  const UtcMillis now{1'795'264'267'000};
  monitor.register_source("crm", "", now);
  for (int i = 0; i < 50; ++i) monitor.record_refused("crm", {"it came unsigned", "it came unsigned"}, now);
  monitor.flush(now);
  const store::SourceSummary row = (*store).sources.list().front();
  EXPECT_EQ(row.rejected, 50);
  EXPECT_EQ(row.refused_in_row, 0);
  EXPECT_EQ(row.last_refusal, "it came unsigned");
  EXPECT_TRUE((*store).refused_messages.list("crm", 10).empty());
}

// SRC-61
TEST(SourceHealthMonitor, AFloodOfRefusedMessagesIsCountedWhollyAndKeptInPart) {
  tests::TemporaryStore store;
  SourceHealthMonitor monitor(*store);
  tests::CapturedLog log;
  const UtcMillis now{1'795'264'267'000};
  monitor.register_source("crm", "", now);
  for (int i = 0; i < 1000; ++i) monitor.record_refused("crm", verified("number " + std::to_string(i)), now);
  monitor.flush(now);
  EXPECT_EQ((*store).sources.list().front().rejected, 1000);
  EXPECT_EQ((*store).sources.list().front().refused_in_row, 1000);
  const auto kept = (*store).refused_messages.list("crm", 1000);
  ASSERT_EQ(kept.size(), 20u);
  EXPECT_EQ(kept.front().reason, "number 999");
}

// SRC-52
TEST(SourceHealthMonitor, ASourceWhoseEventsWereAppliedIsNoLongerOverLimit) {
  tests::TemporaryStore store;
  SourceHealthMonitor monitor(*store);
  tests::CapturedLog log;
  UtcMillis now{1'795'264'267'000};
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
  UtcMillis now{1'795'264'267'000};
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
  UtcMillis now{1'795'264'267'000};
  monitor.register_source("crm", "", now);
  monitor.set_state("crm", SourceState::failing, "connection refused", now + 6 * kHourMillis);
  monitor.record_refused("crm", verified("no JSON"), now + 6 * kHourMillis);
  log.take_lines();
  monitor.set_state("crm", SourceState::invalid, "not JSON", now);
  monitor.record_refused("crm", verified("no JSON"), now);
  EXPECT_THAT(log.take_lines(), ElementsAre(HasSubstr("invalid: not JSON"), HasSubstr("was refused")));
  EXPECT_EQ((*store).sources.list().front().state, "invalid");
}

}  // namespace
}  // namespace giftsync::sources
