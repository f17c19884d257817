// How a poll gets from page to page and from run to run: whatever the shape of the feed, its new events
// arrive; what cannot be followed is reported, and never costs the events of its page.
#include <algorithm>
#include <string_view>

#include "tests/daemon/sources/poll_fixture.h"
#include "tests/support/json.h"

namespace giftsync::sources {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr std::string_view kMissing = "(missing)";
constexpr std::string_view kSame = "(the requested one)";

/// A feed of events that were reported one after the other.
struct Shape {
  const char* description;
  bool is_newest_first = false;
  bool has_cursor_on_last_page = false;  ///< a log, whose end is an empty page
  std::string_view at_end = "null";      ///< at the cursor, on the page that ends the feed
  std::int64_t seconds_apart = 60;
  bool is_by_next = false;
};

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all{
      {"newest first, null at the end", true},
      {"newest first, no member at the end", true, false, kMissing},
      {"newest first, an empty text at the end", true, false, R"("")"},
      {"newest first, false at the end", true, false, "false"},
      {"newest first, the same cursor at the end", true, false, kSame},
      {"newest first, a cursor on each page, null on an empty one", true, true},
      {"newest first, a cursor on each page, the same on an empty one", true, true, kSame},
      {"newest first, equal times, null at the end", true, false, "null", 0},
      {"newest first, equal times, a cursor on each page", true, true, kSame, 0},
      {"ascending, null at the end", false},
      {"ascending, no member at the end", false, false, kMissing},
      {"ascending, the same cursor at the end", false, false, kSame},
      {"ascending, equal times, null at the end", false, false, "null", 0},
      {"a log", false, true, kSame},
      {"a log whose empty page has no cursor", false, true},
      {"a log with equal times", false, true, kSame, 0},
      {"newest first, by next", true, false, "null", 60, true},
      {"newest first, by next, false at the end", true, false, "false", 60, true},
      {"ascending, by next", false, false, kMissing, 60, true},
  };
  return all;
}

class PollContinuation : public PollFixture {
 protected:
  /// The page for the requested URL.
  HttpGetResponse page_of(const Shape& shape, const std::string& url) const {
    const std::string requested = FakeFeed::parameter(url, "after");
    nlohmann::json data = nlohmann::json::array();
    const auto count = static_cast<std::int64_t>(reported_.size());
    std::int64_t at = requested.empty() ? (shape.is_newest_first ? count : -1) : std::stoll(requested);
    const std::int64_t direction = shape.is_newest_first ? -1 : 1;
    const auto is_event = [&](std::int64_t number) { return number >= 0 && number < count; };
    for (; data.size() < 3 && is_event(at + direction); at += direction) {
      const std::int64_t next = at + direction;
      data.push_back({{"id", reported_[static_cast<std::size_t>(next)].value},
                      {"what", "opened"},
                      {"at", kAt + next * shape.seconds_apart}});
    }
    nlohmann::json document = nlohmann::json::object({{"data", data}});
    const bool has_cursor = shape.has_cursor_on_last_page ? !data.empty() : is_event(at + direction);
    const std::string cursor = shape.is_by_next ? "/events?after=" + std::to_string(at) : std::to_string(at);
    const char* const member = shape.is_by_next ? "next" : "cursor";
    if (has_cursor)
      document[member] = cursor;
    else if (shape.at_end == kSame)
      document[member] = requested;
    else if (shape.at_end != kMissing)
      document[member] = tests::parse_json(shape.at_end);
    return json_page(document.dump());
  }
  void serve(const Shape& shape) {
    if (shape.is_by_next) {
      settings_.cursor_pointer = settings_.cursor_parameter = "";
      settings_.next = "/next";
    }
    feed_.before_response = [this, &shape] {
      feed_.queued_responses = {page_of(shape, feed_.requests.back().url)};
    };
  }
  std::vector<std::string> requested_urls() const {
    std::vector<std::string> urls;
    for (const HttpGetRequest& request : feed_.requests) urls.push_back(request.url);
    return urls;
  }
  void use_next(const std::string& next) {
    settings_.cursor_pointer = settings_.cursor_parameter = "";
    settings_.next = next;
  }
  /// A page of one new event with the members `more`.
  HttpGetResponse event_page(const std::string& more) {
    const std::string id = std::to_string(store_.create_gifts(1)[0].value);
    return json_page(R"({"data":[{"id":)" + id + R"(,"what":"opened","at":)" + std::to_string(kAt) + "}]" +
                     (more.empty() ? "" : ",") + more + "}");
  }
  void step_at_next_attempt() {
    now_ = source_row().next_attempt_at;
    step();
  }
  PollCursor cursor_state() { return parse_poll_cursor(source_row().cursor_state); }

  std::vector<TransactionId> reported_;
};

class PollShapes : public PollContinuation, public ::testing::WithParamInterface<Shape> {};

// SRC-64
TEST_P(PollShapes, EachNewEventArrivesInItsRound) {
  serve(GetParam());
  step();
  wait(70);
  const auto ids = store_.create_gifts(57);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    reported_.push_back(ids[i]);
    if (i < 6) continue;  // seven at first
    step();
    ASSERT_EQ(source_row().accepted, static_cast<std::int64_t>(reported_.size()));
    ASSERT_EQ(source_row().state, "ok");
    wait(70);
  }
}
INSTANTIATE_TEST_SUITE_P(All, PollShapes, ::testing::ValuesIn(shapes()),
                         [](const auto& one) { return std::to_string(one.index); });

// SRC-64
TEST_F(PollContinuation, AFeedThatGrowsAtItsEndIsReadFromThereOnly) {
  for (const bool is_log : {true, false}) {
    const Shape shape{"ascending", false, is_log, "null"};
    settings_.name = is_log ? "log" : "list";
    health_monitor_.register_source(settings_.name, "", now_);
    reported_ = store_.create_gifts(40);
    serve(shape);
    step();
    wait(70);
    feed_.requests.clear();
    step();
    EXPECT_THAT(requested_urls(), AllOf(SizeIs(1), Each(HasSubstr("after=")))) << is_log;
    wait(70);
  }
}

// SRC-64
TEST_F(PollContinuation, AShortListIsReadFromItsBeginningAlthoughItsTimesAscend) {
  const Shape shape{"sorted by another time", true, false, "null", -60};
  reported_ = store_.create_gifts(6);
  serve(shape);
  step();
  reported_.push_back(store_.create_gifts(1)[0]);
  wait(70);
  EXPECT_EQ(step().accepted, 1u);
}

// SRC-64
TEST_F(PollContinuation, ALongFeedWithoutOrderSaysThatItIsReadAgainAndAgain) {
  const Shape shape{"equal times", false, true, kSame, 0};
  reported_ = store_.create_gifts(33);
  serve(shape);
  step();
  EXPECT_EQ(source_row().state, "ok");
  EXPECT_THAT(source_row().reason, StartsWith("the times on its 11 pages show no order"));
  const Shape newest_first{"newest first", true};
  ASSERT_TRUE(store_->sources.reset_cursor("feed"));
  wait(70);
  serve(newest_first);
  step();
  EXPECT_EQ(source_row().reason, "");
}

TEST_F(PollContinuation, AnEmptyPageWithANewCursorIsNotTheEnd) {
  const std::string end = R"("cursor":null)";
  feed_.queued_responses = {event_page(R"("cursor":"1")"), json_page(R"({"data":[],"cursor":"2"})")};
  EXPECT_EQ(step().accepted, 1u);
  wait(70);
  feed_.requests.clear();
  feed_.queued_responses = {event_page(end)};
  EXPECT_EQ(step().accepted, 1u);
  EXPECT_THAT(requested_urls(), ElementsAre(settings_.url + "?after=2"));
}

// SRC-43
TEST_F(PollContinuation, ACycleOfCursorsBeginsAgainAtTheUrl) {
  const auto ids = store_.create_gifts(2);
  feed_.before_response = [&] {
    const bool is_b = FakeFeed::parameter(feed_.requests.back().url, "after") == "b";
    feed_.queued_responses = {single_event_page(ids[is_b ? 1 : 0], "cursor", is_b ? "a" : "b")};
  };
  step();
  EXPECT_THAT(source_row().reason, HasSubstr("its pages form a cycle"));
  feed_.requests.clear();
  step_at_next_attempt();
  EXPECT_EQ(feed_.requests.front().url, settings_.url);
}

// SRC-39
TEST_F(PollContinuation, FalseNullNothingAndAnEmptyTextEndTheFeed) {
  for (const char* setting : {"cursor", "next"}) {
    if (setting == std::string("next")) use_next("/next");
    for (const char* value : {"false", "null", R"("")", ""}) {
      wait(4'000);
      const std::string member = "\"" + std::string(setting) + "\":" + value;
      feed_.queued_responses = {event_page(*value == 0 ? "" : member)};
      EXPECT_EQ(step().accepted, 1u) << member;
      EXPECT_EQ(source_row().state, "ok") << member;
    }
  }
  wait(4'000);
  feed_.queued_responses = {event_page(R"("next":0)")};
  step();
  EXPECT_EQ(source_row().state, "ok");
}

// SRC-39, SRC-51
TEST_F(PollContinuation, WhatCannotBeFollowedIsReportedAfterTheEventsAreStored) {
  use_next("/next");
  struct Case {
    const char* value;
    const char* reason;
  };
  for (const auto& [value, reason] : std::vector<Case>{
           {"true", "next (/next) finds true; allowed: a URL, and null, false or nothing on the last page"},
           {"[]", "next (/next) finds a list"},
           {"{}", "next (/next) finds an object"},
           {"7", "next (/next) finds a whole number"},
           {R"("https://b.example/2")", "its link to the next page leads to another host"},
           {R"("//b.example/2")", "its link to the next page leads to another host"},
           {R"("https://api.example.com:8443/2")", "its link to the next page leads to another port (8443)"},
           {R"("http://api.example.com:8080/2")", "its link to the next page leads to another scheme (http)"},
           {R"("https://u:p@api.example.com/2")", "its link to the next page leads to a URL with a user"},
           {R"("https://api.example.com:99999/2")", "its link to the next page is not a URL"},
           {R"("/events")", "its link to the next page leads to the same page"},
       }) {
    wait(40'000);
    const std::string member = R"("next":)" + std::string(value);
    feed_.requests.clear();
    feed_.queued_responses = {event_page(member)};
    EXPECT_EQ(step().accepted, 1u) << member;
    EXPECT_THAT(feed_.requests, SizeIs(1)) << member;
    EXPECT_EQ(source_row().state, "invalid") << member;
    EXPECT_THAT(source_row().reason, StartsWith(reason)) << member;
  }
}

TEST_F(PollContinuation, AfterALinkThatCannotBeFollowedTheFirstPageIsReadAgain) {
  use_next("/next");
  feed_.queued_responses = {event_page(R"("next":"?page=2")"), event_page(R"("next":"https://b.example/")")};
  EXPECT_EQ(step().accepted, 2u);
  EXPECT_EQ(source_row().state, "invalid");
  feed_.queued_responses = {event_page(R"("next":"?page=2")"), event_page(R"("next":"https://b.example/")")};
  feed_.requests.clear();
  step_at_next_attempt();
  EXPECT_EQ(feed_.requests.front().url, settings_.url);
  EXPECT_EQ(source_row().accepted, 4) << "new events on the first page are not lost";
}

TEST_F(PollContinuation, LinksOfTheSameOriginAreFollowedAndHttpBecomesHttps) {
  use_next("/next");
  struct Case {
    const char* link;
    const char* requested;
  };
  for (const auto& [link, requested] : std::vector<Case>{
           {"?page=2", "https://api.example.com/events?page=2"},
           {"/v1/events?page=2", "https://api.example.com/v1/events?page=2"},
           {"//api.example.com/e?page=2", "https://api.example.com/e?page=2"},
           {"http://api.example.com/events?page=2", "https://api.example.com/events?page=2"},
           {"http://api.example.com:80/events?page=2", "https://api.example.com/events?page=2"},
           {"http://api.example.com:443/events?page=2", "https://api.example.com/events?page=2"},
       }) {
    wait(70);
    feed_.requests.clear();
    feed_.queued_responses = {event_page(R"("next":")" + std::string(link) + "\""), event_page("")};
    EXPECT_EQ(step().accepted, 2u) << link;
    EXPECT_EQ(feed_.requests.back().url, requested) << link;
    EXPECT_EQ(source_row().state, "ok") << source_row().reason;
  }
  settings_.url = "https://api.example.com:8443/events";
  HttpGetResponse redirect = http_status(301);
  redirect.location = "http://api.example.com/events/";
  wait(70);
  feed_.queued_responses = {redirect, event_page("")};
  EXPECT_EQ(step().accepted, 1u);
  EXPECT_EQ(feed_.requests.back().url, "https://api.example.com:8443/events/");
}

// SRC-40
TEST_F(PollContinuation, AContinuationThatWasNeverFoundIsAWarning) {
  settings_.url = "https://api.example.com/events?v=1";
  for (const std::string next : {"/pagination/next", "link"}) {
    use_next(next);
    wait(70);
    feed_.queued_responses = {event_page("")};
    step();
    EXPECT_EQ(source_row().state, "ok");
    EXPECT_EQ(source_row().reason,
              "no link was found so far at next (" + next +
                  "), so only the first page is read; that is right for a feed that fits "
                  "one page");
  }
  wait(70);
  HttpGetResponse first = event_page("");
  first.link = R"(<https://api.example.com/?p=1,2;3>; title="rel=next"; Rel="prev NEXT", </x>; rel=last)";
  feed_.queued_responses = {first, event_page("")};
  EXPECT_EQ(step().accepted, 2u);
  EXPECT_EQ(source_row().reason, "");
  wait(70);
  feed_.queued_responses = {event_page("")};
  step();
  EXPECT_EQ(source_row().reason, "") << "it was found once";
  use_next("/nxt");
  wait(70);
  feed_.queued_responses = {event_page("")};
  step();
  EXPECT_THAT(source_row().reason, HasSubstr("at next (/nxt)")) << "the edited one was not";
}

// SRC-40
TEST_F(PollContinuation, APageThatNamesANextOneElsewhereIsInvalidUntilTheSettingIsCorrected) {
  const auto page_two = [this] { return event_page(R"("paging":{"next":null})"); };
  use_next("/pagination/next");
  for (int times = 0; times < 2; ++times) {
    feed_.queued_responses = {event_page(R"("paging":{"next":"?page=2"})")};
    wait(4'000);
    EXPECT_EQ(step().accepted, 1u);
    EXPECT_EQ(source_row().state, "invalid");
    EXPECT_EQ(
        source_row().reason,
        "next (/pagination/next) finds nothing, but the page names a next one at /paging/next; correct the "
        "setting and reload");
  }
  use_next("/paging/next");
  feed_.queued_responses = {event_page(R"("paging":{"next":"?page=2"})"), page_two()};
  step_at_next_attempt();
  EXPECT_EQ(source_row().state, "ok");
  EXPECT_EQ(source_row().reason, "");

  struct Case {
    const char* next;
    const char* more;
    const char* link;
    const char* place;
  };
  for (const auto& [next, more, link, place] : std::vector<Case>{
           {"/next", R"("_links":{"next":{"href":"/e?p=2"}})", "", "at /_links/next/href"},
           {"/next", R"("@odata.nextLink":"/e?p=2")", "", "at /@odata.nextLink"},
           {"/next", R"("meta":{"page":{"next_cursor":"x"}})", "", "at /meta/page/next_cursor"},
           {"/next", "", R"(</e?p=2>; rel=next)", "in its Link header (next: link)"},
           {"link", R"("next":"/e?p=2")", "", "at /next"},
           {"/next", R"("meta":{"has_next":true,"next_run":"x","next_page":2},"next":"")", "", nullptr},
           {"/next", R"("links":[{"next":"/e?p=2"}])", "</e>; rel=last", nullptr},
       }) {
    use_next(next);
    wait(40'000);
    HttpGetResponse page = event_page(more);
    page.link = link;
    feed_.queued_responses = {page};
    settings_.url += "x";  // no setting has found a link yet
    settings_.name = "feed" + std::to_string(settings_.url.size());
    health_monitor_.register_source(settings_.name, "", now_);
    step();
    const auto rows = store_->sources.list();
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const auto& one) { return one.name == settings_.name; });
    ASSERT_NE(row, rows.end());
    EXPECT_EQ(row->state, place == nullptr ? "ok" : "invalid") << more << link;
    if (place != nullptr) {
      EXPECT_THAT(row->reason, HasSubstr(std::string("names a next one ") + place + ";"));
    }
  }
}

TEST_F(PollContinuation, APollOfOnePageSaysThatThereIsANextOne) {
  use_next("");
  feed_.queued_responses = {event_page(R"("paging":{"next":"?page=2"})"), event_page("")};
  step();
  EXPECT_EQ(source_row().state, "ok");
  EXPECT_EQ(source_row().reason,
            "the page names a next one at /paging/next, which is not read: neither next nor cursor is set");
  wait(70);
  step();
  EXPECT_EQ(source_row().reason, "");
}

class PollExpiry : public PollContinuation {
 protected:
  PollExpiry() {
    feed_.queued_responses = {event_page(R"("cursor":"5")"), json_page(R"({"data":[],"cursor":"6"})")};
    step();
    feed_.requests.clear();
  }
  void answer(int status) {
    feed_.queued_responses = {http_status(status)};
    step_at_next_attempt();
  }
  const std::string stored_url_ = settings_.url + "?after=6";
};

// SRC-65
TEST_F(PollExpiry, ARefusedCursorBeginsTheFeedAgain) {
  for (const int status : {400, 404, 410, 422, 414}) {
    feed_.requests.clear();
    answer(status);
    EXPECT_EQ(source_row().reason, "it answered with HTTP status " + std::to_string(status));
    answer(status);
    EXPECT_THAT(source_row().reason, HasSubstr("the next request begins the feed again"));
    restart_daemon();
    feed_.queued_responses = {event_page(R"("cursor":"5")"), json_page(R"({"data":[],"cursor":"6"})")};
    step_at_next_attempt();
    EXPECT_EQ(source_row().state, "ok") << status;
    EXPECT_THAT(requested_urls(),
                ElementsAre(stored_url_, stored_url_, settings_.url, settings_.url + "?after=5"));
  }
  EXPECT_EQ(source_row().accepted, 6);
}

// SRC-65
TEST_F(PollExpiry, OtherFailuresKeepTheCursor) {
  for (const int status : {401, 403, 407, 408, 425, 429, 500, 503, 401, 429}) {
    answer(status);
    EXPECT_EQ(feed_.requests.back().url, stored_url_) << status;
    EXPECT_EQ(source_row().reason, "it answered with HTTP status " + std::to_string(status));
  }
  answer(410);
  answer(503);
  answer(410);
  EXPECT_THAT(requested_urls(), Each(stored_url_));
  answer(503);
  EXPECT_EQ(feed_.requests.back().url, settings_.url) << "its beginning is requested until it answers";
  answer(503);
  EXPECT_EQ(feed_.requests.back().url, settings_.url);
  EXPECT_EQ(cursor_state().cursor, "6") << "kept until the beginning was read";
}

// SRC-65
TEST_F(PollExpiry, TheFeedBeginsAgainOnceOnly) {
  for (int times = 0; times < 6; ++times) answer(410);
  const std::vector<std::string> urls = requested_urls();
  EXPECT_EQ(urls[2], settings_.url);
  EXPECT_EQ(std::count(urls.begin(), urls.end(), settings_.url), 1);
  EXPECT_THAT(source_row().reason, HasSubstr("although the feed was begun again"));
  EXPECT_THAT(source_row().reason, HasSubstr("giftsyncctl source reset-cursor feed begins it once more"));
  feed_.queued_responses = {json_page(R"({"data":[],"cursor":"6"})")};
  step_at_next_attempt();
  EXPECT_EQ(source_row().state, "ok") << "the vendor accepts the cursor again";
}

// SRC-65
TEST_F(PollExpiry, ANewCursorThatIsRefusedTooIsNamed) {
  answer(410);
  answer(410);
  feed_.queued_responses = {event_page(R"("cursor":"7")"), http_status(410)};
  step_at_next_attempt();
  EXPECT_THAT(source_row().reason, HasSubstr("giftsyncctl source reset-cursor feed"));
  feed_.requests.clear();
  for (int times = 0; times < 3; ++times) answer(410);
  EXPECT_THAT(requested_urls(), Each(settings_.url + "?after=7"));
  ASSERT_TRUE(store_->sources.reset_cursor("feed"));
  feed_.queued_responses = {event_page(R"("cursor":"8")"), json_page(R"({"data":[],"cursor":"8"})")};
  wait(70);
  step();
  EXPECT_EQ(source_row().state, "ok") << "as the advice says";
}

// SRC-65
TEST_F(PollContinuation, ARefusedSinceBeginsTheFeedAgain) {
  use_since("");
  feed_.queued_responses = {event_page("")};
  step();
  for (int times = 0; times < 2; ++times) {
    feed_.queued_responses = {http_status(422)};
    step_at_next_attempt();
    EXPECT_THAT(feed_.requests.back().url, HasSubstr("since="));
  }
  feed_.queued_responses = {event_page("")};
  step_at_next_attempt();
  EXPECT_EQ(feed_.requests.back().url, settings_.url);
  EXPECT_EQ(source_row().accepted, 2);
  EXPECT_EQ(source_row().state, "ok");
}

// SRC-66
TEST_F(PollContinuation, ALongETagIsNotSentBack) {
  use_next("");
  for (const std::size_t size : {kMaxEtagBytes, kMaxEtagBytes + 1}) {
    HttpGetResponse page = event_page("");
    page.etag = std::string(size, 'e');
    feed_.queued_responses = {page, event_page("")};
    wait(70);
    step();
    wait(70);
    step();
    const auto& headers = feed_.requests.back().headers;
    const bool is_sent = std::any_of(headers.begin(), headers.end(), [](const std::string& header) {
      return header.starts_with("If-None-Match");
    });
    EXPECT_EQ(is_sent, size <= kMaxEtagBytes);
  }
  PollCursor stored;
  stored.cached_pages = {{settings_.url, std::string(kMaxEtagBytes + 1, 'e'), std::nullopt, false}};
  EXPECT_THAT(parse_poll_cursor(serialize(stored)).cached_pages, IsEmpty()) << "stored by an earlier version";
}

}  // namespace
}  // namespace giftsync::sources
