#include "daemon/sources/source_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/sql/database.h"
#include "tests/daemon/captured_log.h"
#include "tests/daemon/temporary_store.h"

namespace giftsync::daemon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(SourceWatch, ATroubleThatPassedBeforeItsLineWasDueIsToldWithTheNext) {
  TemporaryStore store;
  SourceWatch watch(*store);
  CapturedLog log;
  schema::UtcMillis now{1'795'264'267'000};
  watch.note("crm", SourceState::fails, "nobody answers", now);
  EXPECT_THAT(log.take(), ElementsAre("warning source crm: fails: nobody answers"));
  now.value += 20'000;
  watch.note("crm", SourceState::garbage, "no JSON", now);
  now.value += 20'000;
  watch.note("crm", SourceState::works, "", now);
  EXPECT_THAT(log.take(), IsEmpty()) << "one line a minute";
  now.value += 20'000;
  watch.catch_up(now);
  EXPECT_THAT(log.take(),
              ElementsAre(AllOf(HasSubstr("works again, it was: fails"), HasSubstr("garbage: no JSON"))));
  now.value += 120'000;
  watch.note("crm", SourceState::works, "", now);
  EXPECT_THAT(log.take(), IsEmpty());
}

TEST(SourceWatch, APageTakenEndsATroubleAndNoDoubt) {
  TemporaryStore store;
  SourceWatch watch(*store);
  CapturedLog log;
  schema::UtcMillis now{1'795'264'267'000};
  watch.open("crm", "", now);
  watch.note("crm", SourceState::fails, "nobody answers", now);
  log.take();
  now.value += 60'000;
  watch.note_taken("crm", now);
  EXPECT_THAT(log.take(), ElementsAre("info source crm: works again, it was: fails"));
  EXPECT_EQ((*store).sources.standings().front().state, "works");
  now.value += 60'000;
  watch.note("crm", SourceState::works, "no cursor was found", now);
  log.take();
  now.value += 60'000;
  watch.note_taken("crm", now);
  EXPECT_THAT(log.take(), IsEmpty());
  EXPECT_EQ((*store).sources.standings().front().reason, "no cursor was found");
}

TEST(SourceWatch, ASourceOfWhichAllIsHeldWorksWithADoubtThatIsToldOnce) {
  TemporaryStore store;
  CapturedLog log;
  schema::UtcMillis now{1'795'264'267'000};
  const auto reason = [&] { return (*store).sources.standings().front().reason; };
  {
    SourceWatch watch(*store);
    watch.open("crm", "", now);
    watch.note("crm", SourceState::works, "no cursor", now);
    log.take();
    now.value += 61'000;
    watch.note_only_held("crm", "there are no such gifts", now);
    EXPECT_THAT(log.take(),
                ElementsAre("warning source crm: works, but no cursor; all that it reported is held "
                            "so far: there are no such gifts"));
    now.value += 61'000;
    watch.note_only_held("crm", "there are no such gifts", now);
    watch.note("crm", SourceState::works, "no cursor", now);
    EXPECT_THAT(log.take(), IsEmpty());
    EXPECT_THAT(reason(), HasSubstr("all that it reported is held"));
  }
  SourceWatch watch(*store);
  now.value += 61'000;
  watch.note_only_held("crm", "there are no such gifts", now);
  watch.note("crm", SourceState::works, "no cursor", now);
  EXPECT_THAT(log.take(), IsEmpty()) << "nor after a restart";
  now.value += 61'000;
  watch.note_only_held("crm", "", now);
  EXPECT_THAT(log.take(), ElementsAre("warning source crm: works, but no cursor"));
  EXPECT_EQ(reason(), "no cursor");
}

TEST(SourceWatch, AtTheEndNothingIsLeftUntoldOrUncounted) {
  TemporaryStore store;
  CapturedLog log;
  const schema::UtcMillis now{1'795'264'267'000};
  const auto standing = [&] { return (*store).sources.standings().front(); };
  {
    SourceWatch watch(*store);
    watch.open("crm", "", now);
    watch.note("crm", SourceState::works, "", now);
    watch.note("crm", SourceState::garbage, "no JSON", now + 1000);
    watch.count_refused("crm");
    log.take();
    EXPECT_EQ(standing().state, "works");
    watch.close(now + 2000);
  }
  EXPECT_THAT(log.take(), ElementsAre("warning source crm: garbage: no JSON"));
  EXPECT_EQ(standing().state, "garbage");
  EXPECT_EQ(standing().refused, 1);
}

TEST(SourceWatch, WhatTheStoreDoesNotTakeIsWrittenLaterAndIsNoFaultOfAMessage) {
  TemporaryStore store;
  schema::sql::Database database(store.address());
  const auto rename = [&](const std::string& from, const std::string& to) {
    database.write([&](soci::session& session) { session << "ALTER TABLE " + from + " RENAME TO " + to; });
  };
  const auto standing = [&] { return (*store).sources.standings().front(); };
  CapturedLog log;
  SourceWatch watch(*store);
  const schema::UtcMillis now{1'795'264'267'000};
  watch.open("crm", "", now);
  rename("source", "source_away");
  watch.note("crm", SourceState::garbage, "no JSON", now);
  watch.count_refused("crm");
  watch.count_refused("crm");
  EXPECT_THROW(watch.catch_up(now), schema::BrokenWorld) << "of the counters; the loop tells it";
  rename("source_away", "source");
  watch.catch_up(now + schema::kHourMillis);
  EXPECT_EQ(standing().state, "garbage");
  EXPECT_EQ(standing().refused, 2);
}

TEST(SourceWatch, ASourceWhoseReportsCouldBeAppliedIsNotFull) {
  TemporaryStore store;
  SourceWatch watch(*store);
  CapturedLog log;
  schema::UtcMillis now{1'795'264'267'000};
  watch.note("crm", SourceState::full, "too many", now);
  now.value += 60'000;
  watch.note_room("crm", now);
  watch.note_room("other", now);
  EXPECT_THAT(log.take(),
              ElementsAre("warning source crm: full: too many", HasSubstr("works again, it was: full")));
}

TEST(SourceWatch, ADoubtAboutASourceThatWorksIsToldOnce) {
  TemporaryStore store;
  CapturedLog log;
  schema::UtcMillis now{1'795'264'267'000};
  const auto standing = [&] { return (*store).sources.standings().front(); };
  {
    SourceWatch watch(*store);
    watch.open("crm", "", now);
    for (int times = 0; times < 5; ++times) {
      watch.note("crm", SourceState::works, "no cursor was found", now);
      now.value += 70'000;
    }
    EXPECT_THAT(log.take(), ElementsAre("warning source crm: works, but no cursor was found"));
    EXPECT_EQ(standing().state, "works");
    EXPECT_EQ(standing().reason, "no cursor was found");
  }
  SourceWatch after_a_restart(*store);
  after_a_restart.note("crm", SourceState::works, "no cursor was found", now);
  EXPECT_THAT(log.take(), IsEmpty());
  now.value += 70'000;
  after_a_restart.note("crm", SourceState::fails, "nobody answers", now);
  now.value += 70'000;
  after_a_restart.note("crm", SourceState::works, "no cursor was found", now);
  now.value += 70'000;
  after_a_restart.note("crm", SourceState::works, "", now);
  EXPECT_THAT(log.take(),
              ElementsAre("warning source crm: fails: nobody answers",
                          "warning source crm: works again, it was: fails, but no cursor was found",
                          "info source crm: works"));
}

TEST(SourceWatch, ASourceIsToldOfAlsoOnceTheClockWasPutBack) {
  TemporaryStore store;
  SourceWatch watch(*store);
  CapturedLog log;
  schema::UtcMillis now{1'795'264'267'000};
  watch.open("crm", "", now);
  watch.note("crm", SourceState::fails, "nobody answers", now + 6 * schema::kHourMillis);
  watch.note_refused("crm", "without a signature", now + 6 * schema::kHourMillis);
  log.take();
  watch.note("crm", SourceState::garbage, "no JSON", now);
  watch.note_refused("crm", "without a signature", now);
  EXPECT_THAT(log.take(), ElementsAre(HasSubstr("garbage: no JSON"), HasSubstr("was refused")));
  EXPECT_EQ((*store).sources.standings().front().state, "garbage");
}

}  // namespace
}  // namespace giftsync::daemon
