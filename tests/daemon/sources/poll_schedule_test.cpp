// When a poll requests again: back-off, Retry-After, edits of its settings, and feeds without end.
#include "tests/daemon/sources/poll_fixture.h"

namespace giftsync::sources {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PollSchedule : public PollFixture {};

// SRC-38
TEST_F(PollSchedule, BacksOffExponentiallyAndHonoursRetryAfter) {
  settings_.interval_seconds = 10;
  feed_.queued_responses = {http_status(503), http_status(500), http_status(429, "120"),
                            http_status(503, "Fri, 15 Jan 2027 08:30:00 GMT")};
  step();
  EXPECT_EQ(source_row().next_attempt_at.value - now_.value, 21'000) << "twice the interval plus jitter";
  wait(22);
  step();
  EXPECT_EQ(source_row().next_attempt_at.value - now_.value, 42'000);
  EXPECT_EQ(source_row().failures, 2);
  wait(43);
  step();
  EXPECT_EQ(source_row().next_attempt_at.value - now_.value, 120'000);
  wait(121);
  step();
  EXPECT_EQ(to_rfc3339(source_row().next_attempt_at), "2027-01-15T08:30:00.000Z");
  now_ = source_row().next_attempt_at;
  step();
  EXPECT_EQ(source_row().failures, 0);
  EXPECT_EQ(source_row().state, "ok");
}

TEST_F(PollSchedule, AShortRetryAfterDoesNotShortenTheBackOff) {
  feed_.queued_responses = {http_status(503, "0"), http_status(503, "1")};
  step();
  EXPECT_EQ(source_row().next_attempt_at.value - now_.value, 126'000);
  now_ = source_row().next_attempt_at;
  step();
  EXPECT_EQ(source_row().next_attempt_at.value - now_.value, 252'000);
}

// SRC-37
TEST_F(PollSchedule, OnlyASettingsChangeEndsTheWait) {
  restart_daemon();
  settings_.interval_seconds = 86'400;
  feed_.queued_responses = {http_status(401)};
  restart_daemon();
  step();
  const UtcMillis due = source_row().next_attempt_at;
  EXPECT_GT(due, now_ + 86'000'000);
  for (int reloads = 0; reloads < 3; ++reloads) {
    restart_daemon();
    EXPECT_EQ(source_row().next_attempt_at, due) << "nothing was edited";
    EXPECT_EQ(source_row().failures, 1);
  }
  settings_.headers = {{"Authorization", config::Secret("Bearer of better news")}};
  restart_daemon();
  EXPECT_EQ(source_row().next_attempt_at, now_);
  EXPECT_EQ(source_row().failures, 0);
  EXPECT_THAT(source_row().cursor_state, Not(HasSubstr("news")));
  EXPECT_TRUE(step().claimed);
  EXPECT_FALSE(step().claimed);
  restart_daemon();
  EXPECT_FALSE(step().claimed);
  settings_.interval_seconds = 1;
  restart_daemon();
  EXPECT_TRUE(step().claimed);
  restart_daemon();
  EXPECT_FALSE(step().claimed);
  settings_.url += "?v=2";
  restart_daemon();
  EXPECT_TRUE(step().claimed);
}

TEST_F(PollSchedule, ASettingsChangeKeepsTheCursorAndRereadsThePage) {
  use_since("");
  settings_.fields.event_id = "/ident";
  feed_.page_size = 10;
  feed_.events = {{store_.create_gifts(1)[0].value, "opened", kAt}};
  restart_daemon();
  step();
  wait(70);
  step();  // requests with since from here on
  const PollCursor before = parse_poll_cursor(source_row().cursor_state);
  EXPECT_FALSE(before.cached_pages.empty());
  settings_.fields.event_id = "/id";
  restart_daemon();
  const PollCursor after = parse_poll_cursor(source_row().cursor_state);
  EXPECT_EQ(after.since, before.since);
  EXPECT_TRUE(after.cached_pages.empty());
  EXPECT_EQ(step().pages, 1u) << "not 304";
}

TEST_F(PollSchedule, AShorterIntervalIsNotTakenForClockSkew) {
  settings_.interval_seconds = 3'600;
  restart_daemon();
  step();
  EXPECT_GT(source_row().next_attempt_at, now_ + 3'000'000);
  settings_.interval_seconds = 60;
  EXPECT_EQ(release_implausible_waits(), 0u) << "a wait under edited settings is not clock skew";
  restart_daemon();
  EXPECT_EQ(source_row().next_attempt_at, now_);
  EXPECT_TRUE(step().claimed);
  EXPECT_EQ(source_row().next_attempt_at.value - now_.value, 60'000);
  now_ = now_ - 7'000;
  EXPECT_EQ(release_implausible_waits(), 1u) << "computed under the present settings";
}

TEST_F(PollSchedule, Status204IsAnEmptyPageAndNotAFailure) {
  const auto ids = store_.create_gifts(4);
  for (std::size_t i = 0; i < ids.size(); ++i)
    feed_.events.push_back({ids[i].value, "opened", kAt + static_cast<std::int64_t>(i)});
  feed_.queued_responses = {http_status(204)};
  step();
  EXPECT_EQ(source_row().state, "ok");
  EXPECT_EQ(source_row().failures, 0);
  EXPECT_EQ(source_row().next_attempt_at.value - now_.value, 60'000);
  wait(61);
  EXPECT_EQ(step().accepted, 4u);
  wait(61);
  feed_.queued_responses = {http_status(204)};
  step();
  EXPECT_EQ(parse_poll_cursor(source_row().cursor_state).cursor, "4") << "the cursor stays";
  EXPECT_EQ(source_row().reason, "");
}

TEST_F(PollSchedule, Status204EndsTheRun) {
  use_since("/next");
  for (const TransactionId id : store_.create_gifts(4)) feed_.events.push_back({id.value, "opened", kAt});
  feed_.before_response = [this] {
    if (feed_.requests.size() == 2) feed_.queued_responses = {http_status(204)};
  };
  EXPECT_EQ(step().accepted, 2u);
  const PollCursor cursor_state = parse_poll_cursor(source_row().cursor_state);
  EXPECT_EQ(cursor_state.next, "");
  EXPECT_EQ(cursor_state.since, (UtcMillis{kAt * 1000}));
}

// SRC-54, SRC-52
TEST_F(PollSchedule, AfterAnOutageTheStateIsOkOnceAPageIsAccepted) {
  for (const TransactionId id : store_.create_gifts(20)) feed_.events.push_back({id.value, "opened", kAt});
  feed_.queued_responses = {http_status(503)};
  step();
  EXPECT_EQ(source_row().state, "failing");
  now_ = source_row().next_attempt_at;
  feed_.requests.clear();
  feed_.before_response = [this] {
    wait(2);
    if (feed_.requests.size() == 2) {
      EXPECT_EQ(source_row().failures, 0) << "it has responded";
    }
    if (feed_.requests.size() == 6) {
      EXPECT_EQ(source_row().state, "ok");
      EXPECT_EQ(source_row().reason, "");
    }
  };
  EXPECT_EQ(step().accepted, 20u);
  EXPECT_GT(feed_.requests.size(), 6u);
}

TEST_F(PollSchedule, AnIntermediateRoundSetsTheStateOk) {
  for (const TransactionId id : store_.create_gifts(210)) feed_.events.push_back({id.value, "opened", kAt});
  feed_.queued_responses = {http_status(503)};
  step();
  now_ = source_row().next_attempt_at;
  EXPECT_TRUE(step().has_more);
  EXPECT_EQ(source_row().state, "ok");
  EXPECT_EQ(source_row().failures, 0);
}

TEST_F(PollSchedule, AWaitBeyondTheMaximumIsReleased) {
  random_ = 1;
  settings_.interval_seconds = 60;
  const auto set_clock_back = [&](std::int64_t millis) { now_ = now_ - millis; };
  step();
  EXPECT_EQ(source_row().next_attempt_at.value - now_.value, 66'000);
  EXPECT_EQ(release_implausible_waits(), 0u) << "the longest wait is valid";
  set_clock_back(2);
  EXPECT_EQ(release_implausible_waits(), 1u);
  EXPECT_TRUE(step().claimed);

  feed_.queued_responses.assign(10, http_status(503));
  for (int failures = 0; failures < 10; ++failures) {
    now_ = source_row().next_attempt_at;
    step();
    EXPECT_EQ(release_implausible_waits(), 0u) << failures;
  }
  EXPECT_EQ(source_row().next_attempt_at.value - now_.value, 3'960'000);
  set_clock_back(6 * kHourMillis);
  EXPECT_EQ(release_implausible_waits(), 1u);
  EXPECT_EQ(source_row().failures, 10) << "the back-off continues";
}

TEST_F(PollSchedule, AWaitOfADayIsValidOnlyAfterRetryAfter) {
  feed_.queued_responses = {http_status(429, "86400"), http_status(429)};
  step();
  EXPECT_EQ(source_row().next_attempt_at, now_ + kDayMillis);
  EXPECT_EQ(release_implausible_waits(), 0u);
  now_ = now_ - 1;
  EXPECT_EQ(release_implausible_waits(), 1u);
  step();
  EXPECT_EQ(source_row().failures, 2);
  now_ = now_ - 6 * kHourMillis;
  EXPECT_EQ(release_implausible_waits(), 1u) << "no Retry-After this time";
  step();
  now_ = now_ - 6 * kHourMillis;
  EXPECT_EQ(release_implausible_waits(), 1u) << "after a good response only the interval counts";
}

// SRC-43
TEST_F(PollSchedule, AFeedOfEndlessIdenticalPagesIsStoppedAndReported) {
  const auto ids = store_.create_gifts(1);
  feed_.before_response = [&] {
    feed_.queued_responses = {
        single_event_page(ids[0], "cursor", "c" + std::to_string(feed_.requests.size()))};
  };
  const PollStats stats = step();
  EXPECT_EQ(stats.accepted, 1u);
  EXPECT_EQ(stats.pages, 20u);
  EXPECT_FALSE(stats.has_more);
  EXPECT_EQ(source_row().state, "invalid");
  EXPECT_THAT(source_row().reason, HasSubstr("it has no end: 20 pages in a row are identical"));
  EXPECT_EQ(source_row().next_attempt_at.value - now_.value, 60'000);
  EXPECT_EQ(parse_poll_cursor(source_row().cursor_state).cursor, "c20");
  EXPECT_FALSE(step().claimed);
  now_ = source_row().next_attempt_at;
  feed_.before_response = [] {};
  feed_.queued_responses = {json_page(R"({"data":[],"cursor":"c20"})")};
  EXPECT_EQ(step().pages, 1u);
  EXPECT_EQ(source_row().state, "ok") << "the run has ended";
}

// SRC-43
TEST_F(PollSchedule, PagesThatLinkInACycleAreReadOnce) {
  use_since("/next");
  const auto ids = store_.create_gifts(2);
  feed_.before_response = [&] {
    const bool is_b = FakeFeed::parameter(feed_.requests.back().url, "p") == "b";
    feed_.queued_responses = {single_event_page(ids[is_b ? 1 : 0], "next", is_b ? "?p=a" : "?p=b")};
  };
  const PollStats stats = step();
  EXPECT_EQ(stats.accepted, 2u);
  EXPECT_LE(stats.pages, 5u);
  EXPECT_FALSE(stats.has_more);
  EXPECT_EQ(source_row().state, "invalid");
  EXPECT_THAT(source_row().reason, HasSubstr("its pages form a cycle"));
  EXPECT_EQ(parse_poll_cursor(source_row().cursor_state).next, "");
  EXPECT_EQ(source_row().next_attempt_at.value - now_.value, 60'000);
  now_ = source_row().next_attempt_at;
  feed_.requests.clear();
  step();
  EXPECT_EQ(feed_.requests.front().url, settings_.url) << "the run begins again";
  EXPECT_LE(feed_.requests.size(), 4u);
}

TEST_F(PollSchedule, RereadingALongListPausesAndReachesTheEnd) {
  const auto ids = store_.create_gifts(110);
  feed_.page_size = 1;
  for (const TransactionId id : ids) feed_.events.push_back({id.value, "opened", kAt});
  EXPECT_TRUE(step().has_more) << "new events are read at full speed";
  EXPECT_EQ(step().accepted, 10u);
  ASSERT_TRUE(store_->sources.reset_cursor("feed"));
  const PollStats again = step();
  EXPECT_EQ(again.duplicates, 100u);
  EXPECT_FALSE(again.has_more);
  EXPECT_EQ(source_row().state, "ok");
  EXPECT_EQ(source_row().next_attempt_at.value - now_.value, 10'000);
  now_ = source_row().next_attempt_at;
  EXPECT_EQ(step().duplicates, 10u);
  EXPECT_EQ(source_row().state, "ok");
}

TEST_F(PollSchedule, ASettingsChangeRestartsTheRun) {
  use_since("/next");
  for (const TransactionId id : store_.create_gifts(4)) feed_.events.push_back({id.value, "opened", kAt});
  restart_daemon();
  feed_.before_response = [this] {
    if (feed_.requests.size() == 2) feed_.queued_responses = {http_status(503)};
  };
  EXPECT_EQ(step().accepted, 2u);
  EXPECT_NE(parse_poll_cursor(source_row().cursor_state).next, "");
  settings_.url = "https://api.example.com/v2/events";
  restart_daemon();
  EXPECT_EQ(parse_poll_cursor(source_row().cursor_state).next, "");
  EXPECT_EQ(step().accepted, 2u);
  EXPECT_EQ(feed_.requests[2].url, settings_.url);
}

TEST(PollBackOff, BackOffDoublesUpToAnHour) {
  EXPECT_EQ(poll_back_off_millis(60'000, 1), 120'000);
  EXPECT_EQ(poll_back_off_millis(60'000, 3), 480'000);
  EXPECT_EQ(poll_back_off_millis(60'000, 1'000'000), 3'600'000);
  EXPECT_EQ(poll_back_off_millis(7'200'000, 3), 7'200'000);
}

TEST(PollBackOff, ReadsRetryAfter) {
  EXPECT_EQ(retry_after_millis("5", kStart), 5000);
  EXPECT_EQ(retry_after_millis("99999999", kStart), kDayMillis);
  EXPECT_EQ(retry_after_millis("Fri, 15 Jan 2027 08:00:10 GMT", kStart), 10'000);
  EXPECT_EQ(retry_after_millis("Thu, 14 Jan 2027 08:00:10 GMT", kStart), 0);
  for (const char* bad : {"", "-5", "soon", "5 s"})
    EXPECT_EQ(retry_after_millis(bad, kStart), std::nullopt) << bad;
}

}  // namespace
}  // namespace giftsync::sources
