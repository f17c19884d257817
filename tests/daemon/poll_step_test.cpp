// Polling against a real store and a vendor with a memory that can be told to fail: whatever breaks, every
// event is applied once, and the position moves only with what it covers.
#include "daemon/sources/poll_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <limits>
#include <nlohmann/json.hpp>

#include "daemon/sources/report_extraction.h"
#include "tests/daemon/temporary_store.h"

namespace giftsync::daemon {
namespace {

using namespace schema;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr UtcMillis kStart{1'800'000'000'000};

/// Serves its events page by page, by cursor, by since-time or by links.
class Vendor {
 public:
  struct Event {
    std::int64_t id;
    std::string word;
    std::int64_t at_seconds;
  };
  std::vector<Event> events;
  std::size_t page_size = 2;
  std::deque<WebAnswer> faults;  ///< answered first
  std::vector<WebRequest> asked;
  std::function<void()> before_answer = [] {};

  WebAnswer answer(const WebRequest& request) {
    asked.push_back(request);
    const auto hook = before_answer;  // it may replace itself
    hook();
    if (!faults.empty()) {
      const WebAnswer fault = faults.front();
      faults.pop_front();
      return fault;
    }
    std::vector<Event> wanted = events;
    if (const std::string since = parameter(request.url, "since"); !since.empty()) {
      const auto from = from_rfc3339(since);
      std::erase_if(wanted, [&](const Event& one) { return one.at_seconds * 1000 < from->value; });
    }
    std::string begin_text = parameter(request.url, "after");
    if (begin_text.empty()) begin_text = parameter(request.url, "page");
    const std::size_t begin = begin_text.empty() ? 0 : std::stoul(begin_text);
    nlohmann::json data = nlohmann::json::array();
    std::size_t end = begin;
    for (; end < wanted.size() && end < begin + page_size; ++end)
      data.push_back({{"id", wanted[end].id}, {"what", wanted[end].word}, {"at", wanted[end].at_seconds}});
    WebAnswer answer;
    answer.status = 200;
    nlohmann::json document{{"data", data}, {"cursor", std::to_string(end)}};
    if (end < wanted.size()) {
      std::string next =
          request.url.substr(0, request.url.find_first_of("?&") + 1) + "page=" + std::to_string(end);
      if (const auto since = parameter(request.url, "since"); !since.empty()) next += "&since=" + since;
      document["next"] = next;
      answer.link = "<https://api.example.com/first>; rel=\"first\", <" + next + ">; rel=\"next\"";
    }
    answer.body = document.dump();
    answer.etag = "\"" + std::to_string(std::hash<std::string>()(answer.body)) + "\"";
    for (const std::string& header : request.headers) {
      if (header != "If-None-Match: " + answer.etag) continue;
      answer = {};
      answer.status = 304;
    }
    return answer;
  }

  static std::string parameter(const std::string& url, const std::string& name) {
    const std::size_t at = url.find(name + "=");
    if (at == std::string::npos) return {};
    std::string value = url.substr(at + name.size() + 1);
    value.resize(std::min(value.find('&'), value.size()));
    for (std::size_t colon = value.find("%3A"); colon != std::string::npos; colon = value.find("%3A"))
      value.replace(colon, 3, ":");
    return value;
  }
};

WebAnswer status(int code, const std::string& retry_after = "") {
  WebAnswer answer;
  answer.status = code;
  answer.retry_after = retry_after;
  return answer;
}
WebAnswer text(const std::string& body) {
  WebAnswer answer = status(200);
  answer.body = body;
  return answer;
}

class PollStep : public ::testing::Test {
 protected:
  PollStep() {
    settings_.name = "feed";
    settings_.kind = SourceKind::poll;
    settings_.url = "https://api.example.com/events";
    settings_.items = "/data";
    settings_.fields.transaction_id = "/id";
    settings_.fields.status = "/what";
    settings_.fields.occurred_at = "/at";
    settings_.headers = {{"Authorization", Secret("Bearer of news")}};
    by_cursor();
    watch_.open("feed", "", now_);
  }
  void by_cursor() {
    settings_.cursor_pointer = "/cursor";
    settings_.cursor_parameter = "after";
  }
  void by_since(const std::string& next) {
    settings_.cursor_pointer = settings_.cursor_parameter = "";
    settings_.since = "since";
    settings_.overlap_seconds = 100;
    settings_.next = next;
  }
  PollReport step(const std::string& owner = "one") {
    const SourcePlan plan = make_source_plan(settings_, "inst");
    PollTools tools{*store_,
                    intake_,
                    watch_,
                    [this](const WebRequest& request, const auto&) { return vendor_.answer(request); },
                    [this] { return now_; },
                    [] { return 0.5; },
                    owner};
    return poll_step(plan, tools, [this] { return keep_going_; });
  }
  /// As at a start or reload of the daemon.
  void start() { forget_outdated_waits({make_source_plan(settings_, "inst")}, *store_, "one", now_); }
  SourceStanding standing() { return store_->sources.standings().front(); }
  std::size_t history_of(TransactionId id) { return store_->changes.history(id).size(); }
  void wait(std::int64_t seconds) { now_ = now_ + seconds * 1000; }

  UtcMillis now_ = kStart;
  bool keep_going_ = true;
  SourceSettings settings_;
  TemporaryStore store_;
  SourceWatch watch_{*store_};
  int woken_ = 0;
  SourceIntake intake_{*store_, watch_, [this] { ++woken_; }};
  Vendor vendor_;
};

constexpr std::int64_t kAt = 1'799'990'000;

/// A page of one report that goes on as it says.
WebAnswer one_report(TransactionId id, const std::string& key, const std::string& value) {
  return text(R"({"data":[{"id":)" + std::to_string(id.value) + R"(,"what":"opened","at":)" +
              std::to_string(kAt) + R"(}],")" + key + R"(":")" + value + R"("})");
}

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
  EXPECT_EQ(step().pages, 0u) << "304";
  EXPECT_EQ(standing().state, "works");
  EXPECT_EQ(standing().repeated, 1);
}

TEST_F(PollStep, BacksOffLongerAndLongerAndHonoursRetryAfter) {
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

TEST_F(PollStep, AShortRetryAfterDoesNotShortenTheBackOff) {
  vendor_.faults = {status(503, "0"), status(503, "1")};
  step();
  EXPECT_EQ(standing().due_at.value - now_.value, 126'000);
  now_ = standing().due_at;
  step();
  EXPECT_EQ(standing().due_at.value - now_.value, 252'000);
}

TEST_F(PollStep, AnEditOfItsSettingsEndsTheWaitAndNothingElseDoes) {
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

TEST_F(PollStep, AnEditKeepsThePositionButReadsThePageAgain) {
  by_since("");
  settings_.fields.event_id = "/ident";
  vendor_.page_size = 10;
  vendor_.events = {{store_.gifts(1)[0].value, "opened", kAt}};
  start();
  step();
  wait(70);
  step();  // asked with since from here on
  const PollPosition before = poll_position_from_text(standing().position);
  EXPECT_NE(before.etag, "");
  settings_.fields.event_id = "/id";
  start();
  const PollPosition after = poll_position_from_text(standing().position);
  EXPECT_EQ(after.since, before.since);
  EXPECT_EQ(after.etag, "");
  EXPECT_EQ(step().pages, 1u) << "not 304";
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

TEST_F(PollStep, ReportsThatCannotBeReadDoNotStopTheOthers) {
  const auto ids = store_.gifts(1);
  vendor_.page_size = 10;
  vendor_.events = {{-5, "opened", kAt}, {ids[0].value, "opened", kAt}, {ids[0].value, "lost", kAt}};
  const PollReport report = step();
  EXPECT_EQ(report.accepted, 1u);
  EXPECT_EQ(report.kept_aside, 2u);
  EXPECT_EQ(standing().state, "works");
}

TEST_F(PollStep, APageOfWhichNothingCanBeReadWaitsForTheRightPointers) {
  const auto ids = store_.gifts(3);
  for (const TransactionId id : ids) vendor_.events.push_back({id.value, "opened", kAt});
  settings_.fields.status = "/st";
  for (int times = 0; times < 3; ++times) {
    const PollReport report = step();
    EXPECT_EQ(report.pages, 0u);
    EXPECT_EQ(report.kept_aside, 0u);
    const SourceStanding row = standing();
    EXPECT_EQ(row.state, "garbage");
    EXPECT_THAT(row.reason, HasSubstr("none of the 2 reports"));
    EXPECT_THAT(row.reason, HasSubstr("status: found nothing"));
    EXPECT_THAT(row.reason, HasSubstr("fields.status (/st)"));
    EXPECT_EQ(row.position, "");
    EXPECT_EQ(row.kept_aside, 0);
    EXPECT_EQ(row.failures, times + 1);
    now_ = row.due_at;
  }
  settings_.fields.status = "/what";
  EXPECT_EQ(step().accepted, 3u);
  EXPECT_EQ(standing().state, "works");
  EXPECT_EQ(standing().failures, 0);
}

TEST_F(PollStep, AnUnreadablePageAmongOthersIsNotPassed) {
  const auto ids = store_.gifts(3);
  vendor_.events = {{ids[0].value, "opened", kAt}, {ids[1].value, "opened", kAt}, {-1, "opened", kAt}};
  EXPECT_EQ(step().accepted, 2u) << "the first page";
  EXPECT_EQ(standing().state, "garbage");
  EXPECT_THAT(standing().reason, HasSubstr("fields.transaction_id (/id)"));
  EXPECT_EQ(poll_position_from_text(standing().position).cursor, "2");
  now_ = standing().due_at;
  vendor_.events.push_back({ids[2].value, "opened", kAt});
  const PollReport report = step();
  EXPECT_EQ(report.accepted, 1u) << "in company the odd one is kept aside";
  EXPECT_EQ(report.kept_aside, 1u);
  EXPECT_EQ(standing().state, "works");
}

TEST_F(PollStep, AnUnknownWordIsNoReasonToStop) {
  const auto ids = store_.gifts(1);
  vendor_.events = {{ids[0].value, "unwrapped", kAt}, {ids[0].value, "lost", kAt}};
  EXPECT_EQ(step().kept_aside, 2u);
  EXPECT_EQ(standing().state, "works");
  EXPECT_EQ(poll_position_from_text(standing().position).cursor, "2");
}

TEST_F(PollStep, AFeedThatSaysTheSameForEverRestsAndIsNamed) {
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

TEST_F(PollStep, PagesThatLeadInACircleAreReadOnce) {
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

TEST_F(PollStep, ALongListThatIsReadAgainPausesAndComesToItsEnd) {
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

TEST_F(PollStep, AnEditBeginsARunOfPagesAnew) {
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
  position.next = "https://a.example/?p=2";
  position.settings = "0a1b2c3d";
  EXPECT_EQ(poll_position_from_text(to_text(position)), position);
  for (const char* bad : {"", "[]", "{\"cursor\":5}", "nonsense"})
    EXPECT_EQ(poll_position_from_text(bad), PollPosition()) << bad;
}

}  // namespace
}  // namespace giftsync::daemon
