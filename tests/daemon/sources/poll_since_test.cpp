// A poll by time without `next`: however a feed cuts its pages, all changes are read, late ones too, or the
// poll warns that it may miss some.
#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>

#include "tests/daemon/sources/poll_fixture.h"
#include "tests/support/captured_log.h"

namespace giftsync::daemon::sources {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class PollSince : public PollFixture {
 protected:
  PollSince() {
    use_since("");
    feed_.page_size = 10;
    feed_.links_next_page = false;
  }
  /// That many gifts opened one after the other, a second apart.
  std::vector<schema::TransactionId> backlog(std::size_t count, std::int64_t first_seconds = kAt) {
    const auto ids = store_.create_gifts(count);
    for (std::size_t i = 0; i < count; ++i)
      feed_.events.push_back({ids[i].value, "opened", first_seconds + static_cast<std::int64_t>(i)});
    return ids;
  }
  std::string since_parameter(std::size_t at) const {
    return FakeFeed::parameter(feed_.requests.at(at).url, "since");
  }
  PollCursor cursor_state() { return parse_poll_cursor(source_row().cursor_state); }
};

// SRC-46
TEST_F(PollSince, ABacklogWithinTheOverlapIsReadCompletely) {
  const auto ids = backlog(25);
  EXPECT_EQ(step().accepted, 25u);
  ASSERT_THAT(feed_.requests, SizeIs(4)) << "three pages and one without later events";
  EXPECT_EQ(since_parameter(1), platform::to_rfc3339({(kAt + 9) * 1000 - 1}))
      << "from the last change of the page before";
  EXPECT_EQ(cursor_state().since, (platform::UtcMillis{(kAt + 24) * 1000}));
  EXPECT_EQ(source_row().state, "ok");
  EXPECT_EQ(source_row().reason, "");
  wait(70);
  feed_.requests.clear();
  feed_.events.insert(feed_.events.begin() + 15, {ids[0].value, "redeemed", kAt + 14});
  EXPECT_EQ(step().accepted, 1u) << "committed late, not on the first page of the overlap";
  EXPECT_EQ(since_parameter(0), platform::to_rfc3339({(kAt + 24 - 100) * 1000}));
  EXPECT_EQ(source_row().accepted, 26);
}

TEST_F(PollSince, ACrashedRunResumesAtItsCursor) {
  backlog(25);
  feed_.before_response = [this] {
    if (feed_.requests.size() == 3) throw std::runtime_error("killed");
  };
  EXPECT_THROW(step(), std::runtime_error);
  EXPECT_EQ(source_row().accepted, 19);
  EXPECT_EQ(cursor_state().since, std::nullopt) << "the run has not ended";
  feed_.before_response = [] {};
  feed_.requests.clear();
  store_->sources.release_leases({"one"});
  EXPECT_EQ(step().accepted, 6u);
  EXPECT_EQ(since_parameter(0), platform::to_rfc3339({(kAt + 18) * 1000 - 1}));
  EXPECT_EQ(source_row().accepted, 25);
  EXPECT_EQ(cursor_state().since, (platform::UtcMillis{(kAt + 24) * 1000}));
}

TEST_F(PollSince, ARunLongerThanARoundContinuesImmediately) {
  backlog(150);
  feed_.page_size = 2;
  EXPECT_TRUE(step().has_more);
  const PollStats rest = step();
  EXPECT_FALSE(rest.has_more);
  EXPECT_EQ(source_row().accepted, 150);
}

TEST_F(PollSince, AnIdleFeedIsRequestedOnce) {
  step();
  EXPECT_THAT(feed_.requests, SizeIs(1));
  backlog(1);
  wait(70);
  step();
  feed_.events.clear();
  feed_.requests.clear();
  wait(70);
  step();
  EXPECT_THAT(feed_.requests, SizeIs(1));
}

TEST_F(PollSince, AFeedThatTruncatesTimesToSecondsIsReadToTheEnd) {
  backlog(25);
  feed_.since_resolution_millis = 1000;
  EXPECT_EQ(step().accepted, 25u);
  std::set<std::string> urls;
  for (const platform::HttpGetRequest& request : feed_.requests) urls.insert(request.url);
  EXPECT_EQ(urls.size(), feed_.requests.size()) << "no URL twice";
  EXPECT_EQ(source_row().reason, "");
}

// SRC-50
TEST_F(PollSince, AFullPageWithASingleTimestampWarnsAndIsNotTheEnd) {
  for (const schema::TransactionId id : store_.create_gifts(15))
    feed_.events.push_back({id.value, "opened", kAt});
  backlog(12, kAt + 2);
  EXPECT_EQ(step().accepted, 22u) << "later events are read";
  for (int rounds = 0; rounds < 3; ++rounds) {
    EXPECT_EQ(source_row().state, "ok");
    EXPECT_THAT(source_row().reason,
                AllOf(HasSubstr("events of one time only"),
                      HasSubstr("request larger pages in its url, or set cursor or next")));
    wait(70);
    EXPECT_EQ(step().accepted, 0u);
  }
  settings_.url += "?limit=20";
  feed_.page_size = 20;
  backlog(1, kAt + 20);
  wait(70);
  EXPECT_EQ(step().accepted, 6u);
  EXPECT_EQ(source_row().reason, "");
}

TEST_F(PollSince, EventsAfterASingleTimestampPageAreReadEvenIfThatPageNeverChanges) {
  for (const schema::TransactionId id : store_.create_gifts(15))
    feed_.events.push_back({id.value, "opened", kAt});
  EXPECT_EQ(step().accepted, 10u);
  for (int rounds = 1; rounds < 5; ++rounds) {
    wait(70);
    backlog(1, kAt + 10 * rounds);
    EXPECT_EQ(step().accepted, 1u) << rounds;
  }
}

// SRC-47
TEST_F(PollSince, AfterTheOverlapOnlyNewEventsAreRequested) {
  backlog(25);
  step();
  for (int rounds = 0; rounds < 2; ++rounds) {
    wait(70);
    feed_.requests.clear();
    step();
    EXPECT_THAT(feed_.requests, SizeIs(4)) << "the whole overlap again, for late commits";
  }
  wait(70);
  feed_.requests.clear();
  step();
  ASSERT_THAT(feed_.requests, SizeIs(1));
  EXPECT_EQ(since_parameter(0), platform::to_rfc3339({(kAt + 24) * 1000}));
  backlog(25, kAt + 200);
  wait(70);
  EXPECT_EQ(step().accepted, 25u);
  wait(70);
  feed_.requests.clear();
  step();
  EXPECT_EQ(since_parameter(0), platform::to_rfc3339({(kAt + 224 - 100) * 1000}))
      << "the overlap applies again";
}

TEST_F(PollSince, FutureTimestampsAreReported) {
  const std::int64_t now = now_.value / 1000;
  backlog(10, now - 60);
  step();
  for (const schema::TransactionId id : store_.create_gifts(15))
    feed_.events.push_back({id.value, "opened", now + 1000});
  wait(70);
  step();
  EXPECT_THAT(source_row().reason, HasSubstr("dated in the future"));
}

TEST_F(PollSince, AFeedThatIgnoresSinceWarnsAndIsNotRequestedForever) {
  feed_.since_resolution_millis = std::numeric_limits<std::int64_t>::max();
  backlog(25);
  EXPECT_EQ(step().accepted, 10u);
  EXPECT_THAT(feed_.requests, SizeIs(2));
  EXPECT_EQ(source_row().state, "ok");
  EXPECT_THAT(source_row().reason, HasSubstr("a full page has no event newer"));
}

// SRC-51
TEST_F(PollSince, ANewestFirstFeedWarnsUntilAPageHoldsMore) {
  backlog(25);
  std::reverse(feed_.events.begin(), feed_.events.end());
  feed_.before_response = [this] {
    if (feed_.requests.size() == 2) throw std::runtime_error("killed");
  };
  EXPECT_THROW(step(), std::runtime_error);
  feed_.before_response = [] {};
  store_->sources.release_leases({"one"});
  for (int rounds = 0; rounds < 4; ++rounds) {
    step();
    EXPECT_EQ(source_row().accepted, 10);
    EXPECT_EQ(source_row().state, "ok");
    EXPECT_THAT(source_row().reason, HasSubstr("a full page begins with the newest")) << rounds;
    wait(70);
  }
  feed_.page_size = 30;
  backlog(1, kAt + 30);
  std::rotate(feed_.events.begin(), feed_.events.end() - 1, feed_.events.end());
  EXPECT_EQ(step().accepted, 16u);
  EXPECT_EQ(source_row().reason, "") << "the pages before were not full, or are larger now";
}

TEST_F(PollSince, ASinglePageFeedThatIgnoresSinceWarnsOnceAndIsReadWhenItChanges) {
  feed_.since_resolution_millis = std::numeric_limits<std::int64_t>::max();
  feed_.page_size = 1000;
  tests::CapturedLog log;
  const auto ids = backlog(12);
  step();
  const std::string warning = source_row().reason;
  EXPECT_THAT(warning, HasSubstr("a full page has no event newer"));
  for (std::int64_t rounds = 0; rounds < 10; ++rounds) {
    wait(70);
    const bool is_quiet = rounds % 2 == 0;
    if (!is_quiet) feed_.events.push_back({ids[0].value, "redeemed", kAt + 1000 + rounds});
    EXPECT_EQ(step().accepted, is_quiet ? 0u : 1u);
    EXPECT_EQ(source_row().reason, warning) << rounds;
  }
  wait(70);
  step();
  wait(70);
  feed_.requests.clear();
  EXPECT_EQ(step().pages, 0u) << "every response was a 304";
  EXPECT_THAT(feed_.requests, SizeIs(2));
  EXPECT_EQ(source_row().reason, warning);
  std::vector<std::string> log_lines = log.take_lines();
  std::erase_if(log_lines, [](const std::string& line) { return line.find(": ok") == std::string::npos; });
  EXPECT_THAT(log_lines, ElementsAre(StartsWith("warning source feed: ok, but a full page")));
}

// SRC-48
TEST_F(PollSince, ABusyFeedIsNotRequestedUntilTheNextInterval) {
  const auto ids = backlog(15, kStart.value / 1000 - 15);
  feed_.before_response = [&] {
    wait(1);
    feed_.events.push_back(
        {ids[0].value, feed_.requests.size() % 2 == 0 ? "redeemed" : "opened", now_.value / 1000});
  };
  EXPECT_EQ(step().accepted, 17u);
  EXPECT_THAT(feed_.requests, SizeIs(2)) << "the second page is not full";
  EXPECT_FALSE(step().claimed);
  wait(70);
  feed_.requests.clear();
  EXPECT_GT(step().accepted, 0u);
  EXPECT_LE(feed_.requests.size(), 4u);
}

TEST_F(PollSince, AGrowingFeedThatIgnoresSinceIsNotRequestedUntilTheNextInterval) {
  for (const std::int64_t lag_seconds : {3600, 30, 0}) {
    feed_.events.clear();
    feed_.since_resolution_millis = std::numeric_limits<std::int64_t>::max();
    feed_.page_size = 1000;
    const auto ids = backlog(30, now_.value / 1000 - lag_seconds - 30);
    feed_.before_response = [&] {
      wait(1);
      feed_.events.push_back({ids[0].value, "redeemed", now_.value / 1000 - lag_seconds});
    };
    for (int rounds = 0; rounds < 3; ++rounds) {
      feed_.requests.clear();
      const PollStats stats = step();
      EXPECT_GT(stats.accepted, 0u) << lag_seconds;
      EXPECT_FALSE(stats.has_more) << lag_seconds;
      EXPECT_LE(feed_.requests.size(), 2u) << lag_seconds;
      EXPECT_EQ(source_row().next_attempt_at.value - now_.value, 60'000) << lag_seconds;
      EXPECT_FALSE(step().claimed);
      wait(70);
    }
  }
}

TEST_F(PollSince, ASlidingWindowIsRequestedAtMostTwice) {
  feed_.since_resolution_millis = std::numeric_limits<std::int64_t>::max();
  feed_.page_size = 20;
  const auto ids = backlog(20, kStart.value / 1000 - 20);
  std::reverse(feed_.events.begin(), feed_.events.end());
  feed_.before_response = [&] {
    wait(1);
    feed_.events.insert(feed_.events.begin(), {ids[0].value, "redeemed", now_.value / 1000});
  };
  for (int rounds = 0; rounds < 3; ++rounds) {
    feed_.requests.clear();
    EXPECT_FALSE(step().has_more);
    EXPECT_LE(feed_.requests.size(), 2u);
    EXPECT_EQ(source_row().next_attempt_at.value - now_.value, 60'000);
    wait(70);
  }
}

TEST_F(PollSince, TimestampsGeneratedPerResponseAreRequestedAtMostTwice) {
  backlog(15);
  feed_.page_size = 20;
  feed_.before_response = [this] {
    wait(1);
    for (FakeFeed::Event& one : feed_.events) one.at_seconds = now_.value / 1000;
  };
  for (int rounds = 0; rounds < 3; ++rounds) {
    feed_.requests.clear();
    const PollStats stats = step();
    EXPECT_FALSE(stats.has_more);
    EXPECT_LE(feed_.requests.size(), 2u);
    EXPECT_LE(stats.accepted, 30u);
    EXPECT_EQ(source_row().next_attempt_at.value - now_.value, 60'000);
    wait(70);
  }
}

TEST_F(PollSince, AGrowingFeedWithABacklogIsNotRequestedUntilTheNextInterval) {
  const auto ids = backlog(15, kStart.value / 1000 - 3600 - 15);
  feed_.before_response = [&] {
    wait(1);
    feed_.events.push_back({ids[0].value, "redeemed", now_.value / 1000 - 3600});
  };
  for (int rounds = 0; rounds < 3; ++rounds) {
    feed_.requests.clear();
    EXPECT_GT(step().accepted, 0u);
    EXPECT_LE(feed_.requests.size(), 5u) << "the overlap, the news, and a page with little news";
    EXPECT_EQ(source_row().next_attempt_at.value - now_.value, 60'000);
    wait(70);
  }
}

TEST_F(PollSince, ARunThatDoesNotCatchUpContinuesAfterTheInterval) {
  const auto ids = backlog(1, kStart.value / 1000 - 3600);
  feed_.before_response = [&] {
    wait(10);
    for (std::int64_t second = 9; second >= 0; --second)
      feed_.events.push_back({ids[0].value, "redeemed", now_.value / 1000 - 3600 - second});
  };
  const PollStats stats = step();
  EXPECT_EQ(stats.pages, 100u);
  EXPECT_FALSE(stats.has_more);
  EXPECT_EQ(source_row().next_attempt_at.value - now_.value, 60'000);
  EXPECT_EQ(source_row().state, "ok");
  EXPECT_THAT(source_row().reason, HasSubstr("as fast as they are read"));
  const auto from = cursor_state().from;
  ASSERT_TRUE(from.has_value());
  feed_.before_response = [] {};
  feed_.requests.clear();
  wait(70);
  EXPECT_GT(step().accepted, 0u);
  EXPECT_EQ(since_parameter(0), platform::to_rfc3339(*from - 1)) << "nothing is skipped";
  EXPECT_EQ(cursor_state().since, (platform::UtcMillis{feed_.events.back().at_seconds * 1000}));
  EXPECT_EQ(source_row().accepted, static_cast<std::int64_t>(feed_.events.size()));
  EXPECT_EQ(source_row().reason, "");
}

TEST_F(PollSince, ARecentBurstAndALongBacklogAreReadInOneRun) {
  settings_.overlap_seconds = 300;
  feed_.page_size = 50;
  feed_.before_response = [this] { now_ = now_ + 200; };
  const auto ids = store_.create_gifts(100);
  // Two per second, up to the present.
  const auto burst = [&](std::size_t count) {
    const std::int64_t first_seconds = now_.value / 1000 - static_cast<std::int64_t>(count / 2) - 1;
    for (std::size_t i = 0; i < count; ++i)
      feed_.events.push_back(
          {ids[i % ids.size()].value, "opened", first_seconds + static_cast<std::int64_t>(i / 2)});
  };
  burst(250);
  EXPECT_EQ(step().accepted, 250u);
  EXPECT_EQ(cursor_state().since, (platform::UtcMillis{feed_.events.back().at_seconds * 1000}));
  wait(86'400);
  burst(6'000);
  EXPECT_TRUE(step().has_more);
  EXPECT_FALSE(step().has_more);
  EXPECT_EQ(source_row().accepted, 6'250);
  EXPECT_EQ(cursor_state().since, (platform::UtcMillis{feed_.events.back().at_seconds * 1000}));
  EXPECT_EQ(source_row().reason, "");
}

// SRC-49
TEST_F(PollSince, EventsCommittedLateDuringALongRunAreFoundByTheNext) {
  const std::int64_t start_seconds = kStart.value / 1000;
  const auto ids = backlog(15, start_seconds - 15);
  feed_.before_response = [&] {
    if (feed_.requests.size() != 2) return;
    // At a time that the first page has passed, and more than the overlap before the run's last change.
    feed_.events.insert(feed_.events.begin() + 5, {ids[0].value, "redeemed", start_seconds - 10});
    wait(95);
    feed_.events.push_back({ids[1].value, "redeemed", now_.value / 1000});
  };
  EXPECT_EQ(step().accepted, 16u);
  EXPECT_EQ(change_count(ids[0]), 1u);
  EXPECT_EQ(cursor_state().since, kStart) << "when the run came close to the present";
  feed_.before_response = [] {};
  wait(70);
  EXPECT_EQ(step().accepted, 1u);
  EXPECT_EQ(change_count(ids[0]), 2u);
}

TEST_F(PollSince, AnUnchangedFirstPageIsNotTheEnd) {
  backlog(10);
  step();
  for (int rounds = 0; rounds < 2; ++rounds) {
    wait(70);
    step();
  }
  feed_.requests.clear();
  backlog(1, kAt + 10);
  wait(70);
  const PollStats stats = step();
  EXPECT_EQ(stats.accepted, 1u) << "after a full page with response 304";
  EXPECT_EQ(cursor_state().since, (platform::UtcMillis{(kAt + 10) * 1000}));
}

}  // namespace
}  // namespace giftsync::daemon::sources
