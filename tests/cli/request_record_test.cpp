// giftsyncctl request: create, list, show, approve and reject request records, without a daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/cli_context.h"
#include "cli/console.h"
#include "daemon/wiring/server_secret.h"
#include "sync/gift/gift_links.h"
#include "sync/request/request_record_step.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"
#include "tests/support/temporary_database.h"

namespace giftsync::cli {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

class CliRequestRecord : public testing::Test {
 protected:
  void SetUp() override { cli.write_settings("requests: { enabled: true }\n"); }
  std::string create(std::vector<std::string> more = {}) {
    std::vector<std::string> args{
        "request",         "create",    "--gift-id",  "7",        "--recipient-email",
        "kim@example.com", "--message", "Hello\nKim", "--sender", "005A"};
    args.insert(args.end(), more.begin(), more.end());
    const auto made = cli.run(args);
    EXPECT_EQ(made.code, 0) << made.err;
    return made.out.substr(0, made.out.find('\n'));
  }
  Json list(std::vector<std::string> more = {}) {
    std::vector<std::string> args{"request", "list", "--json"};
    args.insert(args.end(), more.begin(), more.end());
    return tests::parse_json(cli.run(args).out);
  }
  void sql(const std::string& statement) { tests::run_sql(cli.address(), statement); }
  /// Runs the daemon's request-record step; every sender is authorized. Returns the store's link signer.
  sync::LinkSigner send_all() {
    auto read = read_cli_settings(cli.path("giftsyncd.yaml"));
    std::ostringstream out, err;
    std::istringstream in;
    const Console console{out, err, in, false, [this] { return cli.now; }};
    auto opened = open_cli_context(read.value(), console);
    CliContext& ctx = *opened.value();
    sync::LinkSigner signer(
        wiring::load_server_secret(ctx.settings, ctx.store));  // as a daemon's first start does it
    sync::SenderAuthorization anybody;
    anybody.account = store::Account();
    anybody.account->id = {1};
    anybody.account->email = "ana@example.com";
    sync::RequestRecordRules rules;
    rules.authorize_senders = [&](std::span<const std::string> ids) {
      return std::vector<sync::SenderAuthorization>(ids.size(), anybody);
    };
    cli.now = ctx.store.request_records.now();
    for (int round = 0; round < 3; ++round) sync::request_record_step(ctx.store, *ctx.crm, rules, cli.now);
    return signer;
  }
  CliFixture cli;
};

TEST_F(CliRequestRecord, CreatesListsAndShowsByApiNames) {
  EXPECT_EQ(create(), "R-000001");
  EXPECT_EQ(create({"--include-shipping", "--auto-approved"}), "R-000002");
  const Json all = list();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]["Name"], "R-000001");
  EXPECT_EQ(all[0]["Request_Status"], "Pending");
  EXPECT_EQ(all[0]["Auto_Approved"], false);
  EXPECT_EQ(all[0]["Include_Shipping"], nullptr);
  EXPECT_EQ(all[0]["Message"], "Hello\nKim");
  EXPECT_EQ(all[0]["Error_Log"], nullptr);
  for (const char* name : {"Id", "Account", "Opportunity", "Item_Link", "Send_Type", "Third_Party_Vendor",
                           "Recipient_Contact", "LastModifiedDate"})
    EXPECT_TRUE(all[0].contains(name)) << name;
  EXPECT_EQ(all[1]["Auto_Approved"], true);
  EXPECT_EQ(all[1]["Include_Shipping"], true);
  EXPECT_THAT(cli.run({"request", "list"}).out, HasSubstr("R-000002"));
  const Json shown = tests::parse_json(cli.run({"request", "show", "R-000001", "--json"}).out);
  EXPECT_EQ(shown["requested_by"], os_user());
  EXPECT_EQ(shown["transitions"][0]["comment"], "made");
  EXPECT_THAT(cli.run({"request", "show", "R-000001"}).out, HasSubstr("kim@example.com"));
}

TEST_F(CliRequestRecord, EveryVerbIsRefusedWithAnExternalCrm) {
  const std::string foreign = "crm: { connection: crm.db, backend: sqlite }\n";
  cli.write_settings(foreign);
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"request", "list"},
        {"request", "create", "--gift-id", "7", "--recipient-email", "kim@example.com", "--message", "Hi"},
        {"request", "show", "R-000001"},
        {"request", "check", "R-000001"},
        {"request", "retry", "--all"},
        {"request", "approve", "R-000001"},
        {"request", "reject", "R-000001", "--yes"}}) {
    const auto result = cli.run(args);
    EXPECT_EQ(result.code, 78) << args[1];
    EXPECT_THAT(result.err, HasSubstr("request records exist in the built-in CRM and in an org")) << args[1];
  }
  cli.write_settings(foreign + "requests: { enabled: true }\n");
  const auto result = cli.run({"crm", "check"});
  EXPECT_EQ(result.code, 78);
  EXPECT_THAT(result.err, HasSubstr("giftsyncd.yaml:5: requests.enabled: found true beside crm.connection"));
}

// REQ-47
TEST_F(CliRequestRecord, ApproveAndRejectRecordActorAndComment) {
  create();
  create();
  const auto approved = cli.run({"request", "approve", "R-000001", "--comment", "as agreed"});
  EXPECT_EQ(approved.out, "R-000001 Approved\n");
  EXPECT_THAT(approved.err, testing::AllOf(HasSubstr("R-000001: "), HasSubstr("Gift Id \""),
                                           HasSubstr("Recipient Email \""), HasSubstr("Message \"")))
      << "what is approved";
  EXPECT_EQ(cli.run({"request", "reject", "r-000002", "--yes"}).code, 65) << "numbers are case-sensitive";
  EXPECT_EQ(cli.run({"request", "reject", "R-000002", "--yes"}).out, "R-000002 Rejected\n");
  EXPECT_EQ(list({"--status", "approved"}).size(), 1u);
  const Json shown = tests::parse_json(cli.run({"request", "show", "R-000001", "--json"}).out);
  const Json& transition = shown["transitions"][1];
  EXPECT_EQ(transition["actor"], os_user());
  EXPECT_EQ(transition["from"], "pending");
  EXPECT_EQ(transition["to"], "approved");
  EXPECT_EQ(transition["comment"], "as agreed");
  const auto again = cli.run({"request", "approve", "R-000002"});
  EXPECT_EQ(again.code, 65);
  EXPECT_THAT(again.err, HasSubstr("cannot go from Rejected to Approved. A rejected request stays Rejected"));
}

TEST_F(CliRequestRecord, DecidesRowsInsertedBySql) {
  create();
  sql("INSERT INTO crm_request_record (id, gift_id, request_status) VALUES ('mine', 'x', 'Rejected')");
  EXPECT_EQ(cli.run({"request", "approve", "mine"}).code, 65) << "the status in the CRM decides";
  sql("UPDATE crm_request_record SET request_status = 'Sent' WHERE id <> 'mine'");
  EXPECT_EQ(cli.run({"request", "approve", "R-000001"}).out, "R-000001 Approved\n")
      << "an illegal edit allows no decision";
}

// REQ-48
TEST_F(CliRequestRecord, RefusesAnIncompleteRequest) {
  const auto empty = cli.run({"request", "create"});
  EXPECT_EQ(empty.code, 64);
  EXPECT_EQ(empty.out, "");
  for (const char* option : {"--gift-id", "--recipient-email", "--message", "--sender"})
    EXPECT_THAT(empty.err, HasSubstr(option));
  EXPECT_EQ(cli.run({"request", "create", "--gift-id", "7", "--recipient-lead", "00Q", "--message", " ",
                     "--sender", "005A"})
                .code,
            64)
      << "a blank message is missing";
  EXPECT_TRUE(list().empty());
  EXPECT_EQ(cli.run({"request", "create", "--gift-id", "7", "--recipient-lead", "00Q", "--message", "Hi",
                     "--sender", "005A"})
                .code,
            0);
}

// REQ-48
TEST_F(CliRequestRecord, WithoutASenderTheIntegrationUserSends) {
  cli.write_settings("requests: { enabled: true }\ncrm: { integration_user: 005I }\n");
  const auto made =
      cli.run({"request", "create", "--gift-id", "7", "--recipient-lead", "00Q", "--message", "Hi"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(tests::parse_json(cli.run({"request", "show", "R-000001", "--json"}).out)["Sender"], "005I");
}

// REQ-49
TEST_F(CliRequestRecord, ShowsTheUrlsOfASendTypeLinkRequest) {
  cli.run({"item", "import", "-"},
          "gift_id,name,description,item_cost,shipping_cost,carbon_neutral_cost,transaction_fee\n"
          "7,Coffee,A cup,5.00,0,0.25,0.50\n");
  create({"--send-type", "link", "--auto-approved"});
  create({"--auto-approved"});
  const sync::LinkSigner signer = send_all();
  const auto show = [&](const std::string& number) {
    return tests::parse_json(cli.run({"request", "show", number, "--json"}).out);
  };
  const Json linked = show("R-000001");
  ASSERT_EQ(linked["Request_Status"], "Sent") << linked;
  const std::int64_t id = linked["recipient_transaction_ids"][0];
  const std::string pages = "http://127.0.0.1:8480/g/";
  EXPECT_EQ(linked["gift_redemption_url"], pages + signer.token(sync::LinkKind::redeem, {id}, 0));
  EXPECT_EQ(linked["gift_donation_url"], pages + signer.token(sync::LinkKind::donate, {id}, 0));
  EXPECT_THAT(cli.run({"request", "show", "R-000001"}).out,
              testing::AllOf(HasSubstr(linked["gift_redemption_url"].get<std::string>()),
                             HasSubstr(linked["gift_donation_url"].get<std::string>())));
  EXPECT_EQ(show("R-000002")["Request_Status"], "Sent");
  EXPECT_EQ(show("R-000002")["gift_redemption_url"], nullptr) << "its URL is in the mail";
  const auto mailed = cli.run({"gift", "resend", std::to_string(id)});
  EXPECT_EQ(mailed.code, 65);
  EXPECT_THAT(mailed.err, HasSubstr("request R-000001 asked for its links"));
  std::filesystem::rename(cli.path("store.secret"), cli.path("hidden.secret"));
  EXPECT_THAT(cli.run({"request", "show", "R-000001"}).out, HasSubstr("not shown: server secret"));
  std::filesystem::rename(cli.path("hidden.secret"), cli.path("store.secret"));
  EXPECT_EQ(cli.run({"gift", "cancel", std::to_string(id), "--yes"}).code, 0);
  EXPECT_EQ(show("R-000001")["gift_redemption_url"], nullptr);
  EXPECT_THAT(cli.run({"request", "show", "R-000001"}).out,
              HasSubstr("no longer available: the gift was refunded"));
}

// REQ-52
TEST_F(CliRequestRecord, CheckListsEverythingThatKeepsARecordFromBeingSent) {
  create();
  const auto checked = cli.run({"request", "check", "R-000001", "--json"});
  EXPECT_EQ(checked.code, 1) << checked.err;
  std::vector<std::string> checks;
  const Json report = tests::parse_json(checked.out);
  for (const Json& finding : report["findings"]) checks.push_back(finding["check"]);
  EXPECT_THAT(checks, testing::ElementsAre("approval", "gift", "organization_token", "sender_in_crm"));
  const std::string text = cli.run({"request", "check", "R-000001"}).out;
  EXPECT_THAT(text, HasSubstr("R-000001: 4 findings keep it from being sent\n"));
  EXPECT_THAT(text, HasSubstr("approval: The record is Pending: it waits for approval.\n  next: giftsyncctl "
                              "--config " +
                              cli.path("giftsyncd.yaml") + " request approve R-000001\n"));
  const auto approved = cli.run({"request", "approve", "R-000001"});
  EXPECT_EQ(approved.code, 0);
  EXPECT_EQ(approved.out, "R-000001 Approved\n");
  EXPECT_THAT(approved.err, HasSubstr("warning: R-000001 is not sent yet: gift: There is no item \"7\""));
  EXPECT_THAT(approved.err, HasSubstr("warning: R-000001 is not sent yet: organization_token: "));
  EXPECT_THAT(approved.err, testing::Not(HasSubstr("approval")));
  EXPECT_EQ(cli.run({"request", "check", "R-000009"}).code, 65);
}

// REQ-52
TEST_F(CliRequestRecord, CheckFindsNothingOnceEverythingIsCorrected) {
  create();
  cli.run({"item", "import", "-"},
          "gift_id,name,description,item_cost,shipping_cost,carbon_neutral_cost,transaction_fee\n"
          "7,Coffee,A cup,5.00,0,0.25,0.50\n");
  const std::string token = cli.run({"organization", "create", "--name", "Edge"}).out;
  cli.write_settings("requests: { enabled: true, organization_token: " + token.substr(0, token.find('\n')) +
                     " }\n");
  cli.run({"crm", "import", "--object", "user", "-"},
          "Id,Email,Name,IsActive\n005A,ana@example.com,Ana Lima,true\n");
  cli.run({"crm", "import", "--object", "permission_set_assignment", "-"},
          "Id,AssigneeId,PermissionSetName\n0PaA,005A,Standard_User\n");
  cli.run({"account", "create", "--email", "ana@example.com", "--name", "Ana", "--plan", "team",
           "--organization", "Edge"});
  cli.run({"account", "deactivate", "ana@example.com"});
  EXPECT_THAT(cli.run({"request", "approve", "R-000001"}).err, HasSubstr("active_account: "));
  cli.run({"account", "activate", "ana@example.com"});
  const auto checked = cli.run({"request", "check", "R-000001"});
  EXPECT_EQ(checked.out, "R-000001: nothing keeps it from being sent\n") << checked.err;
  EXPECT_EQ(checked.code, 0);
  send_all();
  EXPECT_EQ(cli.run({"request", "check", "R-000001"}).out, "R-000001: its gift was sent\n");
  EXPECT_THAT(cli.run({"gift", "show", "1"}).out, HasSubstr("for record    R-000001\n"));
}

// REQ-53
TEST_F(CliRequestRecord, FailedRecordsAreRetriedByCommandAndAfterACorrection) {
  create({"--auto-approved"});
  send_all();
  EXPECT_EQ(tests::parse_json(cli.run({"request", "show", "R-000001", "--json"}).out)["Error_Log"],
            "There is no item \"7\" in the catalogue: enter the Gift Id of another one; a giftsync "
            "administrator has the list.");
  const auto due = [&] {
    store::Store store(cli.address());
    return store.request_records.find_due(store.request_records.now(), 10).size();
  };
  EXPECT_EQ(due(), 0u);
  const auto retried = cli.run({"request", "retry", "R-000001"});
  EXPECT_EQ(retried.code, 0) << retried.err;
  EXPECT_EQ(due(), 1u);
  send_all();
  EXPECT_EQ(due(), 0u);
  EXPECT_THAT(cli.run({"request", "retry", "--all"}).err, HasSubstr("1 request record is tried again now."));
  EXPECT_THAT(cli.run({"audit", "list"}).out, HasSubstr("request.retry")) << "CON-8";
  EXPECT_EQ(due(), 1u);
  send_all();
  const auto imported =
      cli.run({"item", "import", "-"},
              "gift_id,name,description,item_cost,shipping_cost,carbon_neutral_cost,transaction_fee\n"
              "7,Coffee,A cup,5.00,0,0.25,0.50\n");
  EXPECT_THAT(imported.err, HasSubstr("1 request record that could not be sent is tried again now."));
  EXPECT_EQ(due(), 1u);
  send_all();
  EXPECT_EQ(list().front()["Request_Status"], "Sent");
  EXPECT_THAT(cli.run({"request", "retry", "R-000001"}).err, HasSubstr("giftsyncctl request check"));
  EXPECT_EQ(cli.run({"request", "retry", "R-000009"}).code, 65);
  EXPECT_EQ(cli.run({"request", "retry"}).code, 64);
  EXPECT_EQ(cli.run({"request", "retry", "R-000001", "--all"}).code, 64);
}

// REQ-53
TEST_F(CliRequestRecord, CommandsThatCorrectASenderRetryFailedRecords) {
  create({"--auto-approved"});
  send_all();
  const std::vector<std::vector<std::string>> commands{
      {"crm", "import", "--object", "user", "-"},
      {"account", "create", "--email", "ana@example.com", "--name", "Ana", "--plan", "team"},
      {"account", "set-plan", "ana@example.com", "--plan", "enterprise"},
      {"account", "activate", "ana@example.com"},
      {"account", "set-organization", "ana@example.com", "--organization", "Edge"}};
  cli.run({"organization", "create", "--name", "Edge"});
  for (const auto& args : commands) {
    if (args[1] == "activate") {
      EXPECT_THAT(cli.run({"account", "deactivate", "ana@example.com"}).err,
                  testing::Not(HasSubstr("tried again")));
    }
    EXPECT_THAT(cli.run(args, "Id,Email\n005A,ana@example.com\n").err,
                HasSubstr("1 request record that could not be sent is tried again now."))
        << args[1];
  }
}

TEST_F(CliRequestRecord, AnEmptyListMentionsDisabledRequests) {
  EXPECT_THAT(cli.run({"request", "list"}).err, testing::Not(HasSubstr("requests.enabled")));
  cli.write_settings("");
  EXPECT_THAT(cli.run({"request", "list"}).err, HasSubstr("requests.enabled in the settings is false"));
}

TEST_F(CliRequestRecord, InvalidArgumentsAreReported) {
  create();
  EXPECT_EQ(cli.run({"request", "show", "R-000009"}).code, 65);
  EXPECT_EQ(cli.run({"request", "list", "--status", "Gone"}).code, 64);
  EXPECT_EQ(cli.run({"request", "create", "--send-type", std::string(256, 'x')}).code, 64);
  EXPECT_THAT(cli.run({"request", "list", "--status", "foo"}).err,
              HasSubstr("found \"foo\"; allowed: Pending, Approved, Rejected, Sent"));
  EXPECT_THAT(cli.run({"request", "create", "--send-type", "pigeon"}).err, HasSubstr("allowed: email, link"));
  const auto sender = cli.run({"request", "create", "--gift-id", "7", "--recipient-email", "kim@example.com",
                               "--message", "Hi", "--sender", "absent@example.com"});
  EXPECT_EQ(sender.code, 65);
  EXPECT_THAT(sender.err, HasSubstr("no CRM user has the address"));
}

}  // namespace
}  // namespace giftsync::cli
