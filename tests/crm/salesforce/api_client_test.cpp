// Calls of an org on loopback: what is sent, how sessions are renewed, and what reaches the log.
#include "crm/salesforce/calls/api_client.h"

#include <Poco/InflatingStream.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include "tests/crm/salesforce/loopback_org.h"
#include "tests/crm/salesforce/recorded_answers.h"
#include "tests/support/captured_log.h"

namespace giftsync::salesforce {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kPath = "/services/data/v62.0/composite";
constexpr const char* kExpired =
    R"([{"message":"Session expired or invalid","errorCode":"INVALID_SESSION_ID"}])";

/// An org that accepts one session, "session N" after N sign-ins.
class ApiClientTest : public testing::Test {
 protected:
  ApiClientTest()
      : org_([this](const http::HttpRequest& request) { return respond(request); }),
        tokens_([this](UtcMillis) { return sign_in(); }, "settings", "secret", facts(),
                [this] { return UtcMillis{now_ += kHourMillis}; }),
        client_(http_, tokens_) {}

  http::HttpResponse respond(const http::HttpRequest& request) {
    const std::string session = "Bearer session " + std::to_string(valid_session_.load());
    if (request.header("Authorization") != session) return json_response(401, refusal_);
    return answer_(request);
  }
  SignInOutcome sign_in() {
    const int number = ++sign_ins_;
    if (sign_in_answer_) return *sign_in_answer_;
    return Session{"session " + std::to_string(number), org_.url(), "00Dx0000000BV7zEAG",
                   "005x00000012Q9PAAU"};
  }
  FactStorage facts() {
    return {[this](const std::string& name) {
              const std::lock_guard lock(mutex_);
              const auto found = facts_.find(name);
              return found == facts_.end() ? std::nullopt : std::optional(found->second);
            },
            [this](const std::string& name, const std::string& value) {
              const std::lock_guard lock(mutex_);
              facts_[name] = value;
            },
            [this](const std::string& name, const std::string& value) {
              const std::lock_guard lock(mutex_);
              return facts_.try_emplace(name, value).first->second;
            }};
  }
  ApiFault fault_of(const ApiRequest& request) {
    const auto result = client_.call(request);
    if (!result) return result.error();
    ADD_FAILURE() << "the call succeeded";
    return {ApiFault::Kind::no_response, "", false};
  }

  std::atomic<int> valid_session_ = 1;
  std::atomic<int> sign_ins_ = 0;
  std::string refusal_ = kExpired;
  std::optional<SignInOutcome> sign_in_answer_;
  LoopbackOrg::Respond answer_ = [](const auto&) { return json_response(200, "{}"); };
  LoopbackOrg org_;
  std::atomic<std::int64_t> now_ = 1'800'000'000'000;
  std::mutex mutex_;
  std::map<std::string, std::string> facts_;  // guarded by mutex_
  HttpClient http_{{}};
  AccessTokens tokens_;
  ApiClient client_;
};

TEST_F(ApiClientTest, SendsTokenAndJsonAndHandsOverTheUsage) {
  answer_ = [](const auto&) {
    return http::with_header(json_response(201, R"({"id":"a0G"})"), "Sforce-Limit-Info",
                             "api-usage=17/15000; per-app-api-usage=1/9(appName=x)");
  };
  const auto result = client_.call({.method = "PATCH",
                                    .path = kPath,
                                    .query = "q=SELECT%20Id",
                                    .body = R"({"a":1})",
                                    .headers = {"Sforce-Auto-Assign: FALSE"}});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->http.status, 201);
  EXPECT_EQ(result->http.body, R"({"id":"a0G"})");
  EXPECT_EQ(result->usage, (LimitInfo{{17, 15000}, CallQuota{1, 9}}));
  const http::HttpRequest request = org_.requests().at(0);
  EXPECT_EQ(request.method, "PATCH");
  EXPECT_EQ(request.path, kPath);
  EXPECT_EQ(request.query, "q=SELECT%20Id");
  EXPECT_EQ(request.body, R"({"a":1})");
  EXPECT_EQ(request.header("Authorization"), "Bearer session 1");
  EXPECT_EQ(request.header("Content-Type"), "application/json; charset=UTF-8");
  EXPECT_EQ(request.header("Sforce-Auto-Assign"), "FALSE");
  EXPECT_EQ(request.header("Sforce-Call-Options"), "client=giftsync");
  EXPECT_THAT(request.header("Accept-Encoding").value_or(""), HasSubstr("gzip"));
}

TEST_F(ApiClientTest, LongBodiesAreCompressed) {
  const std::string body = "\"" + std::string(100'000, 'a') + "\"";
  ASSERT_TRUE(client_.call({.method = "POST", .path = kPath, .body = body}));
  const http::HttpRequest request = org_.requests().at(0);
  EXPECT_EQ(request.header("Content-Encoding"), "gzip");
  EXPECT_LT(request.body.size(), 1000U);
  std::istringstream compressed(request.body);
  Poco::InflatingInputStream stream(compressed, Poco::InflatingStreamBuf::STREAM_GZIP);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), body);
}

TEST_F(ApiClientTest, AnEndedSessionIsRenewedOnceAndTheCallRepeated) {
  ASSERT_TRUE(client_.call({.path = kPath}));
  valid_session_ = 2;
  const auto result = client_.call({.method = "POST", .path = kPath, .body = "{}"});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(sign_ins_, 2);
  EXPECT_EQ(org_.count(kPath), 3U);
  EXPECT_EQ(org_.requests().back().body, "{}");
}

TEST_F(ApiClientTest, ManyThreadsRenewAnEndedSessionOnce) {
  ASSERT_TRUE(client_.call({.path = kPath}));
  valid_session_ = 2;
  std::latch ready(12);
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i) {
    threads.emplace_back([&] {
      ready.arrive_and_wait();
      EXPECT_TRUE(client_.call({.path = kPath}));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sign_ins_, 2);
}

TEST_F(ApiClientTest, ASecondRefusalEndsTheCall) {
  valid_session_ = 100;
  const ApiFault fault = fault_of({.path = kPath});
  EXPECT_EQ(fault.kind, ApiFault::Kind::session_refused);
  EXPECT_TRUE(fault.is_transient);
  EXPECT_FALSE(fault.may_have_arrived);
  EXPECT_EQ(fault.status, 401);
  EXPECT_EQ(org_.count(kPath), 2U);
  EXPECT_EQ(sign_ins_, 2);
}

TEST_F(ApiClientTest, SomeRefusalsAreNotCuredByAnotherSession) {
  valid_session_ = 100;
  const std::pair<const char*, const char*> refusals[] = {
      {R"([{"message":"This session is not valid for use with the REST API","errorCode":"INVALID_SESSION_ID"}])",
       "API Enabled"},
      {R"([{"message":"Connected app is not attached to Agent","errorCode":"INVALID_SESSION_ID"}])", "agent"},
      {R"([{"message":"INVALID_HEADER_TYPE","errorCode":"INVALID_AUTH_HEADER"}])", "Login History"},
      {"<html>proxy</html>", "<html>proxy</html>"},
  };
  for (const auto& [body, words] : refusals) {
    refusal_ = body;
    const ApiFault fault = fault_of({.path = kPath});
    EXPECT_EQ(fault.kind, ApiFault::Kind::session_refused) << body;
    EXPECT_FALSE(fault.is_transient) << body;
    EXPECT_THAT(fault.message, HasSubstr(words));
  }
  EXPECT_EQ(sign_ins_, 1);
  EXPECT_EQ(org_.count(kPath), 4U);
}

TEST_F(ApiClientTest, RefusalsOfTheApiAreResponses) {
  for (const int status : {300, 304, 400, 403, 404, 412, 500, 503}) {
    answer_ = [&](const auto&) { return json_response(status, status == 304 ? "" : kExpired); };
    const auto result = client_.call({.path = kPath});
    ASSERT_TRUE(result) << status << ' ' << result.error().message;
    EXPECT_EQ(result->http.status, status);
  }
  EXPECT_EQ(sign_ins_, 1);
}

TEST_F(ApiClientTest, APageInsteadOfJsonIsAFaultWithItsBeginning) {
  const std::string page = "<html>" + std::string(500, 'x') + "\n\x1b[2J";
  for (const auto& [status, is_transient] :
       {std::pair{503, true}, {502, true}, {429, true}, {200, true}, {404, false}, {410, false}}) {
    answer_ = [&](const auto&) {
      return http::with_retry_after(http::text_response(status, "text/html", page), 7);
    };
    const ApiFault fault = fault_of({.method = "POST", .path = kPath, .body = "{}"});
    EXPECT_EQ(fault.kind, ApiFault::Kind::not_json);
    EXPECT_EQ(fault.status, status);
    EXPECT_EQ(fault.is_transient, is_transient) << status;
    EXPECT_TRUE(fault.may_have_arrived);
    EXPECT_EQ(fault.retry_after_seconds, 7);
    EXPECT_THAT(fault.message, HasSubstr("HTTP " + std::to_string(status) + ", text/html: <html>xxx"));
    EXPECT_THAT(fault.message, Not(HasSubstr(std::string(195, 'x'))));
  }
}

TEST_F(ApiClientTest, ARedirectIsNotFollowed) {
  answer_ = [](const auto&) {
    return http::with_header(json_response(302, ""), "Location", "https://elsewhere.example/?secret=1");
  };
  const ApiFault fault = fault_of({.path = kPath});
  EXPECT_EQ(fault.kind, ApiFault::Kind::not_json);
  EXPECT_THAT(fault.message, AllOf(HasSubstr("elsewhere.example"), Not(HasSubstr("secret=1"))));
  EXPECT_EQ(org_.requests().size(), 1U);
}

TEST_F(ApiClientTest, WithoutASessionNothingIsCalled) {
  const struct {
    SignInOutcome answer;
    ApiFault::Kind kind;
    bool is_transient;
  } cases[] = {
      {SignInFault{"no answer", 30}, ApiFault::Kind::sign_in_failed, true},
      {Session{"t", org_.url(), "00Dy0000000CW8aEAG", "005x00000012Q9PAAU"},
       ApiFault::Kind::other_organization, false},
  };
  facts_[kOrganizationFact] = "00Dx0000000BV7zEAG";
  for (const auto& one : cases) {
    sign_in_answer_ = one.answer;
    const ApiFault fault = fault_of({.path = kPath});
    EXPECT_EQ(fault.kind, one.kind);
    EXPECT_EQ(fault.is_transient, one.is_transient);
    EXPECT_FALSE(fault.may_have_arrived);
  }
  EXPECT_TRUE(org_.requests().empty());
}

TEST_F(ApiClientTest, ARefusedSignInSaysWhatToDo) {
  sign_in_answer_ = SignInRefusal{"invalid_grant", "correct the settings"};
  for (int i = 0; i < 3; ++i) {
    const ApiFault fault = fault_of({.path = kPath});
    EXPECT_EQ(fault.kind, ApiFault::Kind::sign_in_refused);
    EXPECT_FALSE(fault.is_transient);
    EXPECT_EQ(fault.message,
              "Salesforce refuses the sign-in (invalid_grant); correct the settings, then reload giftsyncd");
  }
  EXPECT_EQ(sign_ins_, 1);
}

TEST_F(ApiClientTest, APathFromAnAnswerStaysOnTheOrgsHost) {
  const auto result = client_.call({.path = "@192.0.2.1/x"});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(org_.requests().at(0).path, "/@192.0.2.1/x");
}

TEST_F(ApiClientTest, TheLogHasNoSecretQueryOrBody) {
  answer_ = [](const auto&) {
    return http::with_header(json_response(200, R"({"email":"kim@example.com"})"), "Sforce-Limit-Info",
                             "api-usage=3/15000");
  };
  tests::CapturedLog log(spdlog::level::debug);
  ASSERT_TRUE(client_.call({.method = "POST",
                            .path = kPath,
                            .query = "q=ana",
                            .body = R"({"to":"ana@example.com"})",
                            .rows = 200}));
  EXPECT_THAT(log.take_lines(),
              ElementsAre(AllOf(HasSubstr("method=POST"), HasSubstr(std::string("path=") + kPath),
                                HasSubstr("status=200"), HasSubstr("rows=200"), HasSubstr("sent_bytes=24"),
                                HasSubstr("bytes=27"), HasSubstr("millis="), HasSubstr("api_usage=3/15000"),
                                Not(HasSubstr("session 1")), Not(HasSubstr("example.com")),
                                Not(HasSubstr("q=ana")))));
}

TEST_F(ApiClientTest, TheRecordedEndOfASessionIsOne) {
  SKIP_WITHOUT_RECORDED();
  refusal_ = recorded("restforce/expired_session_response.json");
  ASSERT_TRUE(client_.call({.path = kPath}));
  valid_session_ = 2;
  EXPECT_TRUE(client_.call({.path = kPath}));
}

}  // namespace
}  // namespace giftsync::salesforce
