// `webhook`: where events are posted (HOOK-8 to HOOK-13).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"

namespace giftsync::cli {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CliWebhook : public ::testing::Test {
 protected:
  CliWebhook() {
    cli_.write_settings("webhooks: { allowed_networks: [\"127.0.0.0/8\"] }\n");
    store::Store(cli_.address()).feed.switch_to(true);
  }
  Json json_of(std::vector<std::string> args) {
    args.push_back("--json");
    return tests::parse_json(cli_.run(args).out);
  }
  /// Port 9 of this host refuses connections.
  CliFixture::Result create(const std::string& name, std::vector<std::string> more = {}) {
    std::vector<std::string> args{"webhook", "create", "--name", name, "--url", "http://127.0.0.1:9/hook"};
    args.insert(args.end(), more.begin(), more.end());
    return cli_.run(args);
  }
  std::vector<std::string> conditions() {
    std::vector<std::string> names;
    const Json status = json_of({"status"});
    for (const Json& item : status["needs_attention"]) names.push_back(item["condition"]);
    return names;
  }
  CliFixture cli_;
};

// HOOK-2, HOOK-13
TEST_F(CliWebhook, IsCreatedShownChangedAndDeleted) {
  const auto made = create("crm", {"--types", "gift.*,gift_request.held"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, StartsWith("whsec_"));
  EXPECT_THAT(made.err, HasSubstr("shown only now"));
  const Json shown = json_of({"webhook", "show", "crm"});
  EXPECT_EQ(shown["state"], "active");
  EXPECT_EQ(shown["types"], "gift.*,gift_request.held");
  EXPECT_EQ(shown["waiting_events"], 0);
  EXPECT_TRUE(shown["owner"].is_null());
  EXPECT_FALSE(shown.contains("secret"));
  EXPECT_EQ(cli_.run({"webhook", "update", "crm"}).code, 64);
  EXPECT_EQ(cli_.run({"webhook", "update", "crm", "--new-name", "shop", "--all-types"}).code, 0);
  EXPECT_EQ(json_of({"webhook", "list"})[0]["name"], "shop");
  EXPECT_EQ(json_of({"webhook", "list"})[0]["types"], "*");
  EXPECT_EQ(cli_.run({"webhook", "show", "crm"}).code, 65);
  EXPECT_EQ(cli_.run({"webhook", "delete", "shop", "--yes"}).code, 0);
  EXPECT_THAT(cli_.run({"webhook", "list"}).err, HasSubstr("There is no webhook"));
  for (const char* action : {"webhook.create", "webhook.update", "webhook.delete"})
    EXPECT_EQ(json_of({"audit", "list", "--action", action}).size(), 1u) << action;
}

// HOOK-3, HOOK-11, HOOK-13
TEST_F(CliWebhook, RefusesWhatCannotBePosted) {
  EXPECT_EQ(create("crm").code, 0);
  EXPECT_THAT(create("crm").err, HasSubstr("There is a webhook \"crm\" already"));
  EXPECT_THAT(create("a", {"--types", "gift.eaten"}).err,
              AllOf(HasSubstr("--types: "), HasSubstr("gift.redeemed")));
  EXPECT_THAT(create("a", {"--account", "none@example.com"}).err, HasSubstr("there is no account"));
  EXPECT_THAT(create("a", {"--organization", "None"}).err, HasSubstr("there is no organization"));
  EXPECT_THAT(cli_.run({"webhook", "create", "--name", "a", "--url", "https://10.0.0.1/"}).err,
              AllOf(HasSubstr("--url: "), HasSubstr("10.0.0.1 is a private address")));
  EXPECT_THAT(cli_.run({"webhook", "create", "--name", "a", "--url", "https:///x"}).err,
              AllOf(HasSubstr("--url: "), HasSubstr("begin it with https://x")));
  store::Store(cli_.address()).feed.switch_to(false);
  const auto off = create("a");
  EXPECT_EQ(off.code, 65);
  EXPECT_THAT(off.err, HasSubstr("feed.enabled"));
}

// HOOK-10
TEST_F(CliWebhook, ARotationPrintsAnotherSecretOnce) {
  const std::string first = create("crm").out;
  const auto rotated = cli_.run({"webhook", "rotate", "crm"});
  EXPECT_THAT(rotated.out, StartsWith("whsec_"));
  EXPECT_NE(rotated.out, first);
  EXPECT_THAT(cli_.run({"webhook", "show", "crm"}).out, HasSubstr("the former secret signs until"));
  EXPECT_EQ(cli_.run({"webhook", "rotate", "crm"}).code, 65);
  EXPECT_EQ(cli_.run({"webhook", "rotate", "crm", "--grace", "8d"}).code, 64);
  EXPECT_EQ(cli_.run({"webhook", "rotate", "crm", "--grace", "0", "--force"}).code, 0);
  EXPECT_TRUE(json_of({"webhook", "show", "crm"})["previous_secret_until"].is_null());
}

// HOOK-8, HOOK-9
TEST_F(CliWebhook, IsTestedDisabledAndEnabled) {
  create("crm");
  const auto tested = cli_.run({"webhook", "test", "crm"});
  EXPECT_EQ(tested.code, 69);
  EXPECT_EQ(json_of({"webhook", "attempts", "crm", "--failed"}).size(), 1u);
  EXPECT_EQ(json_of({"webhook", "attempts", "crm"})[0]["status"], 0);
  EXPECT_EQ(cli_.run({"webhook", "disable", "crm", "--reason", "it moves"}).code, 0);
  EXPECT_THAT(conditions(), Contains("webhooks.disabled"));
  EXPECT_THAT(cli_.run({"status"}).out, HasSubstr("webhook crm is disabled since"));
  const auto enabled = cli_.run({"webhook", "enable", "crm", "--from", "now"});
  EXPECT_EQ(enabled.code, 0) << enabled.err;
  EXPECT_THAT(enabled.err, HasSubstr("0 events behind its place"));
  EXPECT_THAT(conditions(), ::testing::Not(Contains("webhooks.disabled")));
  EXPECT_EQ(cli_.run({"webhook", "enable", "crm", "--from", "soon"}).code, 64);
  EXPECT_EQ(cli_.run({"webhook", "replay", "crm", "--since", "1h"}).code, 0);
  EXPECT_EQ(cli_.run({"webhook", "retry", "crm"}).code, 0);
  EXPECT_EQ(cli_.run({"webhook", "retry", "crm", "--event", "7"}).code, 65);
  store::Store store(cli_.address());
  store::WebhookEndpoint endpoint = store.webhooks.find("crm").value();
  endpoint.state = WebhookState::failing;
  endpoint.next_attempt_at = endpoint.next_attempt_at + kHourMillis;
  store.webhooks.set_state(endpoint, {});
  EXPECT_THAT(cli_.run({"webhook", "retry", "crm"}).err, HasSubstr("one event tests it now"));
  EXPECT_LT(store.webhooks.find("crm").value().next_attempt_at, endpoint.next_attempt_at);
  cli_.run({"webhook", "disable", "crm"});
  EXPECT_THAT(cli_.run({"webhook", "retry", "crm"}).err, HasSubstr("once the webhook is enabled"));
}

}  // namespace
}  // namespace giftsync::cli
