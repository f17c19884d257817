// A poll by time whose pages do not name the next one: however a feed cuts its pages, all changes are read,
// late ones too, or the poll says that it cannot get at them.
#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>

#include "tests/daemon/captured_log.h"
#include "tests/daemon/poll_ground.h"

namespace giftsync::daemon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class PollSince : public PollGround {
 protected:
  PollSince() {
    by_since("");
    vendor_.page_size = 10;
    vendor_.names_next = false;
  }
  /// So many gifts opened one after the other, a second each.
  std::vector<TransactionId> backlog(std::size_t count, std::int64_t first_seconds = kAt) {
    const auto ids = store_.gifts(count);
    for (std::size_t i = 0; i < count; ++i)
      vendor_.events.push_back({ids[i].value, "opened", first_seconds + static_cast<std::int64_t>(i)});
    return ids;
  }
  std::string asked_since(std::size_t at) const {
    return Vendor::parameter(vendor_.asked.at(at).url, "since");
  }
  PollPosition position() { return poll_position_from_text(standing().position); }
};

TEST_F(PollSince, ABacklogThatLiesWithinTheOverlapIsReadToItsEnd) {
  const auto ids = backlog(25);
  EXPECT_EQ(step().accepted, 25u);
  ASSERT_THAT(vendor_.asked, SizeIs(4)) << "three pages, and one to see that there is nothing later";
  EXPECT_EQ(asked_since(1), to_rfc3339({(kAt + 9) * 1000 - 1})) << "from the last change of the page before";
  EXPECT_EQ(position().since, (UtcMillis{(kAt + 24) * 1000}));
  EXPECT_EQ(standing().state, "works");
  EXPECT_EQ(standing().reason, "");
  wait(70);
  vendor_.asked.clear();
  vendor_.events.insert(vendor_.events.begin() + 15, {ids[0].value, "redeemed", kAt + 14});
  EXPECT_EQ(step().accepted, 1u) << "committed late, and not on the first page of the overlap";
  EXPECT_EQ(asked_since(0), to_rfc3339({(kAt + 24 - 100) * 1000}));
  EXPECT_EQ(standing().accepted, 26);
}

TEST_F(PollSince, ADaemonThatDiesWithinARunGoesOnWhereItWas) {
  backlog(25);
  vendor_.before_answer = [this] {
    if (vendor_.asked.size() == 3) throw std::runtime_error("killed");
  };
  EXPECT_THROW(step(), std::runtime_error);
  EXPECT_EQ(standing().accepted, 19);
  EXPECT_EQ(position().since, std::nullopt) << "the run has not come to its end";
  vendor_.before_answer = [] {};
  vendor_.asked.clear();
  store_->sources.break_leases("one");
  EXPECT_EQ(step().accepted, 6u);
  EXPECT_EQ(asked_since(0), to_rfc3339({(kAt + 18) * 1000 - 1}));
  EXPECT_EQ(standing().accepted, 25);
  EXPECT_EQ(position().since, (UtcMillis{(kAt + 24) * 1000}));
}

TEST_F(PollSince, ARunLongerThanARoundGoesOnAtOnce) {
  backlog(150);
  vendor_.page_size = 2;
  EXPECT_TRUE(step().more);
  const PollReport rest = step();
  EXPECT_FALSE(rest.more);
  EXPECT_EQ(standing().accepted, 150);
}

TEST_F(PollSince, WhereNothingHasHappenedItAsksOnce) {
  step();
  EXPECT_THAT(vendor_.asked, SizeIs(1));
  backlog(1);
  wait(70);
  step();
  vendor_.events.clear();
  vendor_.asked.clear();
  wait(70);
  step();
  EXPECT_THAT(vendor_.asked, SizeIs(1));
}

TEST_F(PollSince, AFeedThatCutsTimesToSecondsIsReadToItsEndAndNoFurther) {
  backlog(25);
  vendor_.since_unit_millis = 1000;
  EXPECT_EQ(step().accepted, 25u);
  std::set<std::string> urls;
  for (const WebRequest& request : vendor_.asked) urls.insert(request.url);
  EXPECT_EQ(urls.size(), vendor_.asked.size()) << "no address twice";
  EXPECT_EQ(standing().reason, "");
}

TEST_F(PollSince, APageOfOneTimeThatIsFullIsADoubtAndNoEnd) {
  for (const TransactionId id : store_.gifts(15)) vendor_.events.push_back({id.value, "opened", kAt});
  backlog(12, kAt + 2);
  EXPECT_EQ(step().accepted, 22u) << "what comes behind it is read";
  for (int rounds = 0; rounds < 3; ++rounds) {
    EXPECT_EQ(standing().state, "works");
    EXPECT_THAT(standing().reason, AllOf(HasSubstr("changes of one very time"),
                                         HasSubstr("larger pages, or set cursor or next")));
    wait(70);
    EXPECT_EQ(step().accepted, 0u);
  }
  settings_.url += "?limit=20";
  vendor_.page_size = 20;
  backlog(1, kAt + 20);
  wait(70);
  EXPECT_EQ(step().accepted, 6u);
  EXPECT_EQ(standing().reason, "");
}

TEST_F(PollSince, WhatComesBehindAPageOfOneTimeIsReadThoughThatPageNeverChanges) {
  for (const TransactionId id : store_.gifts(15)) vendor_.events.push_back({id.value, "opened", kAt});
  EXPECT_EQ(step().accepted, 10u);
  for (int rounds = 1; rounds < 5; ++rounds) {
    wait(70);
    backlog(1, kAt + 10 * rounds);
    EXPECT_EQ(step().accepted, 1u) << rounds;
  }
}

TEST_F(PollSince, OnceNothingCanComeLateAnyMoreItAsksForNewsAlone) {
  backlog(25);
  step();
  for (int rounds = 0; rounds < 2; ++rounds) {
    wait(70);
    vendor_.asked.clear();
    step();
    EXPECT_THAT(vendor_.asked, SizeIs(4)) << "all of the overlap again, which something may come late to";
  }
  wait(70);
  vendor_.asked.clear();
  step();
  ASSERT_THAT(vendor_.asked, SizeIs(1));
  EXPECT_EQ(asked_since(0), to_rfc3339({(kAt + 24) * 1000}));
  backlog(25, kAt + 200);
  wait(70);
  EXPECT_EQ(step().accepted, 25u);
  wait(70);
  vendor_.asked.clear();
  step();
  EXPECT_EQ(asked_since(0), to_rfc3339({(kAt + 224 - 100) * 1000})) << "there is an overlap again";
}

TEST_F(PollSince, TimesAheadOfOurClockAreSaid) {
  const std::int64_t now = now_.value / 1000;
  backlog(10, now - 60);
  step();
  for (const TransactionId id : store_.gifts(15)) vendor_.events.push_back({id.value, "opened", now + 1000});
  wait(70);
  step();
  EXPECT_THAT(standing().reason, HasSubstr("dated in the future"));
}

TEST_F(PollSince, AFeedThatPaysNoHeedToSinceIsADoubtAndNotAskedForEver) {
  vendor_.since_unit_millis = std::numeric_limits<std::int64_t>::max();
  backlog(25);
  EXPECT_EQ(step().accepted, 10u);
  EXPECT_THAT(vendor_.asked, SizeIs(2));
  EXPECT_EQ(standing().state, "works");
  EXPECT_THAT(standing().reason, HasSubstr("a page as full as any has nothing later"));
}

TEST_F(PollSince, AFeedThatBeginsWithTheNewestIsADoubtUntilAPageHoldsMore) {
  backlog(25);
  std::reverse(vendor_.events.begin(), vendor_.events.end());
  vendor_.before_answer = [this] {
    if (vendor_.asked.size() == 2) throw std::runtime_error("killed");
  };
  EXPECT_THROW(step(), std::runtime_error);
  vendor_.before_answer = [] {};
  store_->sources.break_leases("one");
  for (int rounds = 0; rounds < 4; ++rounds) {
    step();
    EXPECT_EQ(standing().accepted, 10);
    EXPECT_EQ(standing().state, "works");
    EXPECT_THAT(standing().reason, HasSubstr("a page as full as any begins with the newest")) << rounds;
    wait(70);
  }
  vendor_.page_size = 30;
  backlog(1, kAt + 30);
  std::rotate(vendor_.events.begin(), vendor_.events.end() - 1, vendor_.events.end());
  EXPECT_EQ(step().accepted, 16u);
  EXPECT_EQ(standing().reason, "") << "the pages before were not full, or are now larger";
}

TEST_F(PollSince, AFeedOfOnePageThatPaysNoHeedToSinceIsWarnedOfOnceAndReadWhenItChanges) {
  vendor_.since_unit_millis = std::numeric_limits<std::int64_t>::max();
  vendor_.page_size = 1000;
  CapturedLog log;
  const auto ids = backlog(12);
  step();
  const std::string doubt = standing().reason;
  EXPECT_THAT(doubt, HasSubstr("a page as full as any has nothing later"));
  for (std::int64_t rounds = 0; rounds < 10; ++rounds) {
    wait(70);
    const bool is_quiet = rounds % 2 == 0;
    if (!is_quiet) vendor_.events.push_back({ids[0].value, "redeemed", kAt + 1000 + rounds});
    EXPECT_EQ(step().accepted, is_quiet ? 0u : 1u);
    EXPECT_EQ(standing().reason, doubt) << rounds;
  }
  wait(70);
  step();
  wait(70);
  vendor_.asked.clear();
  EXPECT_EQ(step().pages, 0u) << "all of it answered with 304";
  EXPECT_THAT(vendor_.asked, SizeIs(2));
  EXPECT_EQ(standing().reason, doubt);
  std::vector<std::string> told = log.take();
  std::erase_if(told, [](const std::string& line) { return line.find("works") == std::string::npos; });
  EXPECT_THAT(told, ElementsAre(StartsWith("warning source feed: works, but a page as full as any")));
}

TEST_F(PollSince, AFeedInWhichSomethingHappensAllTheTimeIsLeftAloneForItsInterval) {
  const auto ids = backlog(15, kStart.value / 1000 - 15);
  vendor_.before_answer = [&] {
    wait(1);
    vendor_.events.push_back(
        {ids[0].value, vendor_.asked.size() % 2 == 0 ? "redeemed" : "opened", now_.value / 1000});
  };
  EXPECT_EQ(step().accepted, 17u);
  EXPECT_THAT(vendor_.asked, SizeIs(2)) << "the second page is not full";
  EXPECT_FALSE(step().claimed);
  wait(70);
  vendor_.asked.clear();
  EXPECT_GT(step().accepted, 0u);
  EXPECT_LE(vendor_.asked.size(), 4u);
}

TEST_F(PollSince, AFeedThatPaysNoHeedToSinceAndGrowsWithEachAnswerIsLeftAloneForItsInterval) {
  for (const std::int64_t lag_seconds : {3600, 30, 0}) {
    vendor_.events.clear();
    vendor_.since_unit_millis = std::numeric_limits<std::int64_t>::max();
    vendor_.page_size = 1000;
    const auto ids = backlog(30, now_.value / 1000 - lag_seconds - 30);
    vendor_.before_answer = [&] {
      wait(1);
      vendor_.events.push_back({ids[0].value, "redeemed", now_.value / 1000 - lag_seconds});
    };
    for (int rounds = 0; rounds < 3; ++rounds) {
      vendor_.asked.clear();
      const PollReport report = step();
      EXPECT_GT(report.accepted, 0u) << lag_seconds;
      EXPECT_FALSE(report.more) << lag_seconds;
      EXPECT_LE(vendor_.asked.size(), 2u) << lag_seconds;
      EXPECT_EQ(standing().due_at.value - now_.value, 60'000) << lag_seconds;
      EXPECT_FALSE(step().claimed);
      wait(70);
    }
  }
}

TEST_F(PollSince, AWindowOfTheLastChangesIsAskedTwiceAtMost) {
  vendor_.since_unit_millis = std::numeric_limits<std::int64_t>::max();
  vendor_.page_size = 20;
  const auto ids = backlog(20, kStart.value / 1000 - 20);
  std::reverse(vendor_.events.begin(), vendor_.events.end());
  vendor_.before_answer = [&] {
    wait(1);
    vendor_.events.insert(vendor_.events.begin(), {ids[0].value, "redeemed", now_.value / 1000});
  };
  for (int rounds = 0; rounds < 3; ++rounds) {
    vendor_.asked.clear();
    EXPECT_FALSE(step().more);
    EXPECT_LE(vendor_.asked.size(), 2u);
    EXPECT_EQ(standing().due_at.value - now_.value, 60'000);
    wait(70);
  }
}

TEST_F(PollSince, TimesThatAreMadeForEachAnswerAreAskedForTwiceAtMost) {
  backlog(15);
  vendor_.page_size = 20;
  vendor_.before_answer = [this] {
    wait(1);
    for (Vendor::Event& one : vendor_.events) one.at_seconds = now_.value / 1000;
  };
  for (int rounds = 0; rounds < 3; ++rounds) {
    vendor_.asked.clear();
    const PollReport report = step();
    EXPECT_FALSE(report.more);
    EXPECT_LE(vendor_.asked.size(), 2u);
    EXPECT_LE(report.accepted, 30u);
    EXPECT_EQ(standing().due_at.value - now_.value, 60'000);
    wait(70);
  }
}

TEST_F(PollSince, AFeedThatIsFarBehindAndAlwaysGrowsIsLeftAloneForItsInterval) {
  const auto ids = backlog(15, kStart.value / 1000 - 3600 - 15);
  vendor_.before_answer = [&] {
    wait(1);
    vendor_.events.push_back({ids[0].value, "redeemed", now_.value / 1000 - 3600});
  };
  for (int rounds = 0; rounds < 3; ++rounds) {
    vendor_.asked.clear();
    EXPECT_GT(step().accepted, 0u);
    EXPECT_LE(vendor_.asked.size(), 5u) << "the overlap, what is new, and a page that brings little";
    EXPECT_EQ(standing().due_at.value - now_.value, 60'000);
    wait(70);
  }
}

TEST_F(PollSince, ARunThatComesNoNearerToThePresentGoesOnAfterTheInterval) {
  const auto ids = backlog(1, kStart.value / 1000 - 3600);
  vendor_.before_answer = [&] {
    wait(10);
    for (std::int64_t second = 9; second >= 0; --second)
      vendor_.events.push_back({ids[0].value, "redeemed", now_.value / 1000 - 3600 - second});
  };
  const PollReport report = step();
  EXPECT_EQ(report.pages, 100u);
  EXPECT_FALSE(report.more);
  EXPECT_EQ(standing().due_at.value - now_.value, 60'000);
  EXPECT_EQ(standing().state, "works");
  EXPECT_THAT(standing().reason, HasSubstr("as fast as they are read"));
  const auto from = position().from;
  ASSERT_TRUE(from.has_value());
  vendor_.before_answer = [] {};
  vendor_.asked.clear();
  wait(70);
  EXPECT_GT(step().accepted, 0u);
  EXPECT_EQ(asked_since(0), to_rfc3339(*from - 1)) << "nothing is left out";
  EXPECT_EQ(position().since, (UtcMillis{vendor_.events.back().at_seconds * 1000}));
  EXPECT_EQ(standing().accepted, static_cast<std::int64_t>(vendor_.events.size()));
  EXPECT_EQ(standing().reason, "");
}

TEST_F(PollSince, ABurstCloseToThePresentAndALongBacklogAreReadInOneRun) {
  settings_.overlap_seconds = 300;
  vendor_.page_size = 50;
  vendor_.before_answer = [this] { now_ = now_ + 200; };
  const auto ids = store_.gifts(100);
  // Two a second, up to the present.
  const auto burst = [&](std::size_t count) {
    const std::int64_t first_seconds = now_.value / 1000 - static_cast<std::int64_t>(count / 2) - 1;
    for (std::size_t i = 0; i < count; ++i)
      vendor_.events.push_back(
          {ids[i % ids.size()].value, "opened", first_seconds + static_cast<std::int64_t>(i / 2)});
  };
  burst(250);
  EXPECT_EQ(step().accepted, 250u);
  EXPECT_EQ(position().since, (UtcMillis{vendor_.events.back().at_seconds * 1000}));
  wait(86'400);
  burst(6'000);
  EXPECT_TRUE(step().more);
  EXPECT_FALSE(step().more);
  EXPECT_EQ(standing().accepted, 6'250);
  EXPECT_EQ(position().since, (UtcMillis{vendor_.events.back().at_seconds * 1000}));
  EXPECT_EQ(standing().reason, "");
}

TEST_F(PollSince, WhatIsCommittedLateWhileALongRunGoesOnIsFoundByTheNext) {
  const std::int64_t start_seconds = kStart.value / 1000;
  const auto ids = backlog(15, start_seconds - 15);
  vendor_.before_answer = [&] {
    if (vendor_.asked.size() != 2) return;
    // Of a time that the first page has passed, and more than the overlap before the run's last change.
    vendor_.events.insert(vendor_.events.begin() + 5, {ids[0].value, "redeemed", start_seconds - 10});
    wait(95);
    vendor_.events.push_back({ids[1].value, "redeemed", now_.value / 1000});
  };
  EXPECT_EQ(step().accepted, 16u);
  EXPECT_EQ(history_of(ids[0]), 1u);
  EXPECT_EQ(position().since, kStart) << "when the run came close to the present";
  vendor_.before_answer = [] {};
  wait(70);
  EXPECT_EQ(step().accepted, 1u);
  EXPECT_EQ(history_of(ids[0]), 2u);
}

TEST_F(PollSince, AnUnchangedFirstPageIsNotTheEnd) {
  backlog(10);
  step();
  for (int rounds = 0; rounds < 2; ++rounds) {
    wait(70);
    step();
  }
  vendor_.asked.clear();
  backlog(1, kAt + 10);
  wait(70);
  const PollReport report = step();
  EXPECT_EQ(report.accepted, 1u) << "behind a full page that was answered with 304";
  EXPECT_EQ(position().since, (UtcMillis{(kAt + 10) * 1000}));
}

}  // namespace
}  // namespace giftsync::daemon
