// What a poll reads and where it goes on: whatever breaks, every event is applied once, and the position
// moves only with what it covers.
#include <limits>

#include "daemon/sources/report_extraction.h"
#include "tests/daemon/poll_ground.h"

namespace giftsync::daemon {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class PollStep : public PollGround {};

TEST_F(PollStep, FollowsTheCursorToTheEndAndGoesOnFromThere) {
  const auto ids = store_.gifts(5);
  for (const TransactionId id : ids) vendor_.events.push_back({id.value, "opened", kAt});
  const PollReport report = step();
  EXPECT_EQ(report.accepted, 5u);
  EXPECT_EQ(report.pages, 4u) << "three with events, and one to see that there are no more";
  EXPECT_THAT(vendor_.asked.front().headers, Contains("Authorization: Bearer of news"));
  EXPECT_EQ(standing().state, "works");
  EXPECT_FALSE(step().claimed) << "it rests now";
  wait(61);
  vendor_.asked.clear();
  vendor_.events.push_back({ids[0].value, "redeemed", kAt + 1});
  EXPECT_EQ(step().accepted, 1u);
  EXPECT_EQ(Vendor::parameter(vendor_.asked.front().url, "after"), "5");
  EXPECT_EQ(standing().repeated, 0);
  EXPECT_GT(woken_, 0);
}

TEST_F(PollStep, AStoppedRoundGoesOnWhereItWas) {
  for (const TransactionId id : store_.gifts(6)) vendor_.events.push_back({id.value, "opened", kAt});
  vendor_.before_answer = [this] { keep_going_ = vendor_.asked.size() < 2; };
  EXPECT_EQ(step().accepted, 4u);
  keep_going_ = true;
  vendor_.before_answer = [] {};
  EXPECT_EQ(step().accepted, 2u);
  EXPECT_EQ(standing().repeated, 0);
}

TEST_F(PollStep, ADaemonThatLostItsLeaseMidwayWritesNothingMore) {
  for (const TransactionId id : store_.gifts(4)) vendor_.events.push_back({id.value, "opened", kAt});
  vendor_.before_answer = [this] {
    if (vendor_.asked.size() != 2) return;
    store_->sources.break_leases("one");
    vendor_.before_answer = [] {};
    EXPECT_EQ(step("two").accepted, 2u) << "the other one goes on from the first page";
  };
  EXPECT_EQ(step("one").accepted, 2u);
  EXPECT_EQ(standing().accepted, 4);
  EXPECT_EQ(standing().repeated, 0);
}

TEST_F(PollStep, AsksSinceTheLastChangeWithAnOverlapAndFollowsLinks) {
  for (const char* next : {"/next", "link"}) {
    settings_.name = std::string("feed") + (next[0] == '/' ? "-a" : "-b");
    watch_.open(settings_.name, "", now_);
    by_since(next);
    vendor_ = {};
    const auto ids = store_.gifts(5);
    for (std::size_t i = 0; i < ids.size(); ++i)
      vendor_.events.push_back({ids[i].value, "opened", kAt + 60 * static_cast<std::int64_t>(i)});
    EXPECT_EQ(step().accepted, 5u) << next;
    EXPECT_EQ(vendor_.asked.front().url, settings_.url) << "from the beginning";
    wait(70);
    vendor_.asked.clear();
    // Committed late, dated before what is known already.
    vendor_.events.push_back({ids[0].value, "redeemed", kAt + 200});
    const PollReport again = step();
    EXPECT_EQ(Vendor::parameter(vendor_.asked.front().url, "since"), to_rfc3339({(kAt + 240 - 100) * 1000}));
    EXPECT_EQ(again.accepted, 1u);
    EXPECT_EQ(again.repeated, 2u);
    EXPECT_EQ(history_of(ids[0]), 2u);
    wait(70);
  }
}

TEST_F(PollStep, AfterARewindItReadsFromTheBeginningWhateverItHadInHand) {
  const auto ids = store_.gifts(4);
  for (const TransactionId id : ids) vendor_.events.push_back({id.value, "opened", kAt});
  vendor_.before_answer = [this] {
    if (vendor_.asked.size() == 2) {
      EXPECT_TRUE(store_->sources.rewind("feed"));
    }
  };
  EXPECT_EQ(step().accepted, 2u) << "the page in hand is overtaken";
  EXPECT_EQ(standing().position, "");
  vendor_.asked.clear();
  vendor_.before_answer = [] {};
  const PollReport report = step();
  EXPECT_EQ(vendor_.asked.front().url, settings_.url);
  EXPECT_EQ(report.repeated, 2u);
  EXPECT_EQ(report.accepted, 2u);
  EXPECT_EQ(history_of(ids[0]), 1u);
  EXPECT_FALSE(store_->sources.rewind("nobody"));
}

TEST_F(PollStep, AFarFutureTimeDoesNotMoveTheSinceTime) {
  by_since("");
  const auto ids = store_.gifts(1);
  vendor_.events = {{ids[0].value, "opened", 4'000'000'000}, {ids[0].value, "redeemed", kAt}};
  const PollReport report = step();
  EXPECT_EQ(report.accepted, 1u);
  EXPECT_EQ(report.kept_aside, 1u);
  EXPECT_EQ(poll_position_from_text(standing().position).since, (UtcMillis{kAt * 1000}));
}

TEST_F(PollStep, AnUnchangedFeedCostsNoBody) {
  by_since("");
  vendor_.page_size = 10;
  vendor_.events = {{store_.gifts(1)[0].value, "opened", kAt}};
  step();
  wait(70);
  step();  // the same events, asked with since: a new address
  wait(70);
  vendor_.asked.clear();
  EXPECT_EQ(step().pages, 0u) << "304";
  EXPECT_THAT(vendor_.asked, SizeIs(2)) << "the overlap, and what comes after it";
  EXPECT_EQ(standing().state, "works");
  EXPECT_EQ(standing().repeated, 2) << "behind the first page, and in the overlap of the next run";
}

TEST_F(PollStep, GarbageMovesNothingAndIsNamed) {
  const auto ids = store_.gifts(1);
  vendor_.events = {{ids[0].value, "opened", kAt}};
  for (const char* garbage :
       {"<html>", "", R"({"data":5})", R"({"nothing":[]})", R"({"data":[{}]} trailing)"}) {
    vendor_.faults = {text(garbage)};
    EXPECT_EQ(step().pages, 0u) << garbage;
    EXPECT_EQ(standing().position, "") << garbage;
    now_ = standing().due_at;
  }
  EXPECT_EQ(step().accepted, 1u);
}

TEST_F(PollStep, WhatLeadsNowhereIsNotTakenForTheLastPage) {
  const std::string id = std::to_string(store_.gifts(1)[0].value);
  const auto page = [&](const std::string& name, const std::string& value) {
    return text(R"({"data":[{"id":)" + id + R"(,"what":"opened","at":)" + std::to_string(kAt) + R"(}],")" +
                name + "\":" + value + "}");
  };
  struct Found {
    const char* value;
    const char* words;
  };
  const std::vector<Found> nowhere{
      {R"({"after":"5"})", "an object"}, {R"(["5"])", "a list"}, {"true", "true or false"}};
  for (const Found& found : nowhere) {
    vendor_.faults = {page("cursor", found.value)};
    EXPECT_EQ(step().pages, 0u) << found.value;
    EXPECT_EQ(standing().state, "garbage");
    EXPECT_EQ(standing().reason, std::string("cursor.pointer (/cursor) finds ") + found.words +
                                     "; allowed: text or a number, and null or nothing on the last page");
    EXPECT_EQ(standing().position, "");
    now_ = standing().due_at;
  }
  vendor_.faults = {page("cursor", "5"), text(R"({"data":[],"cursor":null})")};
  EXPECT_EQ(step().accepted, 1u);
  EXPECT_EQ(Vendor::parameter(vendor_.asked.back().url, "after"), "5");
  EXPECT_EQ(standing().state, "works");

  by_since("/next");
  for (const Found& found : nowhere) {
    wait(4'000);
    vendor_.faults = {page("next", found.value)};
    EXPECT_EQ(step().pages, 0u) << found.value;
    EXPECT_EQ(standing().reason, std::string("next (/next) finds ") + found.words +
                                     "; allowed: text or a number, and null or nothing on the last page");
  }
  wait(40'000);
  vendor_.faults = {page("next", "null")};
  EXPECT_EQ(step().repeated, 1u);
  EXPECT_EQ(standing().state, "works");
}

TEST_F(PollStep, WhereNoCursorWasEverFoundItSaysSoAndGoesOn) {
  const auto ids = store_.gifts(3);
  settings_.cursor_pointer = "/paging/cursr";
  vendor_.page_size = 10;
  EXPECT_EQ(step().pages, 1u);
  EXPECT_EQ(standing().reason, "") << "a feed in which nothing has happened yet";
  for (const TransactionId id : ids) {
    wait(70);
    vendor_.events.push_back({id.value, "opened", kAt});
    EXPECT_EQ(step().accepted, 1u) << "of a small feed all is seen";
    EXPECT_EQ(standing().state, "works");
    EXPECT_EQ(standing().reason,
              "no cursor was found so far at cursor.pointer (/paging/cursr), so only the first page is read; "
              "that is right for a feed that fits one page");
    EXPECT_EQ(standing().failures, 0);
  }
  wait(70);
  EXPECT_EQ(step().pages, 0u) << "304";
  EXPECT_THAT(standing().reason, HasSubstr("no cursor was found"));
  settings_.cursor_pointer = "/cursor";
  wait(70);
  step();
  EXPECT_EQ(standing().state, "works");
  EXPECT_EQ(standing().reason, "");
}

TEST_F(PollStep, APageOfTooManyReportsMovesNothing) {
  const auto ids = store_.gifts(1);
  vendor_.events = {{ids[0].value, "opened", kAt}};
  std::string page = R"({"cursor":"9","data":[0)";
  for (std::size_t i = 0; i < kMaxReports; ++i) page += ",0";
  vendor_.faults = {text(page + "]}")};
  EXPECT_EQ(step().pages, 0u);
  EXPECT_EQ(standing().state, "garbage");
  EXPECT_THAT(standing().reason, HasSubstr("holds 10001 reports; allowed: at most 10000"));
  EXPECT_THAT(standing().reason, HasSubstr("smaller pages"));
  EXPECT_EQ(standing().position, "");
  EXPECT_EQ(standing().failures, 1);
  EXPECT_EQ(standing().kept_aside, 0);
  now_ = standing().due_at;
  EXPECT_EQ(step().accepted, 1u);
}

TEST_F(PollStep, APageOfTooManyValuesIsNotEvenParsed) {
  std::string zeros = "0";
  for (std::size_t i = 0; i < kMaxJsonValues; ++i) zeros += ",0";
  vendor_.faults = {text(R"({"cursor":"9","data":[)" + zeros + "]}")};
  EXPECT_EQ(step().pages, 0u);
  EXPECT_EQ(standing().state, "garbage");
  EXPECT_THAT(standing().reason, HasSubstr("values; at most 1000000 can be read at once"));
  EXPECT_THAT(standing().reason, HasSubstr("smaller pages"));
  EXPECT_EQ(standing().position, "");
}

TEST_F(PollStep, KeepsItsSecretsFromOtherHosts) {
  WebAnswer away = status(302);
  away.location = "https://evil.example/events";
  vendor_.faults = {away};
  step();
  EXPECT_THAT(vendor_.asked, SizeIs(1));
  EXPECT_EQ(standing().reason, "it redirects to another host");
  now_ = standing().due_at;
  WebAnswer near = status(307);
  near.location = "/v2/events";
  vendor_.asked.clear();
  vendor_.faults = {near};
  step();
  ASSERT_THAT(vendor_.asked, SizeIs(2));
  EXPECT_EQ(vendor_.asked[1].url, "https://api.example.com/v2/events");
  now_ = standing().due_at;

  by_since("/next");
  vendor_.asked.clear();
  vendor_.faults = {text(R"({"data":[],"next":"https://evil.example/page2"})")};
  step();
  EXPECT_THAT(vendor_.asked, SizeIs(1));
  EXPECT_EQ(standing().failures, 1);
}

TEST_F(PollStep, ARedirectToHttpsIsNamedAsSuch) {
  settings_.url = "http://api.example.com/events";
  WebAnswer safer = status(301);
  safer.location = "https://api.example.com/events";
  vendor_.faults = {safer};
  step();
  EXPECT_THAT(vendor_.asked, SizeIs(1));
  EXPECT_EQ(standing().reason, "it redirects from http to https; write https in its url");
}

TEST_F(PollStep, AStalePageBeginsTheRunAnew) {
  by_since("/next");
  const auto ids = store_.gifts(4);
  for (const TransactionId id : ids) vendor_.events.push_back({id.value, "opened", kAt});
  vendor_.before_answer = [this] {
    if (vendor_.asked.size() == 2) vendor_.faults = {status(410)};
  };
  EXPECT_EQ(step().accepted, 2u);
  now_ = standing().due_at;
  const PollReport again = step();
  EXPECT_EQ(again.accepted, 2u);
  EXPECT_EQ(again.repeated, 2u);
}

TEST_F(PollStep, StopsAdvancingWhileTooMuchIsHeld) {
  for (std::int64_t i = 0; i < kMaxHeldChanges; i += 20'000) {
    std::vector<StatusChange> held;
    for (std::int64_t j = 0; j < 20'000; ++j)
      held.push_back({{}, "feed", {1'000'000 + i + j}, Status::opened, {kAt * 1000}, now_, {}});
    store_->changes.accept(held);
  }
  const auto ids = store_.gifts(1);
  vendor_.events = {{ids[0].value, "opened", kAt}, {5'000'000, "opened", kAt}};
  EXPECT_EQ(step().pages, 0u);
  EXPECT_EQ(standing().state, "full");
  EXPECT_EQ(standing().position, "");
  EXPECT_EQ(store_->changes.discard_held("feed", {std::numeric_limits<std::int64_t>::max()}),
            kMaxHeldChanges);
  now_ = standing().due_at;
  EXPECT_EQ(step().accepted, 1u);
  EXPECT_EQ(standing().held, 1);
}

TEST(WebUrls, ResolveCompareAndExtend) {
  EXPECT_EQ(resolved_url("https://a.example/v1/events?x=1", "?page=2"), "https://a.example/v1/events?page=2");
  EXPECT_EQ(resolved_url("https://a.example/v1/events", "//b.example/c"), "https://b.example/c");
  EXPECT_EQ(resolved_url("https://a.example/", ""), "");
  EXPECT_TRUE(same_origin("https://a.example/x", "https://A.example:443/y"));
  for (const char* other :
       {"http://a.example/", "https://a.example:8443/", "https://b.example/", "https://a.example@b.example/",
        "https://user@a.example/", "ftp://a.example/", "nonsense"})
    EXPECT_FALSE(same_origin("https://a.example/x", other)) << other;
  EXPECT_EQ(with_parameter("https://a.example/x?v=1", "after", "a b&c"),
            "https://a.example/x?v=1&after=a%20b%26c");
  EXPECT_EQ(next_link("<https://a/1>; rel=\"prev\", </2>; rel=\"next last\""), "/2");
  EXPECT_EQ(next_link("</2>; rel=next"), "/2");
  EXPECT_EQ(next_link("</2>; title=\"rel\"; rel=\"nextish\""), "");
  EXPECT_EQ(next_link(""), "");
}

TEST(PollPositionText, ComesBackAsItWas) {
  PollPosition position;
  position.cursor = "a\"b";
  position.since = UtcMillis{5};
  position.latest = UtcMillis{7};
  position.from = UtcMillis{6};
  position.near_present = UtcMillis{8};
  position.seen = {{"https://a.example/", "\"1\"", std::nullopt},
                   {"https://a.example/?s=5", "W/\"2\"", UtcMillis{5}}};
  position.fullest = 100;
  position.next = "https://a.example/?p=2";
  position.settings = "0a1b2c3d";
  position.proven = "0f0f0f0f";
  position.unread_pages = 2;
  position.unread = {"0a1b2c3d", "4e5f6a7b"};
  EXPECT_EQ(poll_position_from_text(to_text(position)), position);
  for (const char* bad : {"", "[]", "{\"cursor\":5}", "{\"seen\":[7,{\"url\":5}],\"from\":\"x\"}",
                          "{\"proven\":1,\"unread\":[7],\"unread_pages\":\"x\"}", "nonsense"})
    EXPECT_EQ(poll_position_from_text(bad), PollPosition()) << bad;
}

}  // namespace
}  // namespace giftsync::daemon
