// When a poll asks again: back-off, Retry-After, edits of its settings, and feeds that have no end.
#include "tests/daemon/poll_ground.h"

namespace giftsync::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PollPace : public PollGround {};

TEST_F(PollPace, BacksOffLongerAndLongerAndHonoursRetryAfter) {
  settings_.interval_seconds = 10;
  vendor_.faults = {status(503), status(500), status(429, "120"),
                    status(503, "Fri, 15 Jan 2027 08:30:00 GMT")};
  step();
  EXPECT_EQ(standing().due_at.value - now_.value, 21'000) << "twice the interval and a little chance";
  wait(22);
  step();
  EXPECT_EQ(standing().due_at.value - now_.value, 42'000);
  EXPECT_EQ(standing().failures, 2);
  wait(43);
  step();
  EXPECT_EQ(standing().due_at.value - now_.value, 120'000);
  wait(121);
  step();
  EXPECT_EQ(to_rfc3339(standing().due_at), "2027-01-15T08:30:00.000Z");
  now_ = standing().due_at;
  step();
  EXPECT_EQ(standing().failures, 0);
  EXPECT_EQ(standing().state, "works");
}

TEST_F(PollPace, AShortRetryAfterDoesNotShortenTheBackOff) {
  vendor_.faults = {status(503, "0"), status(503, "1")};
  step();
  EXPECT_EQ(standing().due_at.value - now_.value, 126'000);
  now_ = standing().due_at;
  step();
  EXPECT_EQ(standing().due_at.value - now_.value, 252'000);
}

TEST_F(PollPace, AnEditOfItsSettingsEndsTheWaitAndNothingElseDoes) {
  start();
  settings_.interval_seconds = 86'400;
  vendor_.faults = {status(401)};
  start();
  step();
  const UtcMillis due = standing().due_at;
  EXPECT_GT(due, now_ + 86'000'000);
  for (int reloads = 0; reloads < 3; ++reloads) {
    start();
    EXPECT_EQ(standing().due_at, due) << "nothing was edited";
    EXPECT_EQ(standing().failures, 1);
  }
  settings_.headers = {{"Authorization", Secret("Bearer of better news")}};
  start();
  EXPECT_EQ(standing().due_at, now_);
  EXPECT_EQ(standing().failures, 0);
  EXPECT_THAT(standing().position, Not(HasSubstr("news")));
  EXPECT_TRUE(step().claimed);
  EXPECT_FALSE(step().claimed);
  start();
  EXPECT_FALSE(step().claimed);
  settings_.interval_seconds = 1;
  start();
  EXPECT_TRUE(step().claimed);
  start();
  EXPECT_FALSE(step().claimed);
  settings_.url += "?v=2";
  start();
  EXPECT_TRUE(step().claimed);
}

TEST_F(PollPace, AnEditKeepsThePositionButReadsThePageAgain) {
  by_since("");
  settings_.fields.event_id = "/ident";
  vendor_.page_size = 10;
  vendor_.events = {{store_.gifts(1)[0].value, "opened", kAt}};
  start();
  step();
  wait(70);
  step();  // asked with since from here on
  const PollPosition before = poll_position_from_text(standing().position);
  EXPECT_FALSE(before.seen.empty());
  settings_.fields.event_id = "/id";
  start();
  const PollPosition after = poll_position_from_text(standing().position);
  EXPECT_EQ(after.since, before.since);
  EXPECT_TRUE(after.seen.empty());
  EXPECT_EQ(step().pages, 2u) << "not 304";
}

TEST_F(PollPace, AShorterIntervalIsNoSignOfAWrongClock) {
  settings_.interval_seconds = 3'600;
  start();
  step();
  EXPECT_GT(standing().due_at, now_ + 3'000'000);
  settings_.interval_seconds = 60;
  EXPECT_EQ(end_false_waits(), 0u) << "a reload looks at the waits before it forgets those that are outdated";
  start();
  EXPECT_EQ(standing().due_at, now_);
  EXPECT_TRUE(step().claimed);
  EXPECT_EQ(standing().due_at.value - now_.value, 60'000);
  now_ = now_ - 7'000;
  EXPECT_EQ(end_false_waits(), 1u) << "told under the settings of now";
}

TEST_F(PollPace, NoContentIsNothingNewAndNoFailure) {
  const auto ids = store_.gifts(3);
  for (const TransactionId id : ids) vendor_.events.push_back({id.value, "opened", kAt});
  vendor_.faults = {status(204)};
  step();
  EXPECT_EQ(standing().state, "works");
  EXPECT_EQ(standing().failures, 0);
  EXPECT_EQ(standing().due_at.value - now_.value, 60'000);
  wait(61);
  EXPECT_EQ(step().accepted, 3u);
  wait(61);
  vendor_.faults = {status(204)};
  step();
  EXPECT_EQ(poll_position_from_text(standing().position).cursor, "3") << "the position stays";
  EXPECT_EQ(standing().reason, "");
}

TEST_F(PollPace, NoContentWithinARunEndsIt) {
  by_since("/next");
  for (const TransactionId id : store_.gifts(4)) vendor_.events.push_back({id.value, "opened", kAt});
  vendor_.before_answer = [this] {
    if (vendor_.asked.size() == 2) vendor_.faults = {status(204)};
  };
  EXPECT_EQ(step().accepted, 2u);
  const PollPosition position = poll_position_from_text(standing().position);
  EXPECT_EQ(position.next, "");
  EXPECT_EQ(position.since, (UtcMillis{kAt * 1000}));
}

TEST_F(PollPace, AfterAnOutageItWorksAsSoonAsPagesAreTakenAndNotWhenAllAre) {
  for (const TransactionId id : store_.gifts(20)) vendor_.events.push_back({id.value, "opened", kAt});
  vendor_.faults = {status(503)};
  step();
  EXPECT_EQ(standing().state, "fails");
  now_ = standing().due_at;
  vendor_.asked.clear();
  vendor_.before_answer = [this] {
    wait(2);
    if (vendor_.asked.size() == 2) {
      EXPECT_EQ(standing().failures, 0) << "it has answered";
    }
    if (vendor_.asked.size() == 6) {
      EXPECT_EQ(standing().state, "works");
      EXPECT_EQ(standing().reason, "");
    }
  };
  EXPECT_EQ(step().accepted, 20u);
  EXPECT_GT(vendor_.asked.size(), 6u);
}

TEST_F(PollPace, ARoundThatIsNotTheLastOneSaysThatItWorks) {
  for (const TransactionId id : store_.gifts(210)) vendor_.events.push_back({id.value, "opened", kAt});
  vendor_.faults = {status(503)};
  step();
  now_ = standing().due_at;
  EXPECT_TRUE(step().more);
  EXPECT_EQ(standing().state, "works");
  EXPECT_EQ(standing().failures, 0);
}

TEST_F(PollPace, AWaitThatNoRuleCanHaveMadeEnds) {
  random_ = 1;
  settings_.interval_seconds = 60;
  const auto put_back = [&](std::int64_t millis) { now_ = now_ - millis; };
  step();
  EXPECT_EQ(standing().due_at.value - now_.value, 66'000);
  EXPECT_EQ(end_false_waits(), 0u) << "its longest is genuine";
  put_back(2);
  EXPECT_EQ(end_false_waits(), 1u);
  EXPECT_TRUE(step().claimed);

  vendor_.faults.assign(10, status(503));
  for (int failures = 0; failures < 10; ++failures) {
    now_ = standing().due_at;
    step();
    EXPECT_EQ(end_false_waits(), 0u) << failures;
  }
  EXPECT_EQ(standing().due_at.value - now_.value, 3'960'000);
  put_back(6 * kHourMillis);
  EXPECT_EQ(end_false_waits(), 1u);
  EXPECT_EQ(standing().failures, 10) << "the back-off goes on";
}

TEST_F(PollPace, ADayIsGenuineOnlyWhileTheFeedHasAskedForIt) {
  vendor_.faults = {status(429, "86400"), status(429)};
  step();
  EXPECT_EQ(standing().due_at, now_ + kDayMillis);
  EXPECT_EQ(end_false_waits(), 0u);
  now_ = now_ - 1;
  EXPECT_EQ(end_false_waits(), 1u);
  step();
  EXPECT_EQ(standing().failures, 2);
  now_ = now_ - 6 * kHourMillis;
  EXPECT_EQ(end_false_waits(), 1u) << "it did not ask again";
  step();
  now_ = now_ - 6 * kHourMillis;
  EXPECT_EQ(end_false_waits(), 1u) << "after a good answer only the interval counts";
}

TEST_F(PollPace, AFeedThatSaysTheSameForEverRestsAndIsNamed) {
  const auto ids = store_.gifts(1);
  vendor_.before_answer = [&] {
    vendor_.faults = {one_report(ids[0], "cursor", "c" + std::to_string(vendor_.asked.size()))};
  };
  const PollReport report = step();
  EXPECT_EQ(report.accepted, 1u);
  EXPECT_EQ(report.pages, 20u);
  EXPECT_FALSE(report.more);
  EXPECT_EQ(standing().state, "garbage");
  EXPECT_THAT(standing().reason, HasSubstr("it has no end: 20 pages in a row say the same"));
  EXPECT_EQ(standing().due_at.value - now_.value, 60'000);
  EXPECT_EQ(poll_position_from_text(standing().position).cursor, "c20");
  EXPECT_FALSE(step().claimed);
  now_ = standing().due_at;
  vendor_.before_answer = [] {};
  vendor_.faults = {text(R"({"data":[],"cursor":"c20"})")};
  EXPECT_EQ(step().pages, 1u);
  EXPECT_EQ(standing().state, "works") << "it has come to an end";
}

TEST_F(PollPace, PagesThatLeadInACircleAreReadOnce) {
  by_since("/next");
  const auto ids = store_.gifts(2);
  vendor_.before_answer = [&] {
    const bool is_b = Vendor::parameter(vendor_.asked.back().url, "p") == "b";
    vendor_.faults = {one_report(ids[is_b ? 1 : 0], "next", is_b ? "?p=a" : "?p=b")};
  };
  const PollReport report = step();
  EXPECT_EQ(report.accepted, 2u);
  EXPECT_LE(report.pages, 5u);
  EXPECT_FALSE(report.more);
  EXPECT_EQ(standing().state, "garbage");
  EXPECT_THAT(standing().reason, HasSubstr("its pages lead in a circle"));
  EXPECT_EQ(poll_position_from_text(standing().position).next, "");
  EXPECT_EQ(standing().due_at.value - now_.value, 60'000);
  now_ = standing().due_at;
  vendor_.asked.clear();
  step();
  EXPECT_EQ(vendor_.asked.front().url, settings_.url) << "the run begins anew";
  EXPECT_LE(vendor_.asked.size(), 4u);
}

TEST_F(PollPace, ALongListThatIsReadAgainPausesAndComesToItsEnd) {
  const auto ids = store_.gifts(110);
  vendor_.page_size = 1;
  for (const TransactionId id : ids) vendor_.events.push_back({id.value, "opened", kAt});
  EXPECT_TRUE(step().more) << "what is new is read at full speed";
  EXPECT_EQ(step().accepted, 10u);
  ASSERT_TRUE(store_->sources.rewind("feed"));
  const PollReport again = step();
  EXPECT_EQ(again.repeated, 100u);
  EXPECT_FALSE(again.more);
  EXPECT_EQ(standing().state, "works");
  EXPECT_EQ(standing().due_at.value - now_.value, 10'000);
  now_ = standing().due_at;
  EXPECT_EQ(step().repeated, 10u);
  EXPECT_EQ(standing().state, "works");
}

TEST_F(PollPace, AnEditBeginsARunOfPagesAnew) {
  by_since("/next");
  for (const TransactionId id : store_.gifts(4)) vendor_.events.push_back({id.value, "opened", kAt});
  start();
  vendor_.before_answer = [this] {
    if (vendor_.asked.size() == 2) vendor_.faults = {status(503)};
  };
  EXPECT_EQ(step().accepted, 2u);
  EXPECT_NE(poll_position_from_text(standing().position).next, "");
  settings_.url = "https://api.example.com/v2/events";
  start();
  EXPECT_EQ(poll_position_from_text(standing().position).next, "");
  EXPECT_EQ(step().accepted, 2u);
  EXPECT_EQ(vendor_.asked[2].url, settings_.url);
}

TEST(PollTimes, BackOffDoublesUpToAnHour) {
  EXPECT_EQ(poll_back_off_millis(60'000, 1), 120'000);
  EXPECT_EQ(poll_back_off_millis(60'000, 3), 480'000);
  EXPECT_EQ(poll_back_off_millis(60'000, 1'000'000), 3'600'000);
  EXPECT_EQ(poll_back_off_millis(7'200'000, 3), 7'200'000);
}

TEST(PollTimes, ReadsRetryAfter) {
  EXPECT_EQ(retry_after_millis("5", kStart), 5000);
  EXPECT_EQ(retry_after_millis("99999999", kStart), kDayMillis);
  EXPECT_EQ(retry_after_millis("Fri, 15 Jan 2027 08:00:10 GMT", kStart), 10'000);
  EXPECT_EQ(retry_after_millis("Thu, 14 Jan 2027 08:00:10 GMT", kStart), 0);
  for (const char* bad : {"", "-5", "soon", "5 s"})
    EXPECT_EQ(retry_after_millis(bad, kStart), std::nullopt) << bad;
}

}  // namespace
}  // namespace giftsync::daemon
