// What a poll reads and where it continues: whatever fails, every event is applied once, and the cursor
// advances only with the events that it covers.
#include <limits>

#include "daemon/sources/kept_event.h"
#include "tests/daemon/sources/poll_fixture.h"

namespace giftsync::sources {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class PollStep : public PollFixture {};

TEST_F(PollStep, FollowsTheCursorToTheEndAndResumesFromIt) {
  const auto ids = store_.create_gifts(5);
  for (std::size_t i = 0; i < ids.size(); ++i)
    feed_.events.push_back({ids[i].value, "opened", kAt - 9 + static_cast<std::int64_t>(i)});
  const PollStats stats = step();
  EXPECT_EQ(stats.accepted, 5u);
  EXPECT_EQ(stats.pages, 4u) << "three with events and an empty one";
  EXPECT_THAT(feed_.requests.front().headers, Contains("Authorization: Bearer of news"));
  EXPECT_EQ(source_row().state, "ok");
  EXPECT_FALSE(step().claimed) << "it waits now";
  wait(61);
  feed_.requests.clear();
  feed_.events.push_back({ids[0].value, "redeemed", kAt + 1});
  EXPECT_EQ(step().accepted, 1u);
  EXPECT_EQ(FakeFeed::parameter(feed_.requests.front().url, "after"), "5");
  EXPECT_EQ(source_row().duplicates, 0);
  EXPECT_GT(wake_count_, 0);
}

// SRC-36
TEST_F(PollStep, AStoppedRoundResumesAtItsCursor) {
  for (const TransactionId id : store_.create_gifts(6)) feed_.events.push_back({id.value, "opened", kAt});
  feed_.before_response = [this] { keep_going_ = feed_.requests.size() < 2; };
  EXPECT_EQ(step().accepted, 4u);
  keep_going_ = true;
  feed_.before_response = [] {};
  EXPECT_EQ(step().accepted, 2u);
  EXPECT_EQ(source_row().duplicates, 0);
}

// SRC-35
TEST_F(PollStep, AfterLosingItsLeaseTheDaemonWritesNothing) {
  for (const TransactionId id : store_.create_gifts(4)) feed_.events.push_back({id.value, "opened", kAt});
  feed_.before_response = [this] {
    if (feed_.requests.size() != 2) return;
    store_->sources.release_leases({"one"});
    feed_.before_response = [] {};
    EXPECT_EQ(step("two").accepted, 2u) << "the other daemon continues from the first page";
  };
  EXPECT_EQ(step("one").accepted, 2u);
  EXPECT_EQ(source_row().accepted, 4);
  EXPECT_EQ(source_row().duplicates, 0);
}

// SRC-45
TEST_F(PollStep, RequestsSinceTheLastChangeWithAnOverlapAndFollowsLinks) {
  for (const char* next : {"/next", "link"}) {
    settings_.name = std::string("feed") + (next[0] == '/' ? "-a" : "-b");
    health_monitor_.register_source(settings_.name, "", now_);
    use_since(next);
    feed_ = {};
    const auto ids = store_.create_gifts(5);
    for (std::size_t i = 0; i < ids.size(); ++i)
      feed_.events.push_back({ids[i].value, "opened", kAt + 60 * static_cast<std::int64_t>(i)});
    EXPECT_EQ(step().accepted, 5u) << next;
    EXPECT_EQ(feed_.requests.front().url, settings_.url) << "from the beginning";
    wait(70);
    feed_.requests.clear();
    // Committed late, dated before events that are known already.
    feed_.events.push_back({ids[0].value, "redeemed", kAt + 200});
    const PollStats again = step();
    EXPECT_EQ(FakeFeed::parameter(feed_.requests.front().url, "since"),
              to_rfc3339({(kAt + 240 - 100) * 1000 - 1}));
    EXPECT_EQ(again.accepted, 1u);
    EXPECT_EQ(again.duplicates, 2u);
    EXPECT_EQ(change_count(ids[0]), 2u);
    wait(70);
  }
}

// SRC-44
TEST_F(PollStep, AfterACursorResetItReadsFromTheBeginning) {
  const auto ids = store_.create_gifts(4);
  for (const TransactionId id : ids) feed_.events.push_back({id.value, "opened", kAt});
  feed_.before_response = [this] {
    if (feed_.requests.size() == 2) {
      EXPECT_TRUE(store_->sources.reset_cursor("feed"));
    }
  };
  EXPECT_EQ(step().accepted, 2u) << "the page being read is superseded";
  EXPECT_EQ(source_row().cursor_state, "");
  feed_.requests.clear();
  feed_.before_response = [] {};
  const PollStats stats = step();
  EXPECT_EQ(feed_.requests.front().url, settings_.url);
  EXPECT_EQ(stats.duplicates, 2u);
  EXPECT_EQ(stats.accepted, 2u);
  EXPECT_EQ(change_count(ids[0]), 1u);
  EXPECT_FALSE(store_->sources.reset_cursor("unknown"));
}

TEST_F(PollStep, AFarFutureTimeDoesNotMoveTheSinceTime) {
  use_since("");
  const auto ids = store_.create_gifts(1);
  feed_.events = {{ids[0].value, "opened", 4'000'000'000}, {ids[0].value, "redeemed", kAt}};
  const PollStats stats = step();
  EXPECT_EQ(stats.accepted, 1u);
  EXPECT_EQ(stats.quarantined, 1u);
  EXPECT_EQ(parse_poll_cursor(source_row().cursor_state).since, (UtcMillis{kAt * 1000}));
}

TEST_F(PollStep, AnUnchangedFeedReturnsStatus304) {
  use_since("");
  feed_.page_size = 10;
  feed_.events = {{store_.create_gifts(1)[0].value, "opened", kAt}};
  step();
  wait(70);
  step();  // the same events, requested with since: a new URL
  wait(70);
  feed_.requests.clear();
  EXPECT_EQ(step().pages, 0u) << "304";
  EXPECT_THAT(feed_.requests, SizeIs(1));
  EXPECT_EQ(source_row().state, "ok");
  EXPECT_EQ(source_row().duplicates, 1) << "in the overlap of the second run";
}

// SRC-11
TEST_F(PollStep, AnInvalidPageKeepsTheCursorAndIsReported) {
  const auto ids = store_.create_gifts(1);
  feed_.events = {{ids[0].value, "opened", kAt}};
  for (const char* garbage :
       {"<html>", "", R"({"data":5})", R"({"nothing":[]})", R"({"data":[{}]} trailing)"}) {
    feed_.queued_responses = {json_page(garbage)};
    EXPECT_EQ(step().pages, 0u) << garbage;
    EXPECT_EQ(source_row().cursor_state, "") << garbage;
    now_ = source_row().next_attempt_at;
  }
  EXPECT_EQ(step().accepted, 1u);
}

// SRC-39
TEST_F(PollStep, AnInvalidContinuationIsNotTakenForTheLastPage) {
  const std::string id = std::to_string(store_.create_gifts(1)[0].value);
  const auto page = [&](const std::string& name, const std::string& value) {
    return json_page(R"({"data":[{"id":)" + id + R"(,"what":"opened","at":)" + std::to_string(kAt) +
                     R"(}],")" + name + "\":" + value + "}");
  };
  struct Found {
    const char* value;
    const char* kind;
  };
  const std::vector<Found> invalid_continuations{
      {R"({"after":"5"})", "an object"}, {R"(["5"])", "a list"}, {"true", "true"}};
  for (const Found& found : invalid_continuations) {
    feed_.queued_responses = {page("cursor", found.value)};
    EXPECT_EQ(step().pages, 1u) << found.value;
    EXPECT_EQ(source_row().accepted, 1) << "its event is stored";
    EXPECT_EQ(source_row().state, "invalid");
    EXPECT_EQ(source_row().reason,
              std::string("cursor.pointer (/cursor) finds ") + found.kind +
                  "; allowed: text or a number, and null, false or nothing on the last page");
    EXPECT_EQ(parse_poll_cursor(source_row().cursor_state).cursor, "");
    now_ = source_row().next_attempt_at;
  }
  feed_.queued_responses = {page("cursor", "5"), json_page(R"({"data":[],"cursor":null})")};
  step();
  EXPECT_EQ(FakeFeed::parameter(feed_.requests.back().url, "after"), "5");
  EXPECT_EQ(source_row().state, "ok");
}

// SRC-40
TEST_F(PollStep, AMissingCursorIsReportedAndPollingContinues) {
  const auto ids = store_.create_gifts(3);
  settings_.cursor_pointer = "/paging/cursr";
  feed_.page_size = 10;
  EXPECT_EQ(step().pages, 1u);
  EXPECT_EQ(source_row().reason, "") << "a feed without events so far";
  for (const TransactionId id : ids) {
    wait(70);
    feed_.events.push_back({id.value, "opened", kAt});
    EXPECT_EQ(step().accepted, 1u) << "a small feed is read completely";
    EXPECT_EQ(source_row().state, "ok");
    EXPECT_EQ(source_row().reason,
              "no cursor was found so far at cursor.pointer (/paging/cursr), so only the first page is read; "
              "that is right for a feed that fits one page");
    EXPECT_EQ(source_row().failures, 0);
  }
  wait(70);
  EXPECT_EQ(step().pages, 0u) << "304";
  EXPECT_THAT(source_row().reason, HasSubstr("no cursor was found"));
  settings_.cursor_pointer = "/cursor";
  wait(70);
  step();
  EXPECT_EQ(source_row().state, "ok");
  EXPECT_EQ(source_row().reason, "");
}

TEST_F(PollStep, APageOfTooManyEventsKeepsTheCursor) {
  const auto ids = store_.create_gifts(1);
  feed_.events = {{ids[0].value, "opened", kAt}};
  std::string page = R"({"cursor":"9","data":[0)";
  for (std::size_t i = 0; i < kMaxEvents; ++i) page += ",0";
  feed_.queued_responses = {json_page(page + "]}")};
  EXPECT_EQ(step().pages, 0u);
  EXPECT_EQ(source_row().state, "invalid");
  EXPECT_THAT(source_row().reason, HasSubstr("holds 10001 events; allowed: at most 10000"));
  EXPECT_THAT(source_row().reason, HasSubstr("smaller pages"));
  EXPECT_EQ(source_row().cursor_state, "");
  EXPECT_EQ(source_row().failures, 1);
  EXPECT_EQ(source_row().quarantined, 0);
  now_ = source_row().next_attempt_at;
  EXPECT_EQ(step().accepted, 1u);
}

TEST_F(PollStep, APageOfTooManyValuesIsNotEvenParsed) {
  std::string zeros = "0";
  for (std::size_t i = 0; i < kMaxJsonValues; ++i) zeros += ",0";
  feed_.queued_responses = {json_page(R"({"cursor":"9","data":[)" + zeros + "]}")};
  EXPECT_EQ(step().pages, 0u);
  EXPECT_EQ(source_row().state, "invalid");
  EXPECT_THAT(source_row().reason, HasSubstr("values; at most 1000000 can be read at once"));
  EXPECT_THAT(source_row().reason, HasSubstr("smaller pages"));
  EXPECT_EQ(source_row().cursor_state, "");
}

TEST_F(PollStep, DoesNotSendSecretsToOtherHosts) {
  HttpGetResponse away = http_status(302);
  away.location = "https://evil.example/events";
  feed_.queued_responses = {away};
  step();
  EXPECT_THAT(feed_.requests, SizeIs(1));
  EXPECT_EQ(source_row().reason, "it redirects to another host");
  now_ = source_row().next_attempt_at;
  HttpGetResponse near = http_status(307);
  near.location = "/v2/events";
  feed_.requests.clear();
  feed_.queued_responses = {near};
  step();
  ASSERT_THAT(feed_.requests, SizeIs(2));
  EXPECT_EQ(feed_.requests[1].url, "https://api.example.com/v2/events");
  now_ = source_row().next_attempt_at;

  use_since("/next");
  feed_.requests.clear();
  feed_.queued_responses = {json_page(R"({"data":[],"next":"https://evil.example/page2"})")};
  step();
  EXPECT_THAT(feed_.requests, SizeIs(1));
  EXPECT_EQ(source_row().failures, 1);
}

TEST_F(PollStep, ARedirectToHttpsIsReported) {
  settings_.url = "http://api.example.com/events";
  HttpGetResponse safer = http_status(301);
  safer.location = "https://api.example.com/events";
  feed_.queued_responses = {safer};
  step();
  EXPECT_THAT(feed_.requests, SizeIs(1));
  EXPECT_EQ(source_row().reason, "it redirects from http to https; write https in its url");
}

TEST_F(PollStep, AStalePageUrlRestartsTheRun) {
  use_since("/next");
  const auto ids = store_.create_gifts(4);
  for (const TransactionId id : ids) feed_.events.push_back({id.value, "opened", kAt});
  feed_.before_response = [this] {
    if (feed_.requests.size() == 2) feed_.queued_responses = {http_status(410)};
  };
  EXPECT_EQ(step().accepted, 2u);
  now_ = source_row().next_attempt_at;
  const PollStats again = step();
  EXPECT_EQ(again.accepted, 2u);
  EXPECT_EQ(again.duplicates, 2u);
}

// SRC-7
TEST_F(PollStep, KeepsTheCursorWhileTooManyChangesAreOrphaned) {
  for (std::int64_t i = 0; i < store::kMaxOrphanedChanges; i += 20'000) {
    std::vector<store::StatusChange> orphans;
    for (std::int64_t j = 0; j < 20'000; ++j)
      orphans.push_back({{}, "feed", {1'000'000 + i + j}, Status::opened, {kAt * 1000}, now_, {}});
    store_->changes.accept(orphans);
  }
  const auto ids = store_.create_gifts(1);
  feed_.events = {{ids[0].value, "opened", kAt}, {5'000'000, "opened", kAt}};
  EXPECT_EQ(step().pages, 0u);
  EXPECT_EQ(source_row().state, "over_limit");
  EXPECT_EQ(source_row().cursor_state, "");
  EXPECT_EQ(store_->changes.purge_orphaned("feed", {std::numeric_limits<std::int64_t>::max()}),
            store::kMaxOrphanedChanges);
  now_ = source_row().next_attempt_at;
  EXPECT_EQ(step().accepted, 1u);
  EXPECT_EQ(source_row().orphaned, 1);
}

TEST(HttpClientUrls, ResolveCompareAndExtend) {
  EXPECT_EQ(resolve_url("https://a.example/v1/events?x=1", "?page=2"), "https://a.example/v1/events?page=2");
  EXPECT_EQ(resolve_url("https://a.example/v1/events", "//b.example/c"), "https://b.example/c");
  EXPECT_EQ(resolve_url("https://a.example/", ""), "");
  EXPECT_TRUE(is_same_origin("https://a.example/x", "https://A.example:443/y"));
  for (const char* other :
       {"https://:p@a.example/y", "http://a.example/", "https://a.example:8443/", "https://b.example/",
        "https://a.example@b.example/", "https://user@a.example/", "ftp://a.example/", "nonsense"})
    EXPECT_FALSE(is_same_origin("https://a.example/x", other)) << other;
  EXPECT_EQ(with_query_parameter("https://a.example/x?v=1", "after", "a b&c"),
            "https://a.example/x?v=1&after=a%20b%26c");
}

TEST(HttpClientUrls, AUrlWithinAnOriginIsHttpsThere) {
  struct Case {
    const char* url;
    const char* target;
    const char* result;  ///< the URL, or what is wrong
  };
  for (const auto& [url, target, result] : std::vector<Case>{
           {"https://a.example/x", "https://a.example/y?z=1#f", "https://a.example/y?z=1#f"},
           {"https://a.example/x", "HTTPS://A.Example:443/y", "HTTPS://A.Example:443/y"},
           {"https://a.example/x", "http://A.example/y", "https://A.example/y"},
           {"https://a.example/x", "HTTP://a.example:80/y", "https://a.example/y"},
           {"https://a.example:8443/x", "http://a.example/y", "https://a.example:8443/y"},
           {"https://a.example:8443/x", "http://a.example:8443/y", "https://a.example:8443/y"},
           {"https://[2001:db8::1]/x", "http://[2001:db8::1]/y", "https://[2001:db8::1]/y"},
           {"http://a.example/x", "http://a.example:80/y", "http://a.example:80/y"},
           {"http://a.example/x", "https://a.example/y", "from http to https; write https in its url"},
           {"https://a.example/x", "http://a.example:8080/y", "to another scheme (http)"},
           {"https://a.example/x", "https://a.example:8443/y", "to another port (8443)"},
           {"https://a.example/x", "http://b.example/y", "to another host"},
           {"https://a.example/x", "https://a.example@b.example/y", "to a URL with a user"},
           {"https://a.example/x", "https://:p@a.example/y", "to a URL with a user"},
           {"https://a.example/x", "ftp://a.example/y", "to another scheme (ftp)"},
           {"https://a.example/x", "", "to what is no URL"},
       }) {
    const auto within = within_origin(url, target);
    EXPECT_EQ(within ? *within : within.error(), result) << url << " " << target;
  }
}

TEST(HttpClientUrls, ReadTheLinkHeaderByItsGrammar) {
  struct Case {
    const char* header;
    const char* next;
  };
  for (const auto& [header, next] : std::vector<Case>{
           {R"(<https://a/1>; rel="prev", </2>; rel="next last")", "/2"},
           {"</2>; rel=next", "/2"},
           {R"(</2>;REL = "Next" ; title="x")", "/2"},
           {"</2>\t;\trel=\"start\tnext\"", "/2"},
           {R"(</2?a=1,2;b=<3>; rel="next")", "/2?a=1,2;b=<3"},
           {R"(</1>; title="a, b; rel=next <c>", </2>; rel=next)", "/2"},
           {R"(</1>; title="say \", </x>; rel=next", </2>; rel=next)", "/2"},
           {R"(</2>; title="a > b"; rel=next)", "/2"},
           {R"(</2>; rel="ne\xt")", "/2"},
           {R"(, ,</1>; rel=first,, </2>; rel=next,)", "/2"},
           {R"(</1>; rel="prev"; rel="next", </2>; rel=next)", "/2"},
           {R"(</1>; rel=next; anchor="#part", </2>; rel=next)", "/2"},
           {R"(</2>; rel=next, </3>; rel=next)", "/2"},
           {R"(</2>; data-rel=x; rel=next)", "/2"},
           {R"(</2>; title="rel"; rel="nextish")", ""},
           {R"(</2>; title="rel=next")", ""},
           {R"(</2>; xrel=next)", ""},
           {R"(</2>; rel="https://a/next")", ""},
           {"</2>; rel", ""},
           {"</2>", ""},
           {"/2; rel=next", ""},
           {"</2; rel=next", ""},
           {R"(</2>; rel="next)", "/2"},
           {"", ""},
       })
    EXPECT_EQ(next_link_url(header), next) << header;
}

TEST(PollCursorText, RoundTrips) {
  PollCursor cursor_state;
  cursor_state.cursor = "a\"b";
  cursor_state.since = UtcMillis{5};
  cursor_state.latest = UtcMillis{7};
  cursor_state.from = UtcMillis{6};
  cursor_state.newest = UtcMillis{9};
  cursor_state.overlap_reached_at = UtcMillis{8};
  cursor_state.cached_pages = {{"https://a.example/", "\"1\"", std::nullopt, false},
                               {"https://a.example/?s=5", "W/\"2\"", UtcMillis{5}, true}};
  cursor_state.next = "https://a.example/?p=2";
  cursor_state.order = {4, 3, 2, UtcMillis{1}, UtcMillis{6}};
  cursor_state.found_by = "next (link)";
  cursor_state.refusals = 2;
  cursor_state.config_fingerprint = "0a1b2c3d";
  cursor_state.verified_pointers = "0f0f0f0f";
  cursor_state.consecutive_unreadable_pages = 2;
  cursor_state.unreadable_fingerprints = {"0a1b2c3d", "4e5f6a7b"};
  EXPECT_EQ(parse_poll_cursor(serialize(cursor_state)), cursor_state);
  for (const char* bad :
       {"", "[]", "{\"cursor\":5}", "{\"cached_pages\":[7,{\"url\":5}],\"from\":\"x\"}",
        "{\"verified_pointers\":1,\"unreadable_fingerprints\":[7],\"consecutive_unreadable_pages\":\"x\"}",
        "nonsense"})
    EXPECT_EQ(parse_poll_cursor(bad), PollCursor()) << bad;
}

}  // namespace
}  // namespace giftsync::sources
