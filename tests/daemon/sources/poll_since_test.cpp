// A poll by time without `next`: a feed that keeps the contract is read to its end, late changes too; one
// that breaks it fails with the remedy, after what it sent was stored, and loses nothing.
#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>

#include "tests/daemon/sources/poll_fixture.h"

namespace giftsync::sources {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class PollSince : public PollFixture {
 protected:
  PollSince() {
    use_since("");
    feed_.page_size = 10;
    feed_.links_next_page = false;
  }
  /// That many gifts opened one after the other, a second apart.
  std::vector<TransactionId> backlog(std::size_t count, std::int64_t first_seconds = kAt) {
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
  ASSERT_THAT(feed_.requests, SizeIs(3)) << "two full pages and one that is not";
  EXPECT_EQ(since_parameter(1), to_rfc3339({(kAt + 9) * 1000 - 1}))
      << "from the last change of the page before";
  EXPECT_EQ(cursor_state().since, (UtcMillis{(kAt + 24) * 1000}));
  EXPECT_EQ(source_row().state, "ok");
  EXPECT_EQ(source_row().reason, "");
  wait(70);
  feed_.requests.clear();
  feed_.events.insert(feed_.events.begin() + 15, {ids[0].value, "redeemed", kAt + 14});
  EXPECT_EQ(step().accepted, 1u) << "committed late, not on the first page of the overlap";
  EXPECT_EQ(since_parameter(0), to_rfc3339({(kAt + 24 - 100) * 1000 - 1}));
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
  EXPECT_EQ(since_parameter(0), to_rfc3339({(kAt + 18) * 1000 - 1}));
  EXPECT_EQ(source_row().accepted, 25);
  EXPECT_EQ(cursor_state().since, (UtcMillis{(kAt + 24) * 1000}));
}

// SRC-48
TEST_F(PollSince, AtMost100PagesAreReadInAnInterval) {
  const auto ids = backlog(1'000);
  const PollStats stats = step();
  EXPECT_EQ(stats.pages, 100u);
  EXPECT_EQ(stats.accepted, 901u) << "each page begins with the last event of the page before it";
  EXPECT_FALSE(stats.has_more);
  EXPECT_EQ(source_row().next_attempt_at.value - now_.value, 60'000);
  EXPECT_EQ(source_row().state, "ok");
  EXPECT_THAT(source_row().reason, HasSubstr("100 pages were read"));
  EXPECT_FALSE(step().claimed);
  wait(60);
  feed_.requests.clear();
  EXPECT_EQ(step().accepted, 99u);
  EXPECT_EQ(since_parameter(0), to_rfc3339({(kAt + 900) * 1000 - 1})) << "nothing is skipped";
  EXPECT_EQ(source_row().reason, "");
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
  for (const HttpGetRequest& request : feed_.requests) urls.insert(request.url);
  EXPECT_EQ(urls.size(), feed_.requests.size()) << "no URL twice";
  EXPECT_EQ(source_row().reason, "");
}

// SRC-50, SRC-51
TEST_F(PollSince, MoreEventsOfOneTimeThanAPageHoldsAreAFaultAndNothingIsSkipped) {
  for (const TransactionId id : store_.create_gifts(15)) feed_.events.push_back({id.value, "opened", kAt});
  backlog(12, kAt + 2);
  EXPECT_EQ(step().accepted, 10u) << "stored before the source fails";
  for (int failures = 1; failures < 4; ++failures) {
    EXPECT_EQ(source_row().state, "failing");
    EXPECT_EQ(source_row().failures, failures);
    EXPECT_THAT(source_row().reason,
                AllOf(HasSubstr("nothing later than the time that it was requested from"),
                      HasSubstr("larger pages in its url and set page_size")));
    now_ = source_row().next_attempt_at;
    EXPECT_EQ(step().accepted, 0u);
  }
  settings_.url += "?limit=20";
  settings_.page_size = 20;
  feed_.page_size = 20;
  now_ = source_row().next_attempt_at;
  EXPECT_EQ(step().accepted, 17u);
  EXPECT_EQ(source_row().state, "ok");
  EXPECT_EQ(source_row().reason, "");
  EXPECT_EQ(source_row().failures, 0);
}

// SRC-50, SRC-51
TEST_F(PollSince, APageThatHoldsMoreThanPageSizeIsAFaultAndItsEventsAreStored) {
  feed_.page_size = 15;
  backlog(20);
  EXPECT_EQ(step().accepted, 15u);
  EXPECT_EQ(source_row().state, "failing");
  EXPECT_THAT(source_row().reason, HasSubstr("holds 15 items, more than page_size (10); set page_size"));
  EXPECT_EQ(cursor_state().since, std::nullopt);
  settings_.page_size = 15;
  now_ = source_row().next_attempt_at;
  EXPECT_EQ(step().accepted, 5u);
  EXPECT_EQ(source_row().state, "ok");
}

// SRC-50
TEST_F(PollSince, APageCutBeforeTheNewestKnownTimeIsAFaultUntilPageSizeIsCorrected) {
  const auto ids = backlog(25);
  EXPECT_EQ(step().accepted, 25u);
  settings_.page_size = 20;  // the feed still sends ten
  feed_.events.insert(feed_.events.begin() + 15, {ids[0].value, "redeemed", kAt + 14});
  wait(70);
  EXPECT_EQ(step().accepted, 0u);
  EXPECT_EQ(source_row().state, "failing");
  EXPECT_THAT(source_row().reason, AllOf(HasSubstr("a page of 10 items ends before the newest event known"),
                                         HasSubstr("cut before page_size (20)")));
  settings_.page_size = 10;
  now_ = source_row().next_attempt_at;
  EXPECT_EQ(step().accepted, 1u) << "committed late, and not lost meanwhile";
  EXPECT_EQ(source_row().state, "ok");
}

// SRC-46
TEST_F(PollSince, UnreadableItemsCountForAFullPage) {
  const auto ids = store_.create_gifts(12);
  for (std::size_t i = 0; i < ids.size(); ++i)
    feed_.events.push_back({i == 3 ? -5 : ids[i].value, "opened", kAt + static_cast<std::int64_t>(i)});
  const PollStats stats = step();
  EXPECT_EQ(stats.accepted, 11u);
  EXPECT_EQ(stats.quarantined, 1u);
  EXPECT_EQ(stats.pages, 2u);
}

// SRC-47
TEST_F(PollSince, AfterTheOverlapOnlyNewEventsAreRequested) {
  backlog(25);
  step();
  for (int rounds = 0; rounds < 2; ++rounds) {
    wait(70);
    feed_.requests.clear();
    step();
    EXPECT_THAT(feed_.requests, SizeIs(3)) << "the whole overlap again, for late commits";
  }
  wait(70);
  feed_.requests.clear();
  step();
  ASSERT_THAT(feed_.requests, SizeIs(1));
  EXPECT_EQ(since_parameter(0), to_rfc3339({(kAt + 24) * 1000 - 1}));
  backlog(25, kAt + 200);
  wait(70);
  EXPECT_EQ(step().accepted, 25u);
  wait(70);
  feed_.requests.clear();
  step();
  EXPECT_EQ(since_parameter(0), to_rfc3339({(kAt + 224 - 100) * 1000 - 1})) << "the overlap applies again";
}

// SRC-45, SRC-50
TEST_F(PollSince, TimesAheadOfOurClockNeverAdvanceThePoll) {
  const std::int64_t now = now_.value / 1000;
  const auto ids = backlog(5, now - 60);
  feed_.events.push_back({ids[0].value, "redeemed", now + 1000});
  EXPECT_EQ(step().accepted, 6u);
  EXPECT_EQ(cursor_state().since, (UtcMillis{(now - 56) * 1000}));
  EXPECT_EQ(source_row().state, "ok");
  for (std::int64_t i = 1; i < 11; ++i) feed_.events.push_back({ids[1].value, "redeemed", now + 1000 + i});
  wait(170);
  step();
  wait(170);
  step();
  EXPECT_EQ(source_row().state, "failing") << "a full page has nothing up to our clock";
  EXPECT_THAT(source_row().reason, HasSubstr("9 items on it are dated ahead of this machine's clock"));
  now_ = {(now + 2'000) * 1000};
  step();
  EXPECT_EQ(source_row().state, "ok");
  EXPECT_EQ(source_row().accepted, 16);
}

// SRC-50
TEST_F(PollSince, AFeedOfSeveralPagesThatIgnoresSinceIsAFault) {
  feed_.since_resolution_millis = std::numeric_limits<std::int64_t>::max();
  backlog(25);
  EXPECT_EQ(step().accepted, 10u);
  EXPECT_THAT(feed_.requests, SizeIs(2));
  EXPECT_EQ(source_row().state, "failing");
  EXPECT_THAT(source_row().reason, HasSubstr("set next or cursor"));
}

// SRC-50, SRC-51
TEST_F(PollSince, ANewestFirstFeedIsAFaultAndItsEventsAreStored) {
  backlog(25);
  std::reverse(feed_.events.begin(), feed_.events.end());
  EXPECT_EQ(step().accepted, 10u);
  EXPECT_EQ(source_row().state, "failing");
  EXPECT_THAT(source_row().reason,
              AllOf(HasSubstr("a full page is not ascending"), HasSubstr("set next or cursor")));
  EXPECT_EQ(cursor_state().since, std::nullopt) << "nothing is passed";
  std::reverse(feed_.events.begin(), feed_.events.end());
  now_ = source_row().next_attempt_at;
  EXPECT_EQ(step().accepted, 15u);
  EXPECT_EQ(source_row().state, "ok");
}

TEST_F(PollSince, AFeedOfOnePageMayIgnoreSinceAndOrder) {
  feed_.since_resolution_millis = std::numeric_limits<std::int64_t>::max();
  feed_.page_size = 1000;
  settings_.page_size = 1000;
  const auto ids = backlog(12);
  std::reverse(feed_.events.begin(), feed_.events.end());
  step();
  for (std::int64_t rounds = 0; rounds < 10; ++rounds) {
    wait(70);
    const bool is_quiet = rounds % 2 == 0;
    if (!is_quiet) feed_.events.insert(feed_.events.begin(), {ids[0].value, "redeemed", kAt + 1000 + rounds});
    EXPECT_EQ(step().accepted, is_quiet ? 0u : 1u);
    EXPECT_EQ(source_row().state, "ok") << rounds;
    EXPECT_EQ(source_row().reason, "") << rounds;
  }
  for (int rounds = 0; rounds < 3; ++rounds) {
    wait(70);
    step();
  }
  wait(70);
  feed_.requests.clear();
  EXPECT_EQ(step().pages, 0u) << "the response was a 304";
  EXPECT_THAT(feed_.requests, SizeIs(1));
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
    settings_.page_size = 1000;
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

TEST_F(PollSince, TimestampsGeneratedPerResponseAreRequestedOnce) {
  backlog(15);
  feed_.page_size = 20;
  settings_.page_size = 20;
  feed_.before_response = [this] {
    wait(1);
    for (FakeFeed::Event& one : feed_.events) one.at_seconds = now_.value / 1000;
  };
  for (int rounds = 0; rounds < 3; ++rounds) {
    feed_.requests.clear();
    const PollStats stats = step();
    EXPECT_FALSE(stats.has_more);
    EXPECT_THAT(feed_.requests, SizeIs(1));
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
    EXPECT_LE(feed_.requests.size(), 5u);
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
  EXPECT_THAT(source_row().reason, HasSubstr("100 pages were read"));
  const auto from = cursor_state().from;
  ASSERT_TRUE(from.has_value());
  feed_.before_response = [] {};
  feed_.requests.clear();
  wait(70);
  EXPECT_GT(step().accepted, 0u);
  EXPECT_EQ(since_parameter(0), to_rfc3339(*from - 1)) << "nothing is skipped";
  EXPECT_EQ(cursor_state().since, (UtcMillis{feed_.events.back().at_seconds * 1000}));
  EXPECT_EQ(source_row().accepted, static_cast<std::int64_t>(feed_.events.size()));
  EXPECT_EQ(source_row().reason, "");
}

TEST_F(PollSince, ARecentBurstAndALongBacklogAreReadInOneRun) {
  settings_.overlap_seconds = 300;
  feed_.page_size = 50;
  settings_.page_size = 50;
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
  EXPECT_EQ(cursor_state().since, (UtcMillis{feed_.events.back().at_seconds * 1000}));
  wait(86'400);
  burst(6'000);
  EXPECT_EQ(step().pages, 100u);
  wait(70);
  EXPECT_LT(step().pages, 100u);
  EXPECT_EQ(source_row().accepted, 6'250);
  EXPECT_EQ(cursor_state().since, (UtcMillis{feed_.events.back().at_seconds * 1000}));
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
  EXPECT_EQ(cursor_state().since, kStart) << "when the run reached into the overlap";
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
  EXPECT_EQ(cursor_state().since, (UtcMillis{(kAt + 10) * 1000}));
}

}  // namespace
}  // namespace giftsync::sources
