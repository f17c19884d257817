// Which door serves which path, by which methods and under which name in the log, and what a caller reads who
// came to the wrong one.
#include "daemon/http/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "schema/broken_world.h"
#include "tests/daemon/captured_log.h"

namespace giftsync::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr schema::UtcMillis kNow{1'795'264'267'000};
constexpr ServedPaths kOneDoor{true, true};
constexpr ServedPaths kBaseDoor{true, false};
constexpr ServedPaths kAdminDoor{false, true};

struct Served {
  std::string method;
  std::string path;
  std::string who;    ///< and what the path names
  std::string allow;  ///< what is told of other methods; empty: they go to the same one
  std::string logged_as;
};
const std::vector<Served> kBasePaths{
    {"POST", "/api/v1/gift_requests", "send_by_email ", "POST", "/api/v1/gift_requests"},
    {"GET", "/api/v1/gift_requests/7", "read_request 7", "GET, HEAD", "/api/v1/gift_requests/{id}"},
    {"GET", "/g/abc", "page abc", "", "/g/{link}"},
    {"POST", "/g/a/b", "page a/b", "", "/g/{link}"},
    {"GET", "/g/", "page ", "", "/g/{link}"},
};
const std::vector<Served> kAdminPaths{
    {"POST", "/api/v1/webhooks/gift_requests", "hand_out_urls ", "POST", "/api/v1/webhooks/gift_requests"},
    {"POST", "/api/v1/crm/gift_requests", "send_from_crm ", "POST", "/api/v1/crm/gift_requests"},
    {"GET", "/api/v1/sso/metadata/okta", "metadata okta", "GET, HEAD", "/api/v1/sso/metadata/{connection}"},
    {"POST", "/api/v1/webhooks/status_changes/vendor", "status_changes vendor", "",
     "/api/v1/webhooks/status_changes/{source}"},
    {"POST", "/api/v1/request_records", "make_record ", "POST", "/api/v1/request_records"},
    {"HEAD", "/api/v1/request_records/R-1", "read_record R-1", "GET, HEAD",
     "/api/v1/request_records/{number}"},
    {"POST", "/api/v1/request_records/R-1/approve", "approve_record R-1", "POST",
     "/api/v1/request_records/{number}"},
    {"POST", "/api/v1/request_records/R-1/reject", "reject_record R-1", "POST",
     "/api/v1/request_records/{number}"},
};
/// There is nothing at these, but each is below what a door serves.
const std::vector<std::string> kBelowBase{"/api/v1/gift_requests/", "/api/v1/gift_requests/7/x"};
const std::vector<std::string> kBelowAdmin{"/api/v1/request_records/", "/api/v1/request_records//approve",
                                           "/api/v1/request_records/R-1/", "/api/v1/request_records/R-1/else",
                                           "/api/v1/request_records/R-1/x/approve"};

class RouterTest : public ::testing::Test {
 protected:
  HttpResponse call(const std::string& method, const std::string& path, ServedPaths served = kOneDoor) {
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.client = "127.0.0.1";
    return router_.answer(request, served);
  }
  std::string message(const std::string& path, ServedPaths served) {
    const HttpResponse answer = call("POST", path, served);
    EXPECT_EQ(answer.status, 404) << path;
    return nlohmann::json::parse(answer.body).value("message", "");
  }
  static std::string allow(const HttpResponse& answer) {
    for (const auto& [name, value] : answer.headers) {
      if (name == "Allow") return value;
    }
    return {};
  }
  Answers::Answer answer_of(const std::string& who) {
    return [this, who](const HttpRequest&, std::string_view named) {
      if (broken_) throw *broken_;
      HttpResponse response;
      response.body = who + " " + std::string(named);
      return response;
    };
  }

  schema::UtcMillis now_ = kNow;
  std::optional<schema::BrokenWorld> broken_;
  bool store_is_good_ = true;
  const Clock clock_ = [this] { return now_; };
  RequestLog log_{clock_};
  Router router_{{.send_by_email = answer_of("send_by_email"),
                  .read_request = answer_of("read_request"),
                  .page = answer_of("page"),
                  .hand_out_urls = answer_of("hand_out_urls"),
                  .send_from_crm = answer_of("send_from_crm"),
                  .metadata = answer_of("metadata"),
                  .status_changes = answer_of("status_changes"),
                  .make_record = answer_of("make_record"),
                  .read_record = answer_of("read_record"),
                  .approve_record = answer_of("approve_record"),
                  .reject_record = answer_of("reject_record")},
                 [this] { return store_is_good_; },
                 log_,
                 clock_};
};

TEST_F(RouterTest, OneDoorServesEveryPathByItsMethodsAndUnderItsName) {
  CapturedLog log(spdlog::level::debug);
  for (const auto& paths : {kBasePaths, kAdminPaths}) {
    for (const Served& one : paths) {
      EXPECT_EQ(call(one.method, one.path).body, one.who) << one.path;
      EXPECT_THAT(log.take(), ElementsAre(StartsWith("debug " + one.method + " " + one.logged_as + ": 200")));
      const HttpResponse other = call("DELETE", one.path);
      EXPECT_EQ(other.status, one.allow.empty() ? 200 : 405) << one.path;
      EXPECT_EQ(allow(other), one.allow) << one.path;
      log.take();
    }
  }
}

TEST_F(RouterTest, EachOfTwoDoorsNamesTheOtherForItsPaths) {
  for (const Served& one : kAdminPaths) {
    EXPECT_EQ(call(one.method, one.path, kAdminDoor).body, one.who) << one.path;
    EXPECT_THAT(message(one.path, kBaseDoor), HasSubstr("the setting server.admin_url")) << one.path;
  }
  for (const Served& one : kBasePaths) {
    EXPECT_EQ(call(one.method, one.path, kBaseDoor).body, one.who) << one.path;
    EXPECT_THAT(message(one.path, kAdminDoor), HasSubstr("the setting server.base_url")) << one.path;
  }
}

TEST_F(RouterTest, BelowWhatADoorServesThereIsNothingAndTheOtherDoorPointsThere) {
  for (const std::string& path : kBelowBase) {
    EXPECT_THAT(message(path, kBaseDoor), HasSubstr("There is nothing at this address.")) << path;
    EXPECT_THAT(message(path, kAdminDoor), HasSubstr("the setting server.base_url")) << path;
  }
  for (const std::string& path : kBelowAdmin) {
    EXPECT_THAT(message(path, kAdminDoor), HasSubstr("There is nothing at this address.")) << path;
    EXPECT_THAT(message(path, kBaseDoor), HasSubstr("the setting server.admin_url")) << path;
  }
}

TEST_F(RouterTest, WhatNoDoorServesIsToldAsBefore) {
  for (const std::string path : {"/", "/api/v1/gift_requestsx", "/api/v1/request_recordsx", "/favicon.ico"}) {
    for (const ServedPaths doors : {kOneDoor, kBaseDoor, kAdminDoor}) {
      EXPECT_THAT(message(path, doors), HasSubstr("There is nothing at this address.")) << path;
      EXPECT_THAT(message(path, doors), Not(HasSubstr("the setting"))) << path;
    }
  }
}

TEST_F(RouterTest, BothDoorsAnswerProbes) {
  for (const ServedPaths doors : {kOneDoor, kBaseDoor, kAdminDoor}) {
    EXPECT_EQ(call("GET", "/-/healthy", doors).body, "healthy\n");
    EXPECT_EQ(call("HEAD", "/-/ready", doors).body, "ready\n");
    EXPECT_EQ(allow(call("POST", "/-/healthy", doors)), "GET, HEAD");
    EXPECT_EQ(allow(call("POST", "/-/ready", doors)), "GET, HEAD");
  }
  store_is_good_ = false;
  EXPECT_EQ(call("GET", "/-/ready").status, 503);
  EXPECT_EQ(call("GET", "/-/healthy").status, 200);
}

/// What happens so many milliseconds after the beginning, what the log says then, and whether the daemon is
/// ready.
struct Moment {
  std::int64_t at_millis;
  enum class Event { fault, lasting_fault, answer, housekeeping } event;
  std::vector<std::string> log;
  bool is_ready;
};

TEST_F(RouterTest, AnOutageIsOneLineWhenItBeginsAndOneWhenItIsOver) {
  using enum Moment::Event;
  const std::string fault_line = "error POST /api/v1/gift_requests failed: disk full [request ]";
  const auto over_line = [](int failed) {
    return "info requests are answered again, after " + std::to_string(failed) + " failed ones";
  };
  const std::vector<Moment> moments{
      {0, answer, {}, true},
      {1'000, fault, {fault_line}, false},
      {1'010, answer, {}, true},  // slipped through
      {1'020, fault, {}, false},
      {1'030, answer, {}, true},
      {4'000, fault, {}, false},
      {6'999, housekeeping, {}, false},
      {7'000, housekeeping, {}, true},   // worth a try again
      {30'000, housekeeping, {}, true},  // nobody called: nothing says that it is over
      {31'000, answer, {}, true},
      {36'999, answer, {}, true},
      {37'000, answer, {over_line(3)}, true},
      {37'001, answer, {}, true},
      {50'000, lasting_fault, {fault_line}, false},
      {50'001, lasting_fault, {fault_line}, false},  // each is worth a line
      {51'000, answer, {}, true},
      {56'999, housekeeping, {}, true},
      {57'000, housekeeping, {over_line(2)}, true},
      {60'000, fault, {fault_line}, false},
      {61'000, answer, {}, true},
      {99'000, fault, {over_line(1), fault_line}, false},  // another one
  };
  CapturedLog log;
  for (const Moment& moment : moments) {
    now_ = kNow + moment.at_millis;
    if (moment.event == fault || moment.event == lasting_fault)
      broken_.emplace(moment.event == fault, "disk full");
    else
      broken_.reset();
    if (moment.event == housekeeping)
      router_.catch_up();
    else
      call("POST", "/api/v1/gift_requests");
    EXPECT_EQ(log.take(), moment.log) << moment.at_millis;
    EXPECT_EQ(call("GET", "/-/ready").status, moment.is_ready ? 200 : 503) << moment.at_millis;
  }
}

TEST_F(RouterTest, AFaultThatPassesIs503AndOneThatStaysIs500) {
  CapturedLog log;
  broken_.emplace(true, "disk full");
  EXPECT_EQ(call("GET", "/api/v1/gift_requests/7").status, 503);
  broken_.emplace(false, "no such table");
  EXPECT_EQ(call("GET", "/api/v1/gift_requests/7").status, 500);
}

}  // namespace
}  // namespace giftsync::daemon
