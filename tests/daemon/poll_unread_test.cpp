// What a poll does about reports, and whole pages, that cannot be read: one odd one stops nobody, and no feed
// is passed by unread.
#include "daemon/sources/unread_page.h"
#include "tests/daemon/poll_ground.h"

namespace giftsync::daemon {
namespace {

using ::testing::HasSubstr;

class PollUnread : public PollGround {};

TEST_F(PollUnread, ReportsThatCannotBeReadDoNotStopTheOthers) {
  const auto ids = store_.gifts(1);
  vendor_.page_size = 10;
  vendor_.events = {{-5, "opened", kAt}, {ids[0].value, "opened", kAt}, {ids[0].value, "lost", kAt}};
  const PollReport report = step();
  EXPECT_EQ(report.accepted, 1u);
  EXPECT_EQ(report.kept_aside, 2u);
  EXPECT_EQ(standing().state, "works");
}

TEST_F(PollUnread, ANumberBeyondSixtyFourBitsStopsNobody) {
  const std::string id = std::to_string(store_.gifts(1)[0].value);
  const std::string rest = R"(,"what":"opened","at":)" + std::to_string(kAt);
  vendor_.faults = {text(R"({"cursor":18446744073709551615,"data":[{"id":)" + id + rest +
                         R"(,"extra":18446744073709551616},{"id":1e400)" + rest + "}]}"),
                    text(R"({"data":[]})")};
  const PollReport report = step();
  EXPECT_EQ(report.accepted, 1u);
  EXPECT_EQ(report.kept_aside, 1u);
  EXPECT_EQ(Vendor::parameter(vendor_.asked.back().url, "after"), "18446744073709551615") << "to the digit";
  EXPECT_EQ(standing().state, "works");
}

TEST_F(PollUnread, WhatMayBeReadInTwoWaysCostsOneReportAndNotThePage) {
  const auto ids = store_.gifts(2);
  const auto item = [](std::int64_t id, const std::string& more) {
    return R"({"id":)" + std::to_string(id) + R"(,"what":"opened","at":)" + std::to_string(kAt) + more + "}";
  };
  const std::string twice = item(ids[1].value, R"(,"x":1,"x":2)");
  const auto page = [](const std::string& items, const std::string& cursor) {
    return text(R"({"data":[)" + items + R"(],"cursor":")" + cursor + R"("})");
  };
  const auto end = text(R"({"data":[]})");
  vendor_.faults = {page(twice, "1")};
  EXPECT_EQ(step().pages, 0u) << "nothing has proved the pointers yet";
  EXPECT_EQ(
      standing().reason,
      "none of the 1 reports on its page can be read, and the page is asked for again; the first one: no "
      "field of it was read: The name \"x\" appears twice at the top level; which one counts is not clear");
  now_ = standing().due_at;
  vendor_.faults = {page(item(ids[0].value, "") + "," + twice, "1"), page(twice, "2"), end};
  const PollReport report = step();
  EXPECT_EQ(report.accepted, 1u);
  EXPECT_EQ(report.kept_aside, 1u) << "the same one on both pages";
  EXPECT_EQ(standing().state, "works");
  EXPECT_EQ(poll_position_from_text(standing().position).cursor, "2");
  const AsideReport aside = store_->sources.aside("feed", 0, 10).front();
  EXPECT_EQ(aside.reason, AsideReason::faulty);
  EXPECT_THAT(raw_report_from_text(aside.report)->item, HasSubstr(R"("x":1,"x":2)"));
  const auto go_on = [] { return true; };
  EXPECT_EQ(intake_.review_aside(make_source_plan(settings_, "inst"), now_, go_on), 0u);
  EXPECT_EQ(store_->sources.aside("feed", 0, 10).front().id, aside.id) << "there is nothing new to say of it";

  wait(70);
  vendor_.faults = {text(R"({"data":[],"cursor":"3","cursor":"4"})")};
  EXPECT_EQ(step().pages, 0u);
  EXPECT_EQ(standing().state, "garbage");
  EXPECT_EQ(standing().reason,
            "The name \"cursor\" appears twice at the top level; which one counts is not clear");
}

TEST_F(PollUnread, APollByTimeDoesNotGetPastAReportThatWasNotRead) {
  by_since("");
  const std::string good = R"({"id":)" + std::to_string(store_.gifts(1)[0].value) +
                           R"(,"what":"opened","at":)" + std::to_string(kAt) + "}";
  const std::string twice = R"({"id":1,"id":2})";
  for (const std::string& item : {good, twice, twice}) {
    vendor_.faults = {text(R"({"data":[)" + item + "]}")};
    wait(70);
    step();
  }
  EXPECT_EQ(standing().state, "garbage");
  EXPECT_THAT(standing().reason, HasSubstr("cannot get past them"));
  EXPECT_EQ(standing().kept_aside, 1);
}

TEST_F(PollUnread, WhatIsJsonIsNotCalledNone) {
  const auto reason_of = [this](const std::string& body) {
    vendor_.faults = {text(body)};
    step();
    now_ = standing().due_at;
    return standing().reason;
  };
  EXPECT_THAT(reason_of(R"({"data":["\ud800"]})"),
              HasSubstr("its page cannot be read: Half of a surrogate pair"));
  EXPECT_THAT(reason_of(R"({"data":)" + std::string(100, '[') + std::string(100, ']') + "}"),
              HasSubstr("its page cannot be read: Lists and objects are nested deeper"));
  EXPECT_THAT(reason_of("{\n\"data\": nul}"), HasSubstr("no JSON: The text is not valid JSON at line 2"));
}

TEST_F(PollUnread, APageOfWhichNothingCanBeReadWaitsForTheRightPointers) {
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

TEST_F(PollUnread, AnOddPageIsPassedOnceThePointersHaveProvedThemselves) {
  const auto ids = store_.gifts(3);
  vendor_.events = {{ids[0].value, "opened", kAt}, {ids[1].value, "opened", kAt}, {-1, "opened", kAt}};
  const PollReport report = step();
  EXPECT_EQ(report.accepted, 2u) << "the first page";
  EXPECT_EQ(report.kept_aside, 1u) << "the second";
  EXPECT_EQ(standing().state, "works");
  EXPECT_EQ(poll_position_from_text(standing().position).cursor, "3");
  EXPECT_EQ(poll_position_from_text(standing().position).unread_pages, 1);
  EXPECT_EQ(store_->sources.aside("feed", 0, 10).front().reason, AsideReason::faulty);
  wait(70);
  vendor_.events.push_back({ids[2].value, "opened", kAt});
  EXPECT_EQ(step().accepted, 1u);
  EXPECT_EQ(poll_position_from_text(standing().position).unread_pages, 0);

  settings_.fields.event_id = "/other";
  wait(70);
  vendor_.events.push_back({-2, "opened", kAt});
  EXPECT_EQ(step().pages, 0u) << "pointers that were edited have yet to prove themselves";
  EXPECT_EQ(standing().state, "garbage");
  EXPECT_THAT(standing().reason, HasSubstr("fields.transaction_id (/id)"));
  EXPECT_EQ(standing().kept_aside, 1);
}

TEST_F(PollUnread, PagesInARowOfWhichNothingCanBeReadArePassedThreeTimesOnly) {
  const auto ids = store_.gifts(2);
  vendor_.page_size = 1;
  vendor_.events = {{ids[0].value, "opened", kAt}};
  for (const std::int64_t odd : {-1, -2, -3, -4}) vendor_.events.push_back({odd, "opened", kAt});
  const PollReport report = step();
  EXPECT_EQ(report.accepted, 1u);
  EXPECT_EQ(report.kept_aside, 3u);
  for (int times = 0; times < 3; ++times) {
    const SourceStanding row = standing();
    EXPECT_EQ(row.state, "garbage");
    EXPECT_THAT(row.reason, HasSubstr("nor could those of the 3 pages before it, which are kept aside"));
    EXPECT_EQ(poll_position_from_text(row.position).cursor, "4");
    EXPECT_EQ(row.kept_aside, 3);
    now_ = row.due_at;
    EXPECT_EQ(step().pages, 0u) << "it is asked again, also by a daemon that was killed meanwhile";
  }
  now_ = standing().due_at;
  vendor_.events.back().id = ids[1].value;
  EXPECT_EQ(step().accepted, 1u) << "something can be read again";
  EXPECT_EQ(standing().state, "works");
  for (const std::int64_t odd : {-5, -6, -7}) vendor_.events.push_back({odd, "opened", kAt});
  wait(70);
  EXPECT_EQ(step().kept_aside, 3u) << "they are counted anew";
  EXPECT_EQ(standing().state, "works");
}

TEST_F(PollUnread, AnUnreadablePageThatComesAgainIsNoOther) {
  by_since("");
  settings_.overlap_seconds = 3600;
  const auto page_of = [](const std::vector<std::int64_t>& ids) {
    nlohmann::json data = nlohmann::json::array();
    for (const std::int64_t id : ids) data.push_back({{"id", id}, {"what", "opened"}, {"at", kAt + 50}});
    return text(nlohmann::json::object({{"data", data}}).dump());
  };
  const auto passed = [&](const std::vector<std::int64_t>& ids) {
    vendor_.faults = {page_of(ids), text(R"({"data":[]})")};
    wait(70);
    EXPECT_EQ(step().pages, 2u) << "and one to see that nothing comes behind it";
    EXPECT_EQ(standing().state, "works");
    return poll_position_from_text(standing().position).unread_pages;
  };
  EXPECT_EQ(passed({store_.gifts(1)[0].value}), 0);
  for (int times = 0; times < 6; ++times) EXPECT_EQ(passed({-5}), 1) << times;
  EXPECT_EQ(passed({-5, -6}), 2);
  EXPECT_EQ(passed({-6}), 2) << "the earlier one is out of the window now";
  EXPECT_EQ(passed({-6, -7}), 3);
  for (int times = 0; times < 3; ++times) EXPECT_EQ(passed({-6, -7}), 3) << times;
  EXPECT_EQ(standing().kept_aside, 3);
  vendor_.faults = {page_of({-7, -8})};
  wait(70);
  EXPECT_EQ(step().pages, 0u);
  EXPECT_EQ(standing().state, "garbage");
  EXPECT_EQ(standing().kept_aside, 3);
}

TEST_F(PollUnread, APollByTimeThatFindsNoTimesSaysThatItStandsStill) {
  by_since("");
  const auto page = [](const nlohmann::json& at, std::int64_t id) {
    const nlohmann::json data = {{{"id", id}, {"what", "opened"}, {"at", at}}};
    return text(nlohmann::json::object({{"data", data}}).dump());
  };
  const auto ids = store_.gifts(2);
  const auto state_after = [&](const WebAnswer& answer) {
    vendor_.faults = {answer};
    wait(70);
    step();
    return standing().state;
  };
  EXPECT_EQ(state_after(page(kAt, ids[0].value)), "works");
  EXPECT_EQ(state_after(page("soon", ids[1].value)), "works") << "passed once";
  for (int times = 0; times < 3; ++times) {
    EXPECT_EQ(state_after(page("soon", ids[1].value)), "garbage") << times;
    EXPECT_EQ(standing().failures, 0) << "it is asked again after the interval";
  }
  EXPECT_THAT(standing().reason, HasSubstr("cannot get past them"));
  EXPECT_EQ(standing().kept_aside, 1);
  EXPECT_EQ(state_after(page(kAt + 5, ids[1].value)), "works");
}

TEST_F(PollUnread, AMemberThatChangesWithEveryAnswerMakesNoNewReport) {
  by_since("");
  const auto id = store_.gifts(1)[0].value;
  const auto page = [&](int age) {
    const nlohmann::json data = {{{"id", id}, {"what", "lost"}, {"at", kAt}, {"age", age}},
                                 {{"id", id}, {"what", "lost"}, {"at", kAt}, {"age", age + 1}}};
    return text(nlohmann::json::object({{"data", data}}).dump());
  };
  for (int age = 0; age < 5; ++age) {
    vendor_.faults = {page(10 * age)};
    wait(70);
    step();
    EXPECT_EQ(standing().kept_aside, 2) << "alike in their fields, but two on a page";
  }
}

TEST_F(PollUnread, AnIgnoredWordPassesAPageButProvesNoPointer) {
  settings_.status_map = {{"opened", "opened"}, {"noise", "ignore"}};
  vendor_.page_size = 1;
  vendor_.events = {{-1, "noise", kAt}, {-2, "opened", kAt}};
  EXPECT_EQ(step().pages, 1u);
  EXPECT_EQ(standing().state, "garbage");
  EXPECT_EQ(poll_position_from_text(standing().position).cursor, "1");
  EXPECT_EQ(standing().kept_aside, 0);
}

TEST_F(PollUnread, WhileTheBookIsFullAnUnreadablePageIsNotPassed) {
  const auto ids = store_.gifts(1);
  vendor_.events = {{ids[0].value, "opened", kAt}};
  EXPECT_EQ(step().accepted, 1u);
  for (std::int64_t kept = 0; kept < kMaxAside; kept += 20'000) {
    SourceReport report;
    report.source = "feed";
    report.now = now_;
    report.items.resize(20'000);
    for (std::size_t i = 0; i < report.items.size(); ++i) {
      report.items[i].kept_aside = true;
      report.items[i].aside.digest = std::to_string(kept) + "/" + std::to_string(i);
      report.items[i].aside.report = "{}";
    }
    ASSERT_EQ(store_->sources.accept(report).kept_aside, report.items.size());
  }
  vendor_.events.push_back({-1, "opened", kAt});
  wait(70);
  EXPECT_EQ(step().pages, 0u);
  EXPECT_EQ(standing().state, "full");
  EXPECT_EQ(poll_position_from_text(standing().position).unread_pages, 0);
  EXPECT_EQ(store_->sources.discard_aside("feed", std::nullopt), kMaxAside);
  now_ = standing().due_at;
  EXPECT_EQ(step().kept_aside, 1u);
  EXPECT_EQ(standing().state, "works");
}

TEST_F(PollUnread, AnUnknownWordIsNoReasonToStop) {
  const auto ids = store_.gifts(1);
  vendor_.events = {{ids[0].value, "unwrapped", kAt}, {ids[0].value, "lost", kAt}};
  EXPECT_EQ(step().kept_aside, 2u);
  EXPECT_EQ(standing().state, "works");
  EXPECT_EQ(poll_position_from_text(standing().position).cursor, "2");
}

TEST_F(PollUnread, WhatAWrongPointerFoundIsReadAgainOnceItIsCorrected) {
  const auto ids = store_.gifts(1);
  const std::string id = std::to_string(ids[0].value);
  const std::string at = std::to_string(kAt);
  vendor_.faults = {text(R"({"cursor":"2","data":[{"id":)" + id + R"(,"kind":"gift","what":"opened","at":)" +
                         at + R"(},{"id":)" + id + R"(,"kind":"gift","what":"redeemed","at":)" + at + "}]}")};
  settings_.fields.status = "/kind";
  EXPECT_EQ(step().kept_aside, 2u) << "alike in every field, but not the same report";
  EXPECT_EQ(standing().state, "works");
  const auto go_on = [] { return true; };
  EXPECT_EQ(intake_.review_aside(make_source_plan(settings_, "inst"), now_, go_on), 0u);
  settings_.fields.status = "/what";
  EXPECT_EQ(intake_.review_aside(make_source_plan(settings_, "inst"), now_, go_on), 2u);
  EXPECT_EQ(history_of(ids[0]), 2u);
  EXPECT_EQ(standing().kept_aside, 0);
}

}  // namespace
}  // namespace giftsync::daemon
