// Which listener serves which path, with which methods and log name, and the response of the wrong listener.
#include "daemon/http/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/dependency_error.h"
#include "sync/access/credential.h"
#include "tests/support/captured_log.h"
#include "tests/support/json.h"

namespace giftsync::http {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr UtcMillis kNow{1'795'264'267'000};
constexpr ListenerScope kBothScopes{true, true};
constexpr ListenerScope kBaseScope{true, false};
constexpr ListenerScope kAdminScope{false, true};

struct RouteCase {
  std::string method;
  std::string path;
  std::string handler;  ///< and the path parameter
  std::string allow;    ///< Allow header for other methods; empty: the handler gets every method
  std::string log_name;
};
const std::vector<RouteCase> kBasePaths{
    {"POST", "/api/v1/gift_requests", "send_by_email ", "GET, HEAD, POST", "/api/v1/gift_requests"},
    {"GET", "/api/v1/gift_requests", "list_gift_requests ", "GET, HEAD, POST", "/api/v1/gift_requests"},
    {"HEAD", "/api/v1/gifts", "list_gifts ", "GET, HEAD", "/api/v1/gifts"},
    {"GET", "/api/v1/gifts/7", "read_gift 7", "GET, HEAD", "/api/v1/gifts/{id}"},
    {"GET", "/api/v1/gifts/7/history", "read_gift_history 7", "GET, HEAD", "/api/v1/gifts/{id}/history"},
    {"GET", "/api/v1/gifts/7/match", "read_gift_match 7", "GET, HEAD", "/api/v1/gifts/{id}/match"},
    {"POST", "/api/v1/gifts/7/cancel", "cancel_gift 7", "POST", "/api/v1/gifts/{id}/cancel"},
    {"POST", "/api/v1/gifts/7/resend", "resend_gift 7", "POST", "/api/v1/gifts/{id}/resend"},
    {"POST", "/api/v1/gifts/7/extend", "extend_gift 7", "POST", "/api/v1/gifts/{id}/extend"},
    {"GET", "/api/v1/items", "list_items ", "GET, HEAD", "/api/v1/items"},
    {"GET", "/api/v1/items/7", "read_item 7", "GET, HEAD", "/api/v1/items/{id}"},
    {"GET", "/api/v1/balance", "read_balance ", "GET, HEAD", "/api/v1/balance"},
    {"GET", "/api/v1/events", "list_events ", "GET, HEAD", "/api/v1/events"},
    {"POST", "/api/v1/gift_requests/validate", "validate_by_email ", "POST",
     "/api/v1/gift_requests/validate"},
    {"GET", "/api/v1/gift_requests/7", "read_gift_request 7", "GET, HEAD", "/api/v1/gift_requests/{id}"},
    {"GET", "/g/abc", "page abc", "", "/g/{link}"},
    {"POST", "/g/a/b", "page a/b", "", "/g/{link}"},
    {"GET", "/g/", "page ", "", "/g/{link}"},
};
const std::vector<RouteCase> kAdminPaths{
    {"POST", "/api/v1/webhooks/gift_requests", "create_urls ", "POST", "/api/v1/webhooks/gift_requests"},
    {"POST", "/api/v1/crm/gift_requests", "send_from_crm ", "POST", "/api/v1/crm/gift_requests"},
    {"POST", "/api/v1/webhooks/gift_requests/validate", "validate_urls ", "POST",
     "/api/v1/webhooks/gift_requests/validate"},
    {"POST", "/api/v1/crm/gift_requests/validate", "validate_from_crm ", "POST",
     "/api/v1/crm/gift_requests/validate"},
    {"POST", "/api/v1/crm/salesforce/messages/abc", "outbound_message abc", "POST",
     "/api/v1/crm/salesforce/messages/{token}"},
    {"GET", "/api/v1/sso/metadata/okta", "metadata okta", "GET, HEAD", "/api/v1/sso/metadata/{connection}"},
    {"POST", "/api/v1/webhooks/status_changes/vendor", "status_changes vendor", "",
     "/api/v1/webhooks/status_changes/{source}"},
    {"POST", "/api/v1/request_records", "create_record ", "POST", "/api/v1/request_records"},
    {"POST", "/api/v1/request_records/validate", "validate_record ", "POST",
     "/api/v1/request_records/validate"},
    {"HEAD", "/api/v1/request_records/R-1", "read_record R-1", "GET, HEAD",
     "/api/v1/request_records/{number}"},
    {"POST", "/api/v1/request_records/R-1/approve", "approve_record R-1", "POST",
     "/api/v1/request_records/{number}"},
    {"POST", "/api/v1/request_records/R-1/reject", "reject_record R-1", "POST",
     "/api/v1/request_records/{number}"},
    {"GET", "/api/v1/held_requests", "list_held ", "GET, HEAD", "/api/v1/held_requests"},
    {"HEAD", "/api/v1/held_requests/7", "read_held 7", "GET, HEAD", "/api/v1/held_requests/{id}"},
    {"POST", "/api/v1/held_requests/7/approve", "approve_held 7", "POST", "/api/v1/held_requests/{id}"},
    {"POST", "/api/v1/held_requests/7/reject", "reject_held 7", "POST", "/api/v1/held_requests/{id}"},
    {"GET", "/console", "console ", "", "/console"},
    {"GET", "/console/", "console ", "", "/console/{page}"},
    {"GET", "/console/gifts/7", "console gifts/7", "", "/console/{page}"},
    {"POST", "/console/link/secret", "console secret", "", "/console/link/{token}"},
    {"POST", "/console/requests/R-1/approve", "console R-1/approve", "", "/console/{page}"},
};
/// No endpoint, but below the path of one.
const std::vector<std::string> kSubpathsOfBase{"/api/v1/gift_requests/", "/api/v1/gift_requests/7/x"};
const std::vector<std::string> kSubpathsOfAdmin{
    "/api/v1/request_records/", "/api/v1/request_records//approve", "/api/v1/request_records/R-1/",
    "/api/v1/request_records/R-1/else", "/api/v1/request_records/R-1/x/approve"};

class RouterTest : public ::testing::Test {
 protected:
  HttpResponse call(const std::string& method, const std::string& path, ListenerScope scope = kBothScopes) {
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.client = "127.0.0.1";
    return router_.handle(scope, request).wait();
  }
  std::string message(const std::string& path, ListenerScope scope) {
    const HttpResponse response = call("POST", path, scope);
    EXPECT_EQ(response.status, 404) << path;
    return tests::parse_json(response.body).value("message", "");
  }
  static std::string allow(const HttpResponse& response) {
    for (const auto& [name, value] : response.headers) {
      if (name == "Allow") return value;
    }
    return {};
  }
  Handlers::Handler handler_named(const std::string& handler) {
    return [this, handler](const HttpRequest&, std::string_view path_parameter) {
      if (error_) throw *error_;
      HttpResponse response;
      response.body = handler + " " + std::string(path_parameter);
      return response;
    };
  }

  UtcMillis now_ = kNow;
  std::optional<DependencyError> error_;
  bool store_is_writable_ = true;
  const giftsync::Clock clock_ = [this] { return now_; };
  HttpRefusalLog log_{clock_};
  Router router_{{.send_by_email = handler_named("send_by_email"),
                  .read_gift_request = handler_named("read_gift_request"),
                  .read_balance = handler_named("read_balance"),
                  .list_events = handler_named("list_events"),
                  .page = handler_named("page"),
                  .create_urls = handler_named("create_urls"),
                  .send_from_crm = handler_named("send_from_crm"),
                  .metadata = handler_named("metadata"),
                  .status_changes = handler_named("status_changes"),
                  .create_record = handler_named("create_record"),
                  .read_record = handler_named("read_record"),
                  .approve_record = handler_named("approve_record"),
                  .reject_record = handler_named("reject_record"),
                  .outbound_message = handler_named("outbound_message"),
                  .validate_by_email = handler_named("validate_by_email"),
                  .validate_urls = handler_named("validate_urls"),
                  .validate_from_crm = handler_named("validate_from_crm"),
                  .validate_record = handler_named("validate_record"),
                  .list_held = handler_named("list_held"),
                  .read_held = handler_named("read_held"),
                  .approve_held = handler_named("approve_held"),
                  .reject_held = handler_named("reject_held"),
                  .list_gift_requests = handler_named("list_gift_requests"),
                  .list_gifts = handler_named("list_gifts"),
                  .read_gift = handler_named("read_gift"),
                  .read_gift_history = handler_named("read_gift_history"),
                  .read_gift_match = handler_named("read_gift_match"),
                  .cancel_gift = handler_named("cancel_gift"),
                  .resend_gift = handler_named("resend_gift"),
                  .extend_gift = handler_named("extend_gift"),
                  .list_items = handler_named("list_items"),
                  .read_item = handler_named("read_item"),
                  .console = handler_named("console"),
                  .page_unavailable =
                      [](const HttpRequest&, std::int64_t retry_after_seconds) {
                        return with_header(HttpResponse{503, {}, "a page"}, "Retry-After",
                                           std::to_string(retry_after_seconds));
                      },
                  .console_unavailable =
                      [](const HttpRequest&, std::int64_t) {
                        return HttpResponse{503, {}, "a console page"};
                      }},
                 [this] { return store_is_writable_; },
                 "3f8a",
                 log_,
                 clock_};
};

TEST_F(RouterTest, AVisitorOfAPageGetsAPageWhileTheStoreIsOut) {
  error_ = DependencyError(true, "the database cannot be reached");
  EXPECT_EQ(call("GET", "/g/abc").body, "a page");
  EXPECT_EQ(call("GET", "/g/abc").status, 503);
  EXPECT_EQ(call("GET", "/console/gifts").body, "a console page");
  const HttpResponse of_a_program = call("GET", "/api/v1/gift_requests/1");
  EXPECT_EQ(of_a_program.status, 503);
  EXPECT_EQ(tests::parse_json(of_a_program.body)["code"], "unavailable");
}

TEST_F(RouterTest, OneListenerServesEveryPathWithItsMethodsAndLogName) {
  tests::CapturedLog log(spdlog::level::debug);
  for (const auto& paths : {kBasePaths, kAdminPaths}) {
    for (const RouteCase& one : paths) {
      EXPECT_EQ(call(one.method, one.path).body, one.handler) << one.path;
      EXPECT_THAT(log.take_lines(),
                  ElementsAre(StartsWith("debug " + one.method + " " + one.log_name + ": 200")));
      const HttpResponse other = call("DELETE", one.path);
      EXPECT_EQ(other.status, one.allow.empty() ? 200 : 405) << one.path;
      EXPECT_EQ(allow(other), one.allow) << one.path;
      log.take_lines();
    }
  }
}

// MSG-3
TEST_F(RouterTest, AMessageTokenIsInNoLineOfTheLog) {
  tests::CapturedLog log(spdlog::level::debug);
  const std::string token = sync::make_credential(CredentialKind::message_token).text;
  const std::string path = "/api/v1/crm/salesforce/messages/" + token;
  for (const std::string& called : {path, path + "/", path + "/x", "/api/v1/crm/salesforce/" + token})
    for (const ListenerScope scope : {kBothScopes, kBaseScope, kAdminScope}) {
      EXPECT_THAT(call("POST", called, scope).body,
                  AnyOf("outbound_message " + token, Not(HasSubstr(token))));
      call("GET", called, scope);
    }
  for (const bool is_transient : {true, false}) {
    error_.emplace(is_transient, "disk full");
    call("POST", path);
  }
  for (const std::string& line : log.take_lines()) EXPECT_THAT(line, Not(HasSubstr(token)));
}

// HTTP-12
TEST_F(RouterTest, EachListenerNamesTheOtherForItsPaths) {
  for (const RouteCase& one : kAdminPaths) {
    EXPECT_EQ(call(one.method, one.path, kAdminScope).body, one.handler) << one.path;
    EXPECT_THAT(message(one.path, kBaseScope), HasSubstr("the setting server.admin_url")) << one.path;
  }
  for (const RouteCase& one : kBasePaths) {
    EXPECT_EQ(call(one.method, one.path, kBaseScope).body, one.handler) << one.path;
    EXPECT_THAT(message(one.path, kAdminScope), HasSubstr("the setting server.base_url")) << one.path;
  }
}

TEST_F(RouterTest, UnknownSubpathsAre404AndTheOtherListenerPointsThere) {
  for (const std::string& path : kSubpathsOfBase) {
    EXPECT_THAT(message(path, kBaseScope), HasSubstr("There is nothing at this address.")) << path;
    EXPECT_THAT(message(path, kAdminScope), HasSubstr("the setting server.base_url")) << path;
  }
  for (const std::string& path : kSubpathsOfAdmin) {
    EXPECT_THAT(message(path, kAdminScope), HasSubstr("There is nothing at this address.")) << path;
    EXPECT_THAT(message(path, kBaseScope), HasSubstr("the setting server.admin_url")) << path;
  }
}

TEST_F(RouterTest, UnservedPathsAreNotFoundAtEveryListener) {
  for (const std::string path :
       {"/", "/api/v1/crm/salesforce/messages/", "/api/v1/crm/salesforce/messages/a/b",
        "/api/v1/gift_requestsx", "/api/v1/request_recordsx", "/favicon.ico"}) {
    for (const ListenerScope scope : {kBothScopes, kBaseScope, kAdminScope}) {
      EXPECT_THAT(message(path, scope), HasSubstr("There is nothing at this address.")) << path;
      EXPECT_THAT(message(path, scope), Not(HasSubstr("the setting"))) << path;
    }
  }
}

// HTTP-13
TEST_F(RouterTest, EveryListenerAnswersProbes) {
  for (const ListenerScope scope : {kBothScopes, kBaseScope, kAdminScope}) {
    EXPECT_EQ(call("GET", "/-/healthy", scope).body, "healthy\n");
    EXPECT_EQ(call("HEAD", "/-/ready", scope).body, "ready\ninstance: 3f8a\n");
    EXPECT_EQ(allow(call("POST", "/-/healthy", scope)), "GET, HEAD");
    EXPECT_EQ(allow(call("POST", "/-/ready", scope)), "GET, HEAD");
  }
  store_is_writable_ = false;
  EXPECT_EQ(call("GET", "/-/ready").status, 503);
  EXPECT_THAT(call("GET", "/-/ready").body, HasSubstr("\ninstance: 3f8a\n"));  // OPS-26
  router_.set_ready_detail([] { return "crm: paused\n"; });
  EXPECT_THAT(call("GET", "/-/ready").body, Not(HasSubstr("crm")));
  store_is_writable_ = true;
  EXPECT_EQ(call("GET", "/-/ready").body, "ready\ninstance: 3f8a\ncrm: paused\n");
  EXPECT_EQ(call("GET", "/-/healthy").status, 200);
}

/// An event at a time since the start, the expected log lines, and whether the daemon is ready.
struct OutageStep {
  std::int64_t at_millis;
  enum class Event { transient_failure, permanent_failure, success, maintenance } event;
  std::vector<std::string> log;
  bool is_ready;
};

// OPS-13
TEST_F(RouterTest, AnOutageLogsOneLineAtItsStartAndOneAtItsEnd) {
  using enum OutageStep::Event;
  const std::string failure_line = "error POST /api/v1/gift_requests failed: disk full [request ]";
  const auto recovery_line = [](int failed) {
    return "info store recovered; " + std::to_string(failed) + " requests failed during the outage";
  };
  const std::vector<OutageStep> steps{
      {0, success, {}, true},
      {1'000, transient_failure, {failure_line}, false},
      {1'010, success, {}, true},  // a success between failures
      {1'020, transient_failure, {}, false},
      {1'030, success, {}, true},
      {4'000, transient_failure, {}, false},
      {6'999, maintenance, {}, false},
      {7'000, maintenance, {}, true},   // a retry is worthwhile
      {30'000, maintenance, {}, true},  // without requests the outage is not over
      {31'000, success, {}, true},
      {36'999, success, {}, true},
      {37'000, success, {recovery_line(3)}, true},
      {37'001, success, {}, true},
      {50'000, permanent_failure, {failure_line}, false},
      {50'001, permanent_failure, {failure_line}, false},  // a permanent error is logged each time
      {51'000, success, {}, true},
      {56'999, maintenance, {}, true},
      {57'000, maintenance, {recovery_line(2)}, true},
      {60'000, transient_failure, {failure_line}, false},
      {61'000, success, {}, true},
      {99'000, transient_failure, {recovery_line(1), failure_line}, false},  // another outage
  };
  tests::CapturedLog log;
  for (const OutageStep& step : steps) {
    now_ = kNow + step.at_millis;
    if (step.event == transient_failure || step.event == permanent_failure)
      error_.emplace(step.event == transient_failure, "disk full");
    else
      error_.reset();
    if (step.event == maintenance)
      router_.log_outage_end();
    else
      call("POST", "/api/v1/gift_requests");
    EXPECT_EQ(log.take_lines(), step.log) << step.at_millis;
    EXPECT_EQ(call("GET", "/-/ready").status, step.is_ready ? 200 : 503) << step.at_millis;
  }
}

// ARCH-8, HTTP-39
TEST_F(RouterTest, TransientErrorIs503AndPermanentErrorIs500) {
  tests::CapturedLog log;
  error_.emplace(true, "disk full");
  EXPECT_EQ(call("GET", "/api/v1/gift_requests/7").status, 503);
  error_.emplace(false, "no such table");
  EXPECT_EQ(call("GET", "/api/v1/gift_requests/7").status, 500);
}

/// Whether the body of such a request is read.
struct HeadCase {
  std::string method;
  std::string path;
  std::string header;
  std::string value;
  ListenerScope scope;
  bool reads_body;
};

// HTTP-49
TEST_F(RouterTest, TheHeaderDecidesWhetherTheBodyIsRead) {
  const std::string key = sync::make_credential(CredentialKind::api_key).text;
  const std::string token = sync::make_credential(CredentialKind::organization_token).text;
  const std::string send = "/api/v1/gift_requests";
  const std::string send_from_crm = "/api/v1/crm/gift_requests";
  const std::string messages = "/api/v1/crm/salesforce/messages/";
  const std::string message_token = sync::make_credential(CredentialKind::message_token).text;
  for (const HeadCase& one : std::vector<HeadCase>{
           {"POST", send, "Authorization", key, kBothScopes, true},
           {"POST", send, "Authorization", "Bearer " + key, kBaseScope, true},
           {"POST", send, "Authorization", key, kAdminScope, false},
           {"PUT", send, "Authorization", key, kBothScopes, false},
           {"POST", "/api/v1/nothing", "Authorization", key, kBothScopes, false},
           {"POST", send + "/7/x", "Authorization", key, kBothScopes, false},
           {"POST", send, "X", "y", kBothScopes, false},
           {"POST", send, "Authorization", "no key", kBothScopes, false},
           {"POST", send, "Authorization", key + "x", kBothScopes, false},
           {"POST", send_from_crm, "Organization-Token", token, kBothScopes, true},
           {"POST", send_from_crm, "Organization-Token", token + "x", kBothScopes, false},
           {"POST", send_from_crm, "Authorization", key, kBothScopes, false},
           {"POST", messages + message_token, "X", "y", kBothScopes, true},
           {"POST", messages + message_token, "X", "y", kBaseScope, false},
           {"POST", messages + message_token + "x", "X", "y", kBothScopes, false},
           {"POST", messages + token, "Organization-Token", token, kBothScopes, false},
           {"POST", "/login/callback", "X", "y", kBothScopes, false},  // sign-in is off
           {"POST", "/g/abc", "X", "y", kBothScopes, true},
           {"POST", "/api/v1/webhooks/status_changes/vendor", "X", "y", kBothScopes, true}}) {
    HttpRequest head;
    head.method = one.method;
    head.path = one.path;
    head.headers.emplace(one.header, one.value);
    EXPECT_EQ(router_.plan(one.scope, head).reads_body, one.reads_body)
        << one.method << " " << one.path << " " << one.header;
  }
}

// HTTP-50
TEST_F(RouterTest, OnlyRequestsWithACredentialShareTheMemoryOfBodies) {
  const auto has_credential = [&](const std::string& path) {
    HttpRequest head;
    head.method = "POST";
    head.path = path;
    return router_.plan(kBothScopes, head).has_credential;
  };
  for (const std::string path : {"/api/v1/gift_requests", "/api/v1/crm/gift_requests",
                                 "/api/v1/request_records", "/api/v1/webhooks/status_changes/vendor"})
    EXPECT_TRUE(has_credential(path)) << path;
  for (const std::string path : {"/login/callback", "/console/requests/R-1/approve", "/g/abc"})
    EXPECT_FALSE(has_credential(path)) << path;
}

// HTTP-48, HTTP-49
TEST_F(RouterTest, KindAndSizeFollowTheRoute) {
  const auto plan_of = [&](const std::string& path) {
    HttpRequest head;
    head.method = "POST";
    head.path = path;
    return router_.plan(kBothScopes, head);
  };
  EXPECT_EQ(plan_of("/-/healthy").kind, HandlerKind::liveness);
  EXPECT_EQ(plan_of("/-/ready").kind, HandlerKind::readiness);
  EXPECT_EQ(plan_of("/g/abc").kind, HandlerKind::page);
  EXPECT_EQ(plan_of("/g/abc").max_body_bytes, kMaxSmallBodyBytes);
  EXPECT_EQ(plan_of("/api/v1/request_records/R-1/approve").max_body_bytes, kMaxSmallBodyBytes);
  EXPECT_EQ(plan_of("/api/v1/gift_requests").kind, HandlerKind::endpoint);
  EXPECT_GT(plan_of("/api/v1/gift_requests").max_body_bytes, std::size_t{1} << 30);
  EXPECT_EQ(plan_of("/api/v1/webhooks/gift_requests").kind, HandlerKind::endpoint);
  EXPECT_EQ(plan_of("/api/v1/webhooks/status_changes/vendor").kind, HandlerKind::endpoint);
  EXPECT_EQ(plan_of("/api/v1/crm/salesforce/messages/abc").max_body_bytes, kMaxMessageBodyBytes);
  for (const std::string path :
       {"/api/v1/gift_requests/validate", "/api/v1/webhooks/gift_requests/validate",
        "/api/v1/crm/gift_requests/validate", "/api/v1/request_records/validate", "/api/v1/crm/gift_requests",
        "/api/v1/crm/salesforce/messages/abc", "/api/v1/request_records", "/api/v1/request_records/R-1",
        "/api/v1/request_records/R-1/approve", "/api/v1/request_records/R-1/reject"})
    EXPECT_EQ(plan_of(path).kind, HandlerKind::crm) << path;
  EXPECT_EQ(plan_of("/nothing").kind, HandlerKind::endpoint);
  EXPECT_EQ(plan_of("/login/callback").max_body_bytes, kMaxSignInBodyBytes);
  EXPECT_EQ(plan_of("/console/gifts").max_body_bytes, kMaxSmallBodyBytes);
  EXPECT_EQ(plan_of("/console/requests/R-1/approve").max_body_bytes, kMaxDecisionBodyBytes);
  EXPECT_EQ(plan_of("/console/requests/R-1/approve").kind, HandlerKind::console);
  for (const std::string path : {"/console", "/console/", "/console/gifts", "/console/link/abc"})
    EXPECT_EQ(plan_of(path).kind, HandlerKind::console) << path;
  for (const std::string path : {"/login/callback", "/console/sign-in/start", "/console/sign-in/finish"})
    EXPECT_EQ(plan_of(path).kind, HandlerKind::sign_in) << path << ": an identity provider is asked";
}

}  // namespace
}  // namespace giftsync::http
