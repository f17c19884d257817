#include "daemon/http/refusal_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/http/problem.h"
#include "tests/support/captured_journal.h"
#include "tests/support/captured_log.h"

namespace giftsync::http {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class HttpRefusalLogTest : public ::testing::Test {
 protected:
  void respond(const std::string& client, HttpResponse response,
               const std::string& path = "/api/v1/gift_requests") {
    HttpRequest request;
    request.method = "POST";
    request.path = path;
    request.query = "secret-in-a-query";
    request.client = client;
    request.request_id = "id" + std::to_string(++requests_);
    response.caller = "gsk_live_Ab12Cd3";
    log_.record(request, "/api/v1/gift_requests", response, 3);
  }

  UtcMillis now_{1'795'264'267'000};
  int requests_ = 0;
  tests::CapturedLog lines_{spdlog::level::info};
  HttpRefusalLog log_{[this] { return now_; }};
};

// OPS-12
TEST_F(HttpRefusalLogTest, LogsEveryResponseAtDebugWithTheRouteNotThePath) {
  tests::CapturedLog all(spdlog::level::debug);
  HttpResponse success;
  success.status = 201;
  respond("203.0.113.7", success, "/g/a-token-that-opens-a-gift");
  EXPECT_THAT(all.take_lines(),
              ElementsAre("debug POST /api/v1/gift_requests: 201, from 203.0.113.7, key gsk_live_Ab12Cd3 "
                          "[request id1], 3 ms"));
}

TEST_F(HttpRefusalLogTest, SuccessIsNotLoggedAtInfo) {
  respond("203.0.113.7", HttpResponse{});
  EXPECT_THAT(lines_.take_lines(), IsEmpty());
}

// OPS-47
TEST_F(HttpRefusalLogTest, TheJournalHasTheCallsRequestIdAndSource) {
  tests::CapturedJournal journal;
  HttpResponse refused = problem("invalid", "");
  refused.source = "vendor";
  respond("203.0.113.7", refused);
  respond("203.0.113.7", refused);
  now_.value += 61'000;
  log_.flush();
  const auto entries = journal.take_entries();
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(tests::values_of(entries[0], "REQUEST_ID"), "id1");
  EXPECT_EQ(tests::values_of(entries[0], "SOURCE"), "vendor");
  EXPECT_EQ(tests::values_of(entries[0], "MESSAGE_ID"), kind_of(LogEvent::request_refused).id);
  EXPECT_EQ(tests::values_of(entries[1], "REQUEST_ID"), "id2") << "of the last one, which the line names";
}

// SRC-59
TEST_F(HttpRefusalLogTest, ARefusedWebhookIsLoggedWithItsSourceAndTheReason) {
  HttpRequest request;
  request.method = "POST";
  request.client = "203.0.113.7";
  request.request_id = "id1";
  HttpResponse response = problem("invalid", "status: found \"x\"");
  response.source = "vendor";
  response.reason = "no event could be read: status";
  constexpr std::string_view kRoute = "/api/v1/webhooks/status_changes/{source}";
  log_.record(request, kRoute, response, 3);
  EXPECT_THAT(lines_.take_lines(),
              ElementsAre("info refused: POST /api/v1/webhooks/status_changes/vendor: 400 invalid, from "
                          "203.0.113.7 [request id1] source=vendor reason=no event could be read: status"));
  response.source = "second";
  log_.record(request, kRoute, response, 3);
  now_.value += 61'000;
  log_.flush();
  EXPECT_THAT(
      lines_.take_lines(),
      ElementsAre("info refused: 1 more within a minute, the last one: POST "
                  "/api/v1/webhooks/status_changes/second: 400 invalid, from 203.0.113.7 [request id1] "
                  "source=second reason=no event could be read: status"));
}

// OPS-11
TEST_F(HttpRefusalLogTest, RepeatedRefusalsAreOneLineAMinuteWithACount) {
  for (int i = 0; i < 1000; ++i) respond("203.0.113.7", refused_api_key());
  EXPECT_THAT(lines_.take_lines(),
              ElementsAre(AllOf(StartsWith("info refused: POST"), HasSubstr("401 refused_api_key"),
                                HasSubstr("203.0.113.7"), HasSubstr("gsk_live_Ab12Cd3"), HasSubstr("id1"))));
  log_.flush();
  EXPECT_THAT(lines_.take_lines(), IsEmpty()) << "the minute is not over";
  now_.value += kMinuteMillis;
  log_.flush();
  EXPECT_THAT(lines_.take_lines(),
              ElementsAre(AllOf(StartsWith("warning refused: 999 more"), HasSubstr("id1000"))));
  log_.flush();
  EXPECT_THAT(lines_.take_lines(), IsEmpty());
}

TEST_F(HttpRefusalLogTest, LogsSuppressedRefusalsOnDestruction) {
  {
    HttpRefusalLog log([this] { return now_; });
    HttpRequest request;
    request.client = "203.0.113.7";
    for (int i = 0; i < 3; ++i) log.record(request, "/x", refused_api_key(), 0);
    lines_.take_lines();
  }
  EXPECT_THAT(lines_.take_lines(), ElementsAre(StartsWith("info refused: 2 more within a minute")));
}

TEST_F(HttpRefusalLogTest, AllCallersTogetherStayWithinTheLineLimit) {
  for (int i = 0; i < 5000; ++i)
    respond(std::to_string(1 + i % 200) + ".0.113." + std::to_string(i / 200), refused_api_key());
  EXPECT_THAT(lines_.take_lines(), SizeIs(Le(static_cast<std::size_t>(HttpRefusalLog::kMaxLinesPerMinute))));
  now_.value += kMinuteMillis;
  log_.flush();
  EXPECT_THAT(lines_.take_lines(), ElementsAre(HasSubstr("4940 more requests of other callers")));
}

TEST_F(HttpRefusalLogTest, InvalidBodyIsLoggedWithoutItsContent) {
  respond(
      "203.0.113.7",
      invalid_request({{"recipients[2].email", "invalid_email", "email \"ada@\" has nothing after its @."}},
                      CallKind::creates));
  respond("203.0.113.7", refused_api_key());
  EXPECT_THAT(
      lines_.take_lines(),
      ElementsAre(AllOf(HasSubstr("400 invalid: recipients[2].email invalid_email"), Not(HasSubstr("ada@"))),
                  HasSubstr("401")))
      << "refused keys do not suppress the line about a faulty body";
}

// OPS-11
TEST_F(HttpRefusalLogTest, AnotherReasonIsLoggedAlthoughARefusalWas) {
  const auto forbidden_for = [](const std::string& reason) {
    HttpResponse response = problem("sender_may_not_send", "No such account.");
    response.reason = reason;
    return response;
  };
  respond("203.0.113.7", refused_api_key());
  respond("203.0.113.7", forbidden_for("the account is inactive"));
  respond("203.0.113.7", forbidden_for("the account has another organization"));
  respond("203.0.113.7", forbidden_for("the account is inactive"));
  EXPECT_THAT(lines_.take_lines(), ElementsAre(HasSubstr("401"), HasSubstr("reason=the account is inactive"),
                                               HasSubstr("reason=the account has another organization")));
  now_.value += kMinuteMillis;
  log_.flush();
  EXPECT_THAT(lines_.take_lines(), ElementsAre(AllOf(HasSubstr("1 more within a minute"), HasSubstr("id4"))));
}

// OPS-11
TEST_F(HttpRefusalLogTest, ACallerHasAFewCausesAMinute) {
  for (int i = 0; i < 100; ++i) {
    HttpResponse response = problem("sender_may_not_send", "No such account.");
    response.reason = "reason " + std::to_string(i);
    respond("203.0.113.7", response);
  }
  EXPECT_THAT(lines_.take_lines(), SizeIs(HttpRefusalLog::kMaxCausesPerCaller + 1));
  now_.value += kMinuteMillis;
  log_.flush();
  EXPECT_THAT(lines_.take_lines(), ElementsAre(HasSubstr("95 more within a minute")));
}

TEST_F(HttpRefusalLogTest, AddressesOfOneNetworkAreOneCaller) {
  respond("2001:db8::1", refused_api_key());
  respond("2001:db8::2", refused_api_key());
  respond("2001:db8:0:1::1", refused_api_key());
  EXPECT_THAT(lines_.take_lines(), SizeIs(2));
}

}  // namespace
}  // namespace giftsync::http
