#include "daemon/http/request_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/http/problem.h"
#include "tests/daemon/captured_log.h"

namespace giftsync::daemon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class RequestLogTest : public ::testing::Test {
 protected:
  void answer(const std::string& client, HttpResponse response,
              const std::string& path = "/api/v1/gift_requests") {
    HttpRequest request;
    request.method = "POST";
    request.path = path;
    request.query = "secret-in-a-query";
    request.client = client;
    request.request_id = "id" + std::to_string(++requests_);
    response.caller = "gsk_live_Ab12Cd3";
    log_.note(request, "/api/v1/gift_requests", response, 3);
  }

  schema::UtcMillis now_{1'795'264'267'000};
  int requests_ = 0;
  CapturedLog lines_{spdlog::level::info};
  RequestLog log_{[this] { return now_; }};
};

TEST_F(RequestLogTest, EveryAnswerIsALineAtDebugWithTheRouteAndNotThePath) {
  CapturedLog all(spdlog::level::debug);
  HttpResponse good;
  good.status = 201;
  answer("203.0.113.7", good, "/g/a-token-that-opens-a-gift");
  EXPECT_THAT(all.take(),
              ElementsAre("debug POST /api/v1/gift_requests: 201, from 203.0.113.7, key gsk_live_Ab12Cd3 "
                          "[request id1], 3 ms"));
}

TEST_F(RequestLogTest, AGoodAnswerIsNoLineAtInfo) {
  answer("203.0.113.7", HttpResponse{});
  EXPECT_THAT(lines_.take(), IsEmpty());
}

TEST_F(RequestLogTest, AFloodOfRefusalsIsOneLineAMinuteWithACount) {
  for (int i = 0; i < 1000; ++i) answer("203.0.113.7", refused_api_key());
  EXPECT_THAT(lines_.take(),
              ElementsAre(AllOf(StartsWith("info refused: POST"), HasSubstr("401 refused_api_key"),
                                HasSubstr("203.0.113.7"), HasSubstr("gsk_live_Ab12Cd3"), HasSubstr("id1"))));
  log_.catch_up();
  EXPECT_THAT(lines_.take(), IsEmpty()) << "the minute is not over";
  now_.value += schema::kMinuteMillis;
  log_.catch_up();
  EXPECT_THAT(lines_.take(),
              ElementsAre(AllOf(StartsWith("warning refused: 999 more"), HasSubstr("id1000"))));
  log_.catch_up();
  EXPECT_THAT(lines_.take(), IsEmpty());
}

TEST_F(RequestLogTest, WhatIsLeftAtTheEndIsTold) {
  {
    RequestLog log([this] { return now_; });
    HttpRequest request;
    request.client = "203.0.113.7";
    for (int i = 0; i < 3; ++i) log.note(request, "/x", refused_api_key(), 0);
    lines_.take();
  }
  EXPECT_THAT(lines_.take(), ElementsAre(StartsWith("info refused: 2 more within a minute")));
}

TEST_F(RequestLogTest, ManyCallersTogetherCostNoMoreLinesThanTheLimit) {
  for (int i = 0; i < 5000; ++i)
    answer(std::to_string(1 + i % 200) + ".0.113." + std::to_string(i / 200), refused_api_key());
  EXPECT_THAT(lines_.take(), SizeIs(Le(static_cast<std::size_t>(RequestLog::kMostLines))));
  now_.value += schema::kMinuteMillis;
  log_.catch_up();
  EXPECT_THAT(lines_.take(), ElementsAre(HasSubstr("4940 more requests of other callers")));
}

TEST_F(RequestLogTest, AFaultInTheBodyIsTellableWithoutWhatTheCallerWrote) {
  answer(
      "203.0.113.7",
      invalid_request({{"recipients[2].email", "invalid_email", "email \"ada@\" has nothing after its @."}}));
  answer("203.0.113.7", refused_api_key());
  EXPECT_THAT(lines_.take(), ElementsAre(AllOf(HasSubstr("400 invalid: recipients[2].email invalid_email"),
                                               Not(HasSubstr("ada@"))),
                                         HasSubstr("401")))
      << "who guesses keys does not hide who sends faulty bodies";
}

TEST_F(RequestLogTest, NeighboursInOneNetworkAreOneCaller) {
  answer("2001:db8::1", refused_api_key());
  answer("2001:db8::2", refused_api_key());
  answer("2001:db8:0:1::1", refused_api_key());
  EXPECT_THAT(lines_.take(), SizeIs(2));
}

}  // namespace
}  // namespace giftsync::daemon
