// What a poll does with unreadable events and pages: one of them blocks nothing, and no feed is skipped
// unread.
#include "daemon/sources/kept_event.h"
#include "daemon/sources/poll_step.h"
#include "tests/daemon/sources/poll_fixture.h"

namespace giftsync::sources {
namespace {

using ::testing::HasSubstr;

class UnreadablePages : public PollFixture {};

TEST_F(UnreadablePages, UnreadableEventsDoNotBlockOthers) {
  const auto ids = store_.create_gifts(1);
  feed_.page_size = 10;
  feed_.events = {{-5, "opened", kAt}, {ids[0].value, "opened", kAt}, {ids[0].value, "lost", kAt}};
  const PollStats stats = step();
  EXPECT_EQ(stats.accepted, 1u);
  EXPECT_EQ(stats.quarantined, 2u);
  EXPECT_EQ(source_row().state, "ok");
}

TEST_F(UnreadablePages, ANumberBeyond64BitsDoesNotBlockOthers) {
  const std::string id = std::to_string(store_.create_gifts(1)[0].value);
  const std::string rest = R"(,"what":"opened","at":)" + std::to_string(kAt);
  feed_.queued_responses = {json_page(R"({"cursor":18446744073709551615,"data":[{"id":)" + id + rest +
                                      R"(,"extra":18446744073709551616},{"id":1e400)" + rest + "}]}"),
                            json_page(R"({"data":[]})")};
  const PollStats stats = step();
  EXPECT_EQ(stats.accepted, 1u);
  EXPECT_EQ(stats.quarantined, 1u);
  EXPECT_EQ(FakeFeed::parameter(feed_.requests.back().url, "after"), "18446744073709551615")
      << "to the digit";
  EXPECT_EQ(source_row().state, "ok");
}

TEST_F(UnreadablePages, AnAmbiguousEventIsQuarantinedWithoutItsPage) {
  const auto ids = store_.create_gifts(2);
  const auto item = [](std::int64_t id, const std::string& more) {
    return R"({"id":)" + std::to_string(id) + R"(,"what":"opened","at":)" + std::to_string(kAt) + more + "}";
  };
  const std::string twice = item(ids[1].value, R"(,"at":1,"x":2)");
  const auto page = [](const std::string& items, const std::string& cursor) {
    return json_page(R"({"data":[)" + items + R"(],"cursor":")" + cursor + R"("})");
  };
  const auto end = json_page(R"({"data":[],"cursor":"3"})");
  feed_.queued_responses = {page(twice, "1")};
  EXPECT_EQ(step().pages, 0u) << "the pointers are not verified yet";
  EXPECT_EQ(
      source_row().reason,
      "none of the 1 events on its page can be read, and the page is requested again; the first one: no "
      "field was read: The name \"at\" appears twice at the top level; which one counts is not clear");
  now_ = source_row().next_attempt_at;
  feed_.queued_responses = {page(item(ids[0].value, "") + "," + twice, "1"), page(twice, "2"), end};
  const PollStats stats = step();
  EXPECT_EQ(stats.accepted, 1u);
  EXPECT_EQ(stats.quarantined, 1u) << "the same event on both pages";
  EXPECT_EQ(source_row().state, "ok");
  EXPECT_EQ(parse_poll_cursor(source_row().cursor_state).cursor, "3");
  const store::UnappliedEvent quarantined = store_->sources.list_quarantined("feed", 0, 10).front();
  EXPECT_EQ(quarantined.reason, store::QuarantineReason::malformed);
  EXPECT_THAT(parse_inbound_event(quarantined.payload)->payload, HasSubstr(R"("at":1,"x":2)"));
  const auto go_on = [] { return true; };
  EXPECT_EQ(ingestor_.reprocess(compile_source(settings_, "inst"), now_, go_on).applied, 0u);
  EXPECT_EQ(store_->sources.list_quarantined("feed", 0, 10).front().id, quarantined.id)
      << "its state is unchanged";

  wait(70);
  feed_.queued_responses = {json_page(R"({"data":[],"cursor":"3","cursor":"4"})")};
  EXPECT_EQ(step().pages, 0u);
  EXPECT_EQ(source_row().state, "invalid");
  EXPECT_EQ(source_row().reason,
            "The name \"cursor\" appears twice at the top level; which one counts is not clear");
}

TEST_F(UnreadablePages, APollBySinceDoesNotSkipAnUnreadEvent) {
  use_since("");
  const std::string good = R"({"id":)" + std::to_string(store_.create_gifts(1)[0].value) +
                           R"(,"what":"opened","at":)" + std::to_string(kAt) + "}";
  const std::string twice = R"({"id":1,"id":2})";
  for (const std::string& item : {good, twice, twice}) {
    feed_.queued_responses = {json_page(R"({"data":[)" + item + "]}")};
    wait(70);
    step();
  }
  EXPECT_EQ(source_row().state, "invalid");
  EXPECT_THAT(source_row().reason, HasSubstr("cannot continue past them"));
  EXPECT_EQ(source_row().quarantined, 1);
}

// SRC-11
TEST_F(UnreadablePages, OneEventWithAnUnreadableValueNeitherStopsTheFeedNorIsLost) {
  const auto ids = store_.create_gifts(3);
  const auto item = [&](std::size_t i, const std::string& more) {
    return R"({"id":)" + std::to_string(ids[i].value) + R"(,"what":"opened","at":)" + std::to_string(kAt) +
           more + "}";
  };
  feed_.queued_responses = {
      json_page(R"({"data":[)" + item(0, "") + "," + item(1, R"(,"note":"see you \ud83d")") + "," +
                item(2, ",\"note\":" + std::string(100, '[') + std::string(100, ']')) + R"(],"cursor":"1"})"),
      json_page("\xEF\xBB\xBF{\"data\":[],\"cursor\":\"1\"}")};
  EXPECT_EQ(step().accepted, 3u);
  EXPECT_EQ(source_row().state, "ok");
  feed_.queued_responses = {json_page("{\n\"data\": nul}")};
  wait(70);
  step();
  EXPECT_THAT(source_row().reason, HasSubstr("not JSON: The text is not valid JSON at line 2"));
}

TEST_F(UnreadablePages, AnUnreadablePageWaitsForCorrectedPointers) {
  const auto ids = store_.create_gifts(3);
  for (const TransactionId id : ids) feed_.events.push_back({id.value, "opened", kAt});
  settings_.fields.status = "/st";
  for (int times = 0; times < 3; ++times) {
    const PollStats stats = step();
    EXPECT_EQ(stats.pages, 0u);
    EXPECT_EQ(stats.quarantined, 0u);
    const store::SourceSummary row = source_row();
    EXPECT_EQ(row.state, "invalid");
    EXPECT_THAT(row.reason, HasSubstr("none of the 2 events"));
    EXPECT_THAT(row.reason, HasSubstr("status: found nothing"));
    EXPECT_THAT(row.reason, HasSubstr("fields.status (/st)"));
    EXPECT_EQ(row.cursor_state, "");
    EXPECT_EQ(row.quarantined, 0);
    EXPECT_EQ(row.failures, times + 1);
    now_ = row.next_attempt_at;
  }
  settings_.fields.status = "/what";
  EXPECT_EQ(step().accepted, 3u);
  EXPECT_EQ(source_row().state, "ok");
  EXPECT_EQ(source_row().failures, 0);
}

TEST_F(UnreadablePages, AnUnreadablePageIsSkippedOnceThePointersAreVerified) {
  const auto ids = store_.create_gifts(3);
  feed_.page_size = 3;
  feed_.events = {{ids[0].value, "opened", kAt},
                  {ids[0].value, "redeemed", kAt + 1},
                  {ids[1].value, "opened", kAt + 2},
                  {-1, "opened", kAt + 3}};
  const PollStats stats = step();
  EXPECT_EQ(stats.accepted, 3u) << "the first page";
  EXPECT_EQ(stats.quarantined, 1u) << "the second";
  EXPECT_EQ(source_row().state, "ok");
  EXPECT_EQ(parse_poll_cursor(source_row().cursor_state).cursor, "4");
  EXPECT_EQ(parse_poll_cursor(source_row().cursor_state).consecutive_unreadable_pages, 1);
  EXPECT_EQ(store_->sources.list_quarantined("feed", 0, 10).front().reason,
            store::QuarantineReason::malformed);
  wait(70);
  feed_.events.push_back({ids[2].value, "opened", kAt + 4});
  EXPECT_EQ(step().accepted, 1u);
  EXPECT_EQ(parse_poll_cursor(source_row().cursor_state).consecutive_unreadable_pages, 0);

  settings_.fields.event_id = "/other";
  wait(70);
  feed_.events.push_back({-2, "opened", kAt});
  EXPECT_EQ(step().pages, 0u) << "edited pointers must be verified again";
  EXPECT_EQ(source_row().state, "invalid");
  EXPECT_THAT(source_row().reason, HasSubstr("fields.transaction_id (/id)"));
  EXPECT_EQ(source_row().quarantined, 1);
}

// SRC-41
TEST_F(UnreadablePages, AtMostThreeConsecutiveUnreadablePagesAreSkipped) {
  const auto ids = store_.create_gifts(2);
  feed_.page_size = 1;
  feed_.events = {{ids[0].value, "opened", kAt}};
  for (const std::int64_t odd : {-1, -2, -3, -4}) feed_.events.push_back({odd, "opened", kAt - odd});
  const PollStats stats = step();
  EXPECT_EQ(stats.accepted, 1u);
  EXPECT_EQ(stats.quarantined, 3u);
  for (int times = 0; times < 3; ++times) {
    const store::SourceSummary row = source_row();
    EXPECT_EQ(row.state, "invalid");
    EXPECT_THAT(row.reason, HasSubstr("like those of the 3 pages before it, which are quarantined"));
    EXPECT_EQ(parse_poll_cursor(row.cursor_state).cursor, "4");
    EXPECT_EQ(row.quarantined, 3);
    now_ = row.next_attempt_at;
    EXPECT_EQ(step().pages, 0u) << "it is requested again, also after a restart";
  }
  now_ = source_row().next_attempt_at;
  feed_.events.back().id = ids[1].value;
  EXPECT_EQ(step().accepted, 1u) << "an event is readable again";
  EXPECT_EQ(source_row().state, "ok");
  for (const std::int64_t odd : {-5, -6, -7}) feed_.events.push_back({odd, "opened", kAt - odd});
  wait(70);
  EXPECT_EQ(step().quarantined, 3u) << "the count begins again";
  EXPECT_EQ(source_row().state, "ok");
}

TEST_F(UnreadablePages, ARepeatedUnreadablePageIsNotCountedAgain) {
  use_since("");
  settings_.overlap_seconds = 3600;
  const auto page_of = [](const std::vector<std::int64_t>& ids) {
    nlohmann::json data = nlohmann::json::array();
    for (const std::int64_t id : ids) data.push_back({{"id", id}, {"what", "opened"}, {"at", kAt + 50}});
    return json_page(nlohmann::json::object({{"data", data}}).dump());
  };
  const auto passed = [&](const std::vector<std::int64_t>& ids) {
    feed_.queued_responses = {page_of(ids)};
    wait(70);
    EXPECT_EQ(step().pages, 1u);
    EXPECT_EQ(source_row().state, "ok");
    return parse_poll_cursor(source_row().cursor_state).consecutive_unreadable_pages;
  };
  EXPECT_EQ(passed({store_.create_gifts(1)[0].value}), 0);
  for (int times = 0; times < 6; ++times) EXPECT_EQ(passed({-5}), 1) << times;
  EXPECT_EQ(passed({-5, -6}), 2);
  EXPECT_EQ(passed({-6}), 2) << "the earlier one has left the window";
  EXPECT_EQ(passed({-6, -7}), 3);
  for (int times = 0; times < 3; ++times) EXPECT_EQ(passed({-6, -7}), 3) << times;
  EXPECT_EQ(source_row().quarantined, 3);
  feed_.queued_responses = {page_of({-7, -8})};
  wait(70);
  EXPECT_EQ(step().pages, 0u);
  EXPECT_EQ(source_row().state, "invalid");
  EXPECT_EQ(source_row().quarantined, 3);
}

// SRC-42
TEST_F(UnreadablePages, APollBySinceWithoutTimestampsReportsThatItCannotAdvance) {
  use_since("");
  const auto page = [](const nlohmann::json& at, std::int64_t id) {
    const nlohmann::json data = {{{"id", id}, {"what", "opened"}, {"at", at}}};
    return json_page(nlohmann::json::object({{"data", data}}).dump());
  };
  const auto ids = store_.create_gifts(2);
  const auto state_after = [&](const HttpGetResponse& response) {
    feed_.queued_responses = {response};
    wait(70);
    step();
    return source_row().state;
  };
  EXPECT_EQ(state_after(page(kAt, ids[0].value)), "ok");
  EXPECT_EQ(state_after(page("soon", ids[1].value)), "ok") << "skipped once";
  for (int times = 0; times < 3; ++times) {
    EXPECT_EQ(state_after(page("soon", ids[1].value)), "invalid") << times;
    EXPECT_EQ(source_row().failures, 0) << "it is requested again after the interval";
  }
  EXPECT_THAT(source_row().reason, HasSubstr("cannot continue past them"));
  EXPECT_EQ(source_row().quarantined, 1);
  EXPECT_EQ(state_after(page(kAt + 5, ids[1].value)), "ok");
}

TEST_F(UnreadablePages, AMemberThatChangesPerResponseIsNotANewEvent) {
  use_since("");
  const auto id = store_.create_gifts(1)[0].value;
  const auto page = [&](int age) {
    const nlohmann::json data = {{{"id", id}, {"what", "lost"}, {"at", kAt}, {"age", age}},
                                 {{"id", id}, {"what", "lost"}, {"at", kAt}, {"age", age + 1}}};
    return json_page(nlohmann::json::object({{"data", data}}).dump());
  };
  for (int age = 0; age < 5; ++age) {
    feed_.queued_responses = {page(10 * age)};
    wait(70);
    step();
    EXPECT_EQ(source_row().quarantined, 2) << "equal fields, but two on one page";
  }
}

// SRC-57
TEST_F(UnreadablePages, AnIgnoredStatusAcceptsAPageButVerifiesNoPointer) {
  settings_.status_map = {{"opened", "opened"}, {"noise", "ignore"}};
  feed_.page_size = 1;
  feed_.events = {{-1, "noise", kAt}, {-2, "opened", kAt}};
  EXPECT_EQ(step().pages, 1u);
  EXPECT_EQ(source_row().state, "invalid");
  EXPECT_EQ(parse_poll_cursor(source_row().cursor_state).cursor, "1");
  EXPECT_EQ(source_row().quarantined, 0);
}

TEST_F(UnreadablePages, WhileTheQuarantineIsFullAnUnreadablePageIsNotSkipped) {
  const auto ids = store_.create_gifts(4);
  for (std::size_t i = 0; i < ids.size(); ++i)
    feed_.events.push_back({ids[i].value, "opened", kAt + static_cast<std::int64_t>(i)});
  EXPECT_EQ(step().accepted, 4u);
  for (std::int64_t kept = 0; kept < store::kMaxQuarantined; kept += 20'000) {
    store::InboundBatch batch;
    batch.source = "feed";
    batch.now = now_;
    batch.items.resize(20'000);
    for (std::size_t i = 0; i < batch.items.size(); ++i) {
      batch.items[i].quarantined = true;
      batch.items[i].event.digest = std::to_string(kept) + "/" + std::to_string(i);
      batch.items[i].event.payload = "{}";
    }
    ASSERT_EQ(store_->sources.accept(batch).quarantined, batch.items.size());
  }
  feed_.events.push_back({-1, "opened", kAt});
  wait(70);
  EXPECT_EQ(step().pages, 0u);
  EXPECT_EQ(source_row().state, "over_limit");
  EXPECT_EQ(parse_poll_cursor(source_row().cursor_state).consecutive_unreadable_pages, 0);
  EXPECT_EQ(store_->sources.purge_quarantined("feed", std::nullopt), store::kMaxQuarantined);
  now_ = source_row().next_attempt_at;
  EXPECT_EQ(step().quarantined, 1u);
  EXPECT_EQ(source_row().state, "ok");
}

TEST_F(UnreadablePages, AnUnknownStatusDoesNotStopThePoll) {
  const auto ids = store_.create_gifts(1);
  const std::int64_t id = ids[0].value;
  feed_.events = {
      {id, "unwrapped", kAt}, {id, "lost", kAt + 1}, {id, "torn", kAt + 2}, {id, "eaten", kAt + 3}};
  EXPECT_EQ(step().quarantined, 4u);
  EXPECT_EQ(source_row().state, "ok");
  EXPECT_EQ(parse_poll_cursor(source_row().cursor_state).cursor, "4");
}

// SRC-55
TEST_F(UnreadablePages, EventsReadWithAWrongPointerAreReprocessedAfterItsCorrection) {
  const auto ids = store_.create_gifts(1);
  const std::string id = std::to_string(ids[0].value);
  const std::string at = std::to_string(kAt);
  feed_.queued_responses = {json_page(R"({"cursor":"2","data":[{"id":)" + id +
                                      R"(,"kind":"gift","what":"opened","at":)" + at + R"(},{"id":)" + id +
                                      R"(,"kind":"gift","what":"redeemed","at":)" + at + "}]}")};
  settings_.fields.status = "/kind";
  EXPECT_EQ(step().quarantined, 2u) << "equal fields, but different events";
  EXPECT_EQ(source_row().state, "ok");
  const auto go_on = [] { return true; };
  EXPECT_EQ(ingestor_.reprocess(compile_source(settings_, "inst"), now_, go_on).applied, 0u);
  settings_.fields.status = "/what";
  EXPECT_EQ(ingestor_.reprocess(compile_source(settings_, "inst"), now_, go_on).applied, 2u);
  EXPECT_EQ(change_count(ids[0]), 2u);
  EXPECT_EQ(source_row().quarantined, 0);
}

}  // namespace
}  // namespace giftsync::sources
