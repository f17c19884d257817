// A key's webhooks over HTTP (HOOK-13), without a network: the receiver's port refuses connections.
#include "daemon/handlers/webhook_endpoint_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "tests/support/api_key.h"
#include "tests/support/json.h"
#include "tests/support/scripted_server.h"
#include "tests/support/temporary_store.h"

namespace giftsync::handlers {
namespace {

using json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr UtcMillis kNow{1'795'264'200'000};

class WebhookEndpointHandlerTest : public ::testing::Test {
 protected:
  WebhookEndpointHandlerTest() {
    store_->feed.switch_to(true);
    ana_ = new_key("ana@example.com", {Scope::webhooks});
    rose_ = new_key("rose@example.com", {Scope::webhooks});
  }
  std::string new_key(const std::string& address, std::set<Scope> scopes) {
    return tests::make_api_key(*store_, tests::make_account(*store_, address), std::move(scopes));
  }
  static http::HttpRequest request(const std::string& key, const std::string& method, const json& body = {}) {
    http::HttpRequest made;
    made.method = method;
    made.headers.emplace("Authorization", key);
    if (!body.is_null()) made.body = body.dump();
    return made;
  }
  using Method = http::Reply (WebhookEndpointHandler::*)(const http::HttpRequest&, std::string_view);
  /// Status and body.
  std::pair<int, json> call(Method method, const std::string& key, const std::string& id = "",
                            const json& body = {}, const std::string& verb = "POST",
                            const std::string& query = "") {
    http::HttpRequest made = request(key, verb, body);
    made.query = query;
    const http::HttpResponse response = (handler_.*method)(made, id).wait();
    return {response.status, tests::parse_json(response.body)};
  }
  std::pair<int, json> create(const std::string& key, const json& body) {
    return call(&WebhookEndpointHandler::create, key, "", body);
  }
  std::string created() {
    const auto [status, body] = create(ana_, {{"name", "crm"}, {"url", kUrl}, {"types", {"gift.*"}}});
    EXPECT_EQ(status, 201) << body;
    return std::to_string(body["data"]["id"].get<std::int64_t>());
  }

  static constexpr const char* kUrl = "http://127.0.0.1:9/hook";
  tests::TemporaryStore store_;
  std::string ana_;
  std::string rose_;
  http::Authenticator authenticator_{store_->credentials, [] { return kNow; }, 0};
  WebhookEndpointHandler handler_{
      *store_,
      authenticator_,
      {webhooks::post_options({"127.0.0.0/8"}, ""), [](std::string_view text) { return std::string(text); },
       [](const std::string& sealed) { return std::optional(sealed); }, [] { return kNow; }}};
};

using Handler = WebhookEndpointHandler;

// HOOK-13
TEST_F(WebhookEndpointHandlerTest, AKeyMakesReadsChangesAndDeletesItsOwn) {
  const std::string id = created();
  const auto [status, body] = call(&Handler::handle_one, ana_, id, {}, "GET");
  EXPECT_EQ(status, 200);
  EXPECT_EQ(body["data"]["types"], json::array({"gift.*"}));
  EXPECT_EQ(body["data"]["state"], "active");
  EXPECT_FALSE(body["data"].contains("secret"));
  EXPECT_EQ(call(&Handler::handle_one, ana_, id, {{"name", "shop"}, {"types", json::array()}}, "PATCH")
                .second["data"]["name"],
            "shop");
  const auto listed = call(&Handler::list, ana_, "", {}, "GET").second["data"];
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0]["types"], json::array());
  EXPECT_EQ(call(&Handler::handle_one, ana_, id, {}, "DELETE").first, 200);
  EXPECT_EQ(call(&Handler::handle_one, ana_, id, {}, "GET").first, 404);
  EXPECT_EQ(call(&Handler::handle_one, ana_, id, {}, "PUT").first, 405);
}

// HOOK-13
TEST_F(WebhookEndpointHandlerTest, OthersDoNotSeeIt) {
  const std::string id = created();
  EXPECT_TRUE(call(&Handler::list, rose_, "", {}, "GET").second["data"].empty());
  for (const Method method : {&Handler::handle_one, &Handler::rotate_secret, &Handler::test, &Handler::replay,
                              &Handler::retry, &Handler::enable, &Handler::disable, &Handler::list_attempts})
    EXPECT_EQ(call(method, rose_, id, {}, method == &Handler::handle_one ? "DELETE" : "POST").first, 404);
  EXPECT_EQ(call(&Handler::handle_one, ana_, id, {}, "GET").first, 200);
  EXPECT_EQ(call(&Handler::handle_one, ana_, "x", {}, "GET").first, 404);
  const std::string reader = new_key("ana@example.com", {Scope::read});
  EXPECT_EQ(call(&Handler::list, reader, "", {}, "GET").second["code"], "missing_scope");
}

// HOOK-3, HOOK-11, HOOK-13
TEST_F(WebhookEndpointHandlerTest, FaultsNameTheirField) {
  created();
  const auto fault = [&](const json& body) {
    const auto [status, answer] = create(ana_, body);
    EXPECT_EQ(status, 400) << answer;
    return answer["errors"][0]["field"].get<std::string>() + " " +
           answer["errors"][0]["code"].get<std::string>();
  };
  EXPECT_EQ(fault({{"url", kUrl}}), "name missing");
  EXPECT_EQ(fault({{"name", "a"}}), "url missing");
  EXPECT_EQ(fault({{"name", "a"}, {"url", 7}}), "url wrong_type");
  EXPECT_EQ(fault({{"name", "a"}, {"url", "https://10.0.0.1/"}}), "url url_not_allowed");
  EXPECT_EQ(fault({{"name", "a"}, {"url", kUrl}, {"types", {"gift.eaten"}}}), "types unsupported_value");
  EXPECT_EQ(fault({{"name", "a"}, {"url", kUrl}, {"types", "gift.*"}}), "types wrong_type");
  EXPECT_EQ(create(ana_, {{"name", "crm"}, {"url", kUrl}}).second["code"], "endpoint_exists");
  for (std::size_t i = 1; i < store::kMaxWebhookEndpoints; ++i)
    create(ana_, {{"name", "n" + std::to_string(i)}, {"url", kUrl}});
  EXPECT_EQ(create(ana_, {{"name", "one too many"}, {"url", kUrl}}).second["code"], "too_many_endpoints");
  store_->feed.switch_to(false);
  EXPECT_EQ(create(ana_, {{"name", "a"}, {"url", kUrl}}).second["code"], "feed_off");
}

// HTTP-59
TEST_F(WebhookEndpointHandlerTest, MisspeltMembersAndParametersDoNothing) {
  const std::string id = created();
  const auto refused = [&](Method method, const json& body, const std::string& verb = "POST",
                           const std::string& query = "") {
    const auto [status, answer] = call(method, ana_, id, body, verb, query);
    EXPECT_EQ(status, 400) << answer;
    EXPECT_THAT(answer["message"].get<std::string>(),
                testing::HasSubstr(verb == "GET" ? "Correct the parameters" : "Nothing was changed"))
        << "HTTP-36";
    return answer["errors"][0]["field"].get<std::string>() + " " +
           answer["errors"][0]["code"].get<std::string>();
  };
  EXPECT_EQ(create(ana_, {{"name", "typo"}, {"url", kUrl}, {"type", {"gift.redeemed"}}}).first, 400);
  EXPECT_EQ(refused(&Handler::handle_one, {{"state", "disabled"}}, "PATCH"), "state unknown_parameter");
  EXPECT_EQ(refused(&Handler::rotate_secret, {{"grace", 60}}), "grace unknown_parameter");
  EXPECT_EQ(refused(&Handler::test, {{"dry", true}}), "dry unknown_parameter");
  EXPECT_EQ(refused(&Handler::replay, {{"from", "2026-01-01T00:00:00Z"}}), "from unknown_parameter");
  EXPECT_EQ(refused(&Handler::retry, {{"events", 1}}), "events unknown_parameter");
  EXPECT_EQ(refused(&Handler::enable, {{"since", "2026-01-01T00:00:00Z"}}), "since unknown_parameter");
  EXPECT_EQ(refused(&Handler::disable, {{"why", "x"}}), "why unknown_parameter");
  EXPECT_EQ(refused(&Handler::disable, {}, "POST", "dry_run=1"), "dry_run unknown_parameter");
  EXPECT_EQ(refused(&Handler::handle_one, {}, "DELETE", "dry_run=1"), "dry_run unknown_parameter");
  EXPECT_EQ(refused(&Handler::list_attempts, {}, "GET", "is_faild=true"), "is_faild unknown_parameter");
  EXPECT_EQ(refused(&Handler::list, {}, "GET", "foo=1"), "foo unknown_parameter");
  EXPECT_EQ(call(&Handler::handle_one, ana_, id, {}, "GET").second["data"]["state"], "active");
}

// HOOK-8, HOOK-9, HOOK-10
TEST_F(WebhookEndpointHandlerTest, DoesWhatTheCommandsDo) {
  const std::string id = created();
  const auto rotated = call(&Handler::rotate_secret, ana_, id).second;
  EXPECT_THAT(rotated["data"]["secret"].get<std::string>(), StartsWith("whsec_"));
  EXPECT_EQ(rotated["data"]["previous_secret_until"], to_rfc3339(kNow + kDayMillis));
  EXPECT_EQ(call(&Handler::rotate_secret, ana_, id).second["code"], "rotation_in_progress");
  EXPECT_EQ(call(&Handler::rotate_secret, ana_, id, {{"force", true}, {"grace_seconds", 0}}).first, 200);
  EXPECT_EQ(call(&Handler::rotate_secret, ana_, id, {{"grace_seconds", 604'801}}).first, 400);
  const auto tested = call(&Handler::test, ana_, id);
  EXPECT_EQ(tested.first, 200);
  EXPECT_EQ(tested.second["data"]["taken"], false);
  EXPECT_EQ(tested.second["data"]["status"], 0);
  const auto attempts = call(&Handler::list_attempts, ana_, id, {}, "GET", "is_failed=true").second;
  ASSERT_EQ(attempts["data"].size(), 1u);
  EXPECT_EQ(attempts["data"][0]["event"], 0);
  EXPECT_TRUE(attempts["next"].is_null());
  EXPECT_EQ(call(&Handler::list_attempts, ana_, id, {}, "GET", "is_failed=maybe").first, 400);
  EXPECT_EQ(call(&Handler::disable, ana_, id, {{"reason", "it moves"}}).second["data"]["reason"], "it moves");
  EXPECT_EQ(call(&Handler::enable, ana_, id).second["data"]["waiting_events"], 0);
  EXPECT_EQ(call(&Handler::replay, ana_, id).first, 400);
  EXPECT_EQ(call(&Handler::replay, ana_, id, {{"since", "2026-11-20T00:00:00Z"}}).first, 200);
  EXPECT_EQ(call(&Handler::retry, ana_, id).second["data"]["events"], 0);
  EXPECT_EQ(call(&Handler::handle_one, ana_, id, {}, "GET").second["data"]["state"], "active");
}

// HOOK-12
TEST_F(WebhookEndpointHandlerTest, TestsOfReceiversThatHangLeaveThreadsToOthers) {
  std::promise<void> ends;
  const std::shared_future<void> end = ends.get_future().share();
  std::atomic<int> hanging = 0;
  tests::ScriptedServer server([&](std::size_t, const std::string&) {
    ++hanging;
    end.wait();
    return std::string("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n");
  });
  const auto made = create(ana_, {{"name", "slow"}, {"url", server.url()}}).second;
  const std::string id = std::to_string(made["data"]["id"].get<std::int64_t>());
  const auto test = [&] { return call(&Handler::test, ana_, id).first; };
  auto one = std::async(std::launch::async, test);
  auto other = std::async(std::launch::async, test);
  while (hanging < 2) std::this_thread::yield();
  EXPECT_EQ(test(), 429);
  ends.set_value();
  EXPECT_EQ(one.get(), 200);
  EXPECT_EQ(other.get(), 200);
  EXPECT_EQ(test(), 200);
}

// HOOK-13
TEST_F(WebhookEndpointHandlerTest, TheAuditLogSaysWhereEventsGo) {
  const std::string id = created();
  const auto last = [&] { return store_->audit.list(store::Viewer::of_command_line(), {}, 1).front(); };
  EXPECT_EQ(last().action, "webhook.create");
  EXPECT_EQ(last().detail, std::string("--url ") + kUrl);
  call(&Handler::handle_one, ana_, id, {{"url", "https://127.0.0.1:8/other"}}, "PATCH");
  EXPECT_EQ(last().detail, "--url https://127.0.0.1:8/other");
  call(&Handler::disable, ana_, id, {{"reason", "it moves"}});
  EXPECT_EQ(last().detail, "it moves");
}

}  // namespace
}  // namespace giftsync::handlers
