// gift validate: it says what the endpoint says, and writes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <sstream>

#include "cli/cli_context.h"
#include "daemon/group_commit_writer.h"
#include "daemon/handlers/gift_request_handler.h"
#include "daemon/wiring/components_config.h"
#include "daemon/wiring/database_config.h"
#include "sync/access/credential.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"
#include "tests/support/row_counts.h"

namespace giftsync::cli {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CliGiftValidate : public testing::Test {
 protected:
  CliGiftValidate() {
    cli_.run({"account", "create", "--email", "rose@example.com", "--name", "Rose", "--plan", "team"});
    store::Store store(cli_.address());
    std::array<store::GiftItem, 2> items;
    items[0].id = {7};
    items[0].name = "Coffee";
    items[0].costs = {Money{500}, std::nullopt, Money{10}, Money{35}};
    items[1].id = {8};
    items[1].name = "Mug";
    items[1].active = false;
    store.catalogue.import(items);
    cli_.run({"crm", "import", "--object", "contact", "-"}, "Id,Email,LastName\n003A,ada@example.org,King\n");
    cli_.run({"match", "--email", "ada@example.org"});  // match keys are made at the first lookup
  }

  static json recipient(const std::string& email, const std::string& message = "Hi") {
    return {{"email", email}, {"message", message}, {"gift_redeem_type", "email"}};
  }
  static json body(std::vector<json> recipients, int gift = 7) {
    return {{"gift_id", gift}, {"recipients", std::move(recipients)}};
  }
  CliFixture::Result run(const std::string& text, std::vector<std::string> more = {}) const {
    std::vector<std::string> args{"gift", "validate", cli_.write("gift.json", text), "--account",
                                  "rose@example.com"};
    args.insert(args.end(), more.begin(), more.end());
    return cli_.run(args);
  }
  json said(const std::string& text, std::vector<std::string> more = {}) const {
    more.emplace_back("--json");
    return tests::parse_json(run(text, more).out);
  }
  /// The answer of the endpoint, with the same settings.
  http::HttpResponse answer(const std::string& text, SendMode mode = SendMode::email) const {
    std::ostringstream out;
    std::ostringstream err;
    std::istringstream in;
    const Console console{out, err, in, false, [this] { return cli_.now; }};
    const auto ctx =
        open_cli_context(read_cli_settings(cli_.path("giftsyncd.yaml")).value(), console).value();
    prepare_sending(console, *ctx);
    const sync::NewCredential made = sync::make_credential(CredentialKind::api_key);
    store::Credential key;
    key.account = ctx->store.accounts.find_by_email("rose@example.com")->id;
    key.prefix = made.prefix;
    key.hash = made.hash;
    key.scopes = {Scope::send};
    ctx->store.credentials.insert(key);
    const auto clock = [this] { return cli_.now; };
    http::Authenticator authenticator(ctx->store.credentials, clock, 0);
    daemon::GroupCommitWriter writer(ctx->store.urgent_writes);
    const sync::LinkSigner signer(std::string(32, 's'));
    const sync::GiftLinks links("http://127.0.0.1", signer);
    sync::SendingPolicy policy(ctx->store.do_not_send, ctx->settings.sending.allowed_domains, clock);
    handlers::GiftRequestHandlerOptions options;
    options.limits = wiring::gift_request_limits(ctx->settings.limits);
    options.clock = clock;
    options.crm = ctx->crm.get();
    options.match_fields = wiring::match_fields(ctx->settings.matching);
    options.approval_rules = wiring::approval_rules(ctx->settings.sending.approval);
    handlers::GiftRequestHandler handler(ctx->store, writer, authenticator, links, policy, options,
                                         [](const auto&, const auto&) {});
    http::HttpRequest request;
    request.method = "POST";
    request.body = text;
    request.headers.emplace("Authorization", made.text);
    return (mode == SendMode::email ? handler.validate_by_email(request, {})
                                    : handler.validate_urls(request, {}))
        .wait();
  }

  CliFixture cli_;
};

// covers: VALID-6
TEST_F(CliGiftValidate, SaysWhatTheEndpointSays) {
  cli_.write_settings(
      "sending: { allowed_domains: [example.org], approval: { rules: [{ name: many, recipients_above: 2 }] } "
      "}\n");
  cli_.run({"do-not-send", "add", "bea@example.org"});
  cli_.run({"budget", "set", "account", "rose@example.com", "--month-gifts", "3"});
  const json ada = recipient("ada@example.org");
  json surplus = body({ada, ada});
  surplus["note"] = "x";
  const std::vector<json> bodies{
      body({ada}),
      body({ada, recipient("bea@example.org"), recipient("cleo@example.net")}),
      body({ada, recipient("cleo@example.org"), recipient("dora@example.org")}),
      body({ada, ada, ada, ada}),
      surplus,
      body({ada}, 8),
      body({ada}, 4711),
      body({recipient("no address"), recipient("ada@example.org", "Hi {{first_name}}")}),
      body({}),
      json::array()};
  std::set<std::string> verdicts;
  for (const json& asked : bodies)
    for (const SendMode mode : {SendMode::email, SendMode::urls}) {
      const http::HttpResponse expected = answer(asked.dump(), mode);
      const json wanted = tests::parse_json(expected.body);
      const json got = said(asked.dump(), {"--delivery", std::string(to_word(mode))});
      if (expected.status == 200) {
        EXPECT_EQ(got, wanted) << asked;
        verdicts.insert(wanted["data"]["verdict"].get<std::string>());
      } else {
        EXPECT_EQ(got["errors"], wanted["errors"]) << asked;
      }
    }
  EXPECT_THAT(verdicts, testing::ElementsAre("hold", "refuse", "send"));
  EXPECT_EQ(said("{\"gift_id\": 7,}")["errors"],
            tests::parse_json(answer("{\"gift_id\": 7,}").body)["errors"]);
}

// VALID-6
TEST_F(CliGiftValidate, ARuleOfAnEndpointHoldsAsThere) {
  cli_.write_settings(
      "sending: { approval: { rules: [{ name: mailed, endpoints: [email], recipients_above: 1 }] } }\n");
  const std::string text = body({recipient("ada@example.org"), recipient("bea@example.org")}).dump();
  EXPECT_EQ(said(text)["data"]["verdict"], "hold");
  EXPECT_EQ(said(text), json::parse(answer(text).body));
}

// covers: VALID-6
TEST_F(CliGiftValidate, WritesNothingAndItsExitCodeSaysWhetherItWouldBeMade) {
  cli_.run({"do-not-send", "add", "bea@example.org"});
  tests::RowCounts rows(cli_.address());
  const std::string before = rows.now();
  const std::string good = body({recipient("ada@example.org")}).dump();
  const auto sent = run(good);
  EXPECT_EQ(sent.code, 0) << sent.err;
  EXPECT_THAT(sent.out, AllOf(HasSubstr("ada@example.org"), HasSubstr("contact 003A"),
                              HasSubstr("Price: 5.45 for 1 gift\n"), HasSubstr("Verdict: send\n")));
  const auto refused = run(body({recipient("ada@example.org"), recipient("bea@example.org")}).dump());
  EXPECT_EQ(refused.code, 65);
  EXPECT_THAT(refused.out, AllOf(HasSubstr("No gifts are sent to this address"),
                                 HasSubstr("Price: 10.90 for 2 gifts\n"), HasSubstr("Verdict: refuse\n")));
  EXPECT_THAT(refused.err, HasSubstr("the call would be refused and create nothing"));
  const auto faulty = run(body({recipient("no address"), recipient("ada@example.org", " ")}).dump());
  EXPECT_EQ(faulty.code, 65);
  EXPECT_THAT(faulty.out, IsEmpty());
  EXPECT_THAT(faulty.err, AllOf(HasSubstr("recipients[0].email: email \"no address\""),
                                HasSubstr("message must not be blank"), HasSubstr("2 faults in ")));
  const auto piped = cli_.run({"gift", "validate", "-", "--account", "Rose@example.com"}, good);
  EXPECT_EQ(piped.code, 0) << piped.err;
  cli_.write_settings(
      "sending: { approval: { rules: [{ name: many, amount_above: "
      "\"1.00\" }] } }\n");
  const auto held = run(good);
  EXPECT_EQ(held.code, 0) << held.err;
  EXPECT_THAT(held.out, AllOf(HasSubstr("Reason: "), HasSubstr("Verdict: hold\n")));
  cli_.write_settings("limits: { max_body_bytes: 1024 }\n");
  const auto large = run(body({recipient("ada@example.org", std::string(2000, 'x'))}).dump());
  EXPECT_EQ(large.code, 65);
  EXPECT_THAT(large.err, HasSubstr("larger than 1024 bytes (limits.max_body_bytes)"));
  EXPECT_EQ(rows.now(), before);
}

// covers: TEST-4
TEST_F(CliGiftValidate, AnAddressOfTheTestDomainIsRefusedAsOfALiveKey) {
  const std::string text = body({recipient("ada@example.org"), recipient("opened@giftsync.test")}).dump();
  const auto refused = run(text);
  EXPECT_EQ(refused.code, 65);
  EXPECT_THAT(refused.out, IsEmpty());
  EXPECT_THAT(refused.err, AllOf(HasSubstr("recipients[1].email: "), HasSubstr("is for tests")));
  const json said_of_it = said(text);
  EXPECT_EQ(said_of_it["errors"][0]["code"], "test_recipient");
  EXPECT_EQ(said_of_it["errors"], tests::parse_json(answer(text).body)["errors"]);
}

// covers: VALID-6
TEST_F(CliGiftValidate, TheAccountMustBeOneWhoseKeysMaySend) {
  const std::string good = body({recipient("ada@example.org")}).dump();
  const std::string file = cli_.write("gift.json", good);
  const auto unknown = cli_.run({"gift", "validate", file, "--account", "kim@example.com"});
  EXPECT_EQ(unknown.code, 65);
  EXPECT_THAT(unknown.err, HasSubstr("there is no account \"kim@example.com\""));
  EXPECT_EQ(cli_.run({"gift", "validate", file}).code, 64);
  EXPECT_EQ(cli_.run({"gift", "validate", "--account", "rose@example.com"}).code, 64);
  EXPECT_EQ(run(good, {"--delivery", "crm"}).code, 64);
  EXPECT_EQ(cli_.run({"gift", "validate", cli_.path("none.json"), "--account", "rose@example.com"}).code, 66);
  cli_.run({"account", "deactivate", "rose@example.com"});
  const auto deactivated = run(good);
  EXPECT_EQ(deactivated.code, 65);
  EXPECT_THAT(deactivated.err, HasSubstr("rose@example.com is deactivated, so its keys are refused"));
  cli_.run({"account", "create", "--email", "o'brien@example.com", "--name", "Pat", "--plan", "team"});
  cli_.run({"account", "deactivate", "o'brien@example.com"});
  EXPECT_THAT(cli_.run({"gift", "validate", file, "--account", "o'brien@example.com"}).err,
              HasSubstr(R"(account activate 'o'\''brien@example.com'")"))
      << "as a shell reads it";
}

}  // namespace
}  // namespace giftsync::cli
