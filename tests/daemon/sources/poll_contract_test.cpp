// The decisions of a poll by time as tables, and a simulated feed: whatever its times and page cuts, a feed
// that keeps the contract loses no event, and one that breaks it fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "daemon/sources/poll_cursor.h"
#include "tests/support/json.h"

namespace giftsync::sources {
namespace {

using ::testing::HasSubstr;
using Time = std::optional<UtcMillis>;

constexpr UtcMillis kNow{1'800'000'000'000};

Time at(std::int64_t millis) {
  return kNow + millis;
}

struct DecisionCase {
  const char* description;
  TimeRequest request;
  TimePage page;
  TimePageDecision decision;
};

// SRC-46, SRC-48, SRC-50
TEST(PollContract, DecidesByWhatWasRequestedAndWhatCame) {
  constexpr std::int64_t kPageSize = 10;
  using enum ContractFault;
  const std::vector<DecisionCase> cases{
      {"an empty feed", {}, {0, {}, {}, 0, true}, {none, {}}},
      {"an empty page although events are known", {at(-50), at(-9)}, {0, {}, {}, 0, true}, {none, {}}},
      {"the first page, full", {}, {10, at(-9), at(-9), 0, true}, {none, at(-9)}},
      {"a full page within the overlap", {at(-50), at(-9)}, {10, at(-20), at(-20), 0, true}, {none, at(-20)}},
      {"a page that is not full ends the run", {at(-9), at(-9)}, {9, at(-1), at(-1), 0, true}, {none, {}}},
      {"it may be in any order", {at(-9), at(-9)}, {9, at(-1), at(-1), 0, false}, {none, {}}},
      {"it may end at the newest known", {at(-9), at(-9)}, {1, at(-9), at(-9), 0, true}, {none, {}}},
      {"it may hold nothing with a time", {at(-9), at(-9)}, {2, {}, {}, 0, true}, {none, {}}},
      {"it may be ahead only", {at(-9), at(-9)}, {2, {}, at(5), 2, true}, {none, {}}},
      {"it ends before the newest known",
       {at(-50), at(-9)},
       {9, at(-10), at(-10), 0, true},
       {ends_early, {}}},
      {"one item too many", {}, {11, at(-9), at(-9), 0, true}, {more_than_page_size, {}}},
      {"full and not ascending", {}, {10, at(-9), at(-9), 0, false}, {not_ascending, {}}},
      {"full and not later", {at(-9), at(-9)}, {10, at(-9), at(-9), 0, true}, {no_progress, {}}},
      {"full and earlier", {at(-9), at(-9)}, {10, at(-10), at(-10), 0, true}, {no_progress, {}}},
      {"full without a time", {}, {10, {}, {}, 0, true}, {no_progress, {}}},
      {"full and ahead", {at(-9), at(-9)}, {10, at(-9), at(5), 9, true}, {no_progress, {}}},
      {"full, partly ahead", {at(-9), at(-9)}, {10, at(-5), at(5), 5, true}, {none, at(-5)}},
  };
  for (const DecisionCase& one : cases) {
    const TimePageDecision decision = decide_time_page(one.request, one.page, kPageSize);
    EXPECT_EQ(decision, one.decision) << one.description;
    const std::string sentence = describe_fault(decision.fault, one.page, kPageSize);
    EXPECT_EQ(sentence.empty(), decision.fault == none) << one.description;
    if (!sentence.empty()) {
      EXPECT_THAT(sentence, HasSubstr("and reload")) << one.description;
    }
  }
}

sync::InboundEvent event_at(const std::string& time) {
  sync::InboundEvent event;
  event.set(sync::EventField::occurred_at, time);
  return event;
}

// SRC-45, SRC-46
TEST(PollContract, CountsEachItemAndReadsTheTimesThatAreUsable) {
  const auto page_of = [](const std::vector<std::int64_t>& offsets,
                          const std::vector<std::string>& more = {}) {
    std::vector<sync::InboundEvent> events;
    for (const std::int64_t offset : offsets) events.push_back(event_at(std::to_string(kNow.value + offset)));
    for (const std::string& text : more) events.push_back(event_at(text));
    FeedOrder order;
    return time_page_of(events, kNow, order);
  };
  EXPECT_EQ(page_of({}), (TimePage{0, {}, {}, 0, true}));
  EXPECT_EQ(page_of({-3, -3, 0}), (TimePage{3, at(0), at(0), 0, true}));
  EXPECT_EQ(page_of({-3, 1, 2}), (TimePage{3, at(-3), at(2), 2, true}));
  EXPECT_EQ(page_of({-3, -4, -2}), (TimePage{3, at(-2), at(-2), 0, false}));
  EXPECT_EQ(page_of({5, -4}), (TimePage{2, at(-4), at(5), 1, false}));
  EXPECT_EQ(page_of({-3}, {"", "soon", "0", "1"}), (TimePage{5, at(-3), at(-3), 0, true}));
}

struct OrderCase {
  const char* description;
  std::vector<std::vector<std::int64_t>> pages;  ///< times, in milliseconds from now
  bool is_ascending;
  bool is_descending;
};

// SRC-64
TEST(PollContract, TheOrderOfAFeedIsWhatPredominates) {
  const std::vector<std::vector<std::int64_t>> alternating(50, {-9, -8});
  const std::vector<OrderCase> cases{
      {"no event", {}, false, false},
      {"one event", {{-9}}, false, false},
      {"three events are no proof", {{-9, -8, -7}}, false, false},
      {"four in pages of one", {{-9}, {-8}, {-7}, {-6}}, true, false},
      {"four on one page", {{-6, -7, -8, -9}}, false, true},
      {"equal times", {{-9, -9, -9}, {-9, -9, -9}}, false, false},
      {"two times by turns", alternating, false, false},
      {"a late event", {{-9, -8}, {-7, -8}, {-6, -5}}, true, false},
      {"an older event at the end", {{-8, -7, -6}, {-5, -4, -3}, {-9}}, true, false},
      {"no order", {{-5, -9, -3, -7}, {-1, -8, -2, -6}}, false, false},
      {"newest first, one changed later", {{-2, -3, -1}, {-4, -5, -6}, {-7, -8}}, false, true},
      {"events ahead of our clock do not count", {{-9, 5, -8}, {-7, -6}}, true, false},
  };
  for (const OrderCase& one : cases) {
    FeedOrder order;
    for (const std::vector<std::int64_t>& page : one.pages) {
      std::vector<sync::InboundEvent> events;
      for (const std::int64_t offset : page) events.push_back(event_at(std::to_string(kNow.value + offset)));
      time_page_of(events, kNow, order);
    }
    EXPECT_EQ(order.pages, static_cast<std::int64_t>(one.pages.size())) << one.description;
    EXPECT_EQ(is_ascending(order), one.is_ascending) << one.description;
    EXPECT_EQ(is_descending(order), one.is_descending) << one.description;
  }
}

// SRC-64
TEST(PollContract, AListMustBeLongToBeReadFromItsEnd) {
  const FeedOrder few{kFewPages, 99, 0, {}, {}};
  const FeedOrder many{kFewPages + 1, 99, 0, {}, {}};
  const FeedOrder many_without_order{kFewPages + 1, 9, 9, {}, {}};
  EXPECT_TRUE(grows_at_end(few, true));
  EXPECT_FALSE(grows_at_end(few, false));
  EXPECT_TRUE(grows_at_end(many, false));
  for (const bool is_last_page_empty : {true, false})
    EXPECT_FALSE(grows_at_end(many_without_order, is_last_page_empty));
}

/// A feed whose events appear up to kMaxLateMillis after their time.
struct SimulatedFeed {
  struct Event {
    std::int64_t id;
    std::int64_t at;
    std::int64_t visible_at;
  };
  std::vector<Event> events;  // ascending by time
  std::size_t page_size = 2;
  bool is_exclusive = false;  ///< `since` means "after"
  bool is_newest_first = false;

  HttpGetResponse respond(const std::string& url, std::int64_t now, const std::string& etag) const {
    const std::size_t parameter = url.find("since=");
    std::int64_t since = 0;
    if (parameter != std::string::npos) {
      std::string text = url.substr(parameter + 6);
      for (std::size_t i = text.find("%3A"); i != std::string::npos; i = text.find("%3A"))
        text.replace(i, 3, ":");
      since = from_rfc3339(text)->value;
    }
    nlohmann::json items = nlohmann::json::array();
    const auto add = [&](const Event& one) {
      const bool matches = is_exclusive ? one.at > since : one.at >= since;
      if (matches && one.visible_at <= now && items.size() < page_size)
        items.push_back({{"id", one.id}, {"at", one.at}});
    };
    if (is_newest_first) {
      std::for_each(events.rbegin(), events.rend(), add);
    } else {
      std::for_each(events.begin(), events.end(), add);
    }
    HttpGetResponse response;
    response.status = 200;
    response.body = items.dump();
    response.etag = std::to_string(std::hash<std::string>()(response.body));
    if (response.etag == etag) response.status = 304;
    return response;
  }
};

constexpr std::int64_t kOverlapSeconds = 10;
constexpr std::int64_t kMaxSkewMillis = 2'000;
constexpr std::int64_t kMaxLateMillis = kOverlapSeconds * 1000 - kMaxSkewMillis;
constexpr std::int64_t kIntervalMillis = 5'000;

class Simulation {
 public:
  explicit Simulation(unsigned seed) : random_(seed) {
    config::SourceSettings settings;
    settings.name = "feed";
    settings.kind = config::SourceKind::poll;
    settings.url = "https://api.example.com/events";
    settings.fields.transaction_id = "/id";
    settings.fields.status = "/what";
    settings.fields.occurred_at = "/at";
    settings.since = "since";
    settings.overlap_seconds = kOverlapSeconds;
    settings.page_size = between(3, 8);
    feed_.page_size = static_cast<std::size_t>(settings.page_size);
    feed_.is_exclusive = between(0, 1) == 1;
    skew_ = between(-kMaxSkewMillis, kMaxSkewMillis);
    source_ = compile_source(settings, "inst");
  }

  /// Random times, late and future ones, and equal ones, fewer of one time than a page holds.
  void generate(std::size_t count, bool has_equal_times) {
    std::int64_t time = now_;
    std::int64_t equal = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_equal = has_equal_times && equal + 2 < source_.settings.page_size && between(0, 2) == 0;
      equal = is_equal ? equal + 1 : 0;
      if (!is_equal) time += between(2, between(0, 5) == 0 ? 20'000 : 700);
      std::int64_t visible_at = time + (between(0, 3) == 0 ? between(0, kMaxLateMillis) : 0);
      if (between(0, 9) == 0) visible_at = time - between(0, 30'000);
      feed_.events.push_back({static_cast<std::int64_t>(i), time, visible_at});
    }
  }

  /// One interval of polling. Pages are lost as by a kill, and settings are edited.
  void poll() {
    now_ += kIntervalMillis;
    for (int pages = 0; pages < 100; ++pages) {
      if (between(0, 50) == 0) apply_config_fingerprint(cursor_, std::to_string(between(0, 1'000'000)));
      const std::string url = page_url(source_, cursor_);
      const CachedPage* const cached = find_cached_page(cursor_, url);
      const UtcMillis requested_at{now_ + skew_};
      const auto response = feed_.respond(url, now_, cached ? cached->etag : "");
      now_ += between(0, 300);
      const PageTimestamps times{requested_at, {now_ + skew_}};
      if (between(0, 15) == 0) return;
      const auto page = response.status == 304 ? unchanged_page(source_, cursor_, url, times)
                                               : read_page(source_, cursor_, url, response, times).value();
      for (const sync::InboundEvent& event : page.events)
        seen_.insert(event[sync::EventField::transaction_id]);
      cursor_ = parse_poll_cursor(serialize(page.after));
      fault_ = page.fault;
      if (!fault_.empty() || !page.has_more) return;
    }
  }

  /// Polls until all events have appeared, and long enough after that for every late one.
  void poll_to_the_end() {
    const auto last = std::max_element(feed_.events.begin(), feed_.events.end(),
                                       [](const auto& a, const auto& b) { return a.at < b.at; });
    const std::int64_t end = last->at + 4 * (kOverlapSeconds * 1000 + kMaxSkewMillis);
    while (now_ < end) poll();
    for (int intervals = 0; intervals < 20 || pending_run(); ++intervals) {
      const std::size_t seen_before = seen_.size();
      poll();
      if (seen_.size() > seen_before) intervals = 0;
    }
  }

  std::size_t seen() const { return seen_.size(); }
  std::size_t expected() const { return feed_.events.size(); }
  const std::string& fault() const { return fault_; }
  SimulatedFeed& feed() { return feed_; }
  void set_page_size_of_feed(std::int64_t items) { feed_.page_size = static_cast<std::size_t>(items); }
  std::int64_t page_size() const { return source_.settings.page_size; }
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return std::uniform_int_distribution<std::int64_t>(first, last)(random_);
  }

 private:
  bool pending_run() const { return fault_.empty() && cursor_.from.has_value(); }

  std::mt19937 random_;
  CompiledSource source_;
  SimulatedFeed feed_;
  PollCursor cursor_;
  std::int64_t now_ = kNow.value;
  std::int64_t skew_ = 0;
  std::set<std::string> seen_;
  std::string fault_;
};

// SRC-45, SRC-46, SRC-49
TEST(PollContract, AFeedThatKeepsTheContractLosesNoEvent) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Simulation simulation(seed);
    simulation.generate(120, true);
    simulation.poll_to_the_end();
    ASSERT_EQ(simulation.fault(), "") << "seed " << seed;
    ASSERT_EQ(simulation.seen(), simulation.expected()) << "seed " << seed;
  }
}

// SRC-50
TEST(PollContract, AFeedThatBreaksTheContractFailsOrLosesNoEvent) {
  std::size_t failing = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    Simulation simulation(seed);
    simulation.generate(60, false);
    if (seed % 3 == 0) simulation.feed().is_newest_first = true;
    if (seed % 3 == 1) simulation.set_page_size_of_feed(simulation.page_size() + simulation.between(1, 5));
    if (seed % 3 == 2) simulation.set_page_size_of_feed(simulation.between(2, simulation.page_size() - 1));
    simulation.poll_to_the_end();
    if (!simulation.fault().empty()) ++failing;
    ASSERT_TRUE(simulation.seen() == simulation.expected() || !simulation.fault().empty()) << "seed " << seed;
  }
  EXPECT_GT(failing, 50u);
}

}  // namespace
}  // namespace giftsync::sources
