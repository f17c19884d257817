// giftsyncctl request: records that an admin makes, lists and decides on, without a daemon beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "daemon/cli/installation.h"
#include "daemon/cli/os_user.h"
#include "daemon/crypto/link_token.h"
#include "daemon/secret_of_store.h"
#include "sync/request_step.h"
#include "tests/cli/desk.h"
#include "tests/schema/temporary_database.h"

namespace giftsync::daemon {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

class RequestCommands : public testing::Test {
 protected:
  void SetUp() override { desk.write_settings("requests: { enabled: true }\n"); }
  std::string create(std::vector<std::string> more = {}) {
    std::vector<std::string> words{
        "request",         "create",    "--gift-id",  "7",        "--recipient-email",
        "kim@example.com", "--message", "Hello\nKim", "--sender", "005A"};
    words.insert(words.end(), more.begin(), more.end());
    const auto made = desk.run(words);
    EXPECT_EQ(made.code, 0) << made.err;
    return made.out.substr(0, made.out.find('\n'));
  }
  Json list(std::vector<std::string> more = {}) {
    std::vector<std::string> words{"request", "list", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return Json::parse(desk.run(words).out);
  }
  void sql(const std::string& statement) { schema::run_sql(desk.address(), statement); }
  /// What the daemon's request loop would do; everybody may send. Returns the store's links signer.
  LinkSigner send_all() {
    auto read = read_installation_settings(desk.path("giftsyncd.yaml"));
    std::ostringstream out, err;
    std::istringstream in;
    const Console console{out, err, in, false, [this] { return desk.now; }};
    auto opened = open_installation(std::get<Settings>(read), console);
    Installation& place = *std::get<std::unique_ptr<Installation>>(opened);
    LinkSigner signer(secret_of_store(place.settings, place.store));  // as a daemon's first start does it
    sync::SenderVerdict anybody;
    anybody.account = schema::Account();
    anybody.account->id = {1};
    anybody.account->email = "ana@example.com";
    sync::RequestRules rules;
    rules.check_senders = [&](std::span<const std::string> ids) {
      return std::vector<sync::SenderVerdict>(ids.size(), anybody);
    };
    desk.now = place.store.requests.now();
    for (int round = 0; round < 3; ++round) sync::request_step(place.store, *place.crm, rules, desk.now);
    return signer;
  }
  CliDesk desk;
};

TEST_F(RequestCommands, a_request_is_made_listed_and_shown_by_api_names) {
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
  EXPECT_THAT(desk.run({"request", "list"}).out, HasSubstr("R-000002"));
  const Json shown = Json::parse(desk.run({"request", "show", "R-000001", "--json"}).out);
  EXPECT_EQ(shown["asked_by"], os_user());
  EXPECT_EQ(shown["moves"][0]["comment"], "made");
  EXPECT_THAT(desk.run({"request", "show", "R-000001"}).out, HasSubstr("kim@example.com"));
}

TEST_F(RequestCommands, a_crm_that_someone_else_owns_has_none_and_every_verb_says_so) {
  const std::string foreign = "crm: { connection: crm.db, backend: sqlite }\n";
  desk.write_settings(foreign);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"request", "list"},
        {"request", "create", "--gift-id", "7", "--recipient-email", "kim@example.com", "--message", "Hi"},
        {"request", "show", "R-000001"},
        {"request", "approve", "R-000001"},
        {"request", "reject", "R-000001"}}) {
    const auto answer = desk.run(words);
    EXPECT_EQ(answer.code, 78) << words[1];
    EXPECT_THAT(answer.err, HasSubstr("request records exist in the managed CRM only")) << words[1];
  }
  desk.write_settings(foreign + "requests: { enabled: true }\n");
  const auto answer = desk.run({"crm", "check"});
  EXPECT_EQ(answer.code, 78);
  EXPECT_THAT(answer.err, HasSubstr("giftsyncd.yaml:5: requests.enabled: found true beside crm.connection"));
}

TEST_F(RequestCommands, approving_and_rejecting_keep_who_and_why) {
  create();
  create();
  const auto approved = desk.run({"request", "approve", "R-000001", "--comment", "as agreed"});
  EXPECT_EQ(approved.out, "R-000001 Approved\n");
  EXPECT_EQ(desk.run({"request", "reject", "r-000002"}).code, 65) << "numbers are as they are written";
  EXPECT_EQ(desk.run({"request", "reject", "R-000002"}).out, "R-000002 Rejected\n");
  EXPECT_EQ(list({"--status", "approved"}).size(), 1u);
  const Json shown = Json::parse(desk.run({"request", "show", "R-000001", "--json"}).out);
  const Json& move = shown["moves"][1];
  EXPECT_EQ(move["who"], os_user());
  EXPECT_EQ(move["from"], "pending");
  EXPECT_EQ(move["to"], "approved");
  EXPECT_EQ(move["comment"], "as agreed");
  const auto again = desk.run({"request", "approve", "R-000002"});
  EXPECT_EQ(again.code, 65);
  EXPECT_THAT(again.err, HasSubstr("cannot go from Rejected to Approved. A rejected request stays Rejected"));
}

TEST_F(RequestCommands, rows_by_plain_sql_are_decided_on_like_any_other) {
  create();
  sql("INSERT INTO crm_request_record (id, gift_id, request_status) VALUES ('mine', 'x', 'Rejected')");
  EXPECT_EQ(desk.run({"request", "approve", "mine"}).code, 65) << "what stands in the CRM counts first";
  sql("UPDATE crm_request_record SET request_status = 'Sent' WHERE id <> 'mine'");
  EXPECT_EQ(desk.run({"request", "approve", "R-000001"}).out, "R-000001 Approved\n")
      << "an illegal edit is no state to start from";
}

TEST_F(RequestCommands, what_could_never_be_sent_is_not_made) {
  const auto empty = desk.run({"request", "create"});
  EXPECT_EQ(empty.code, 64);
  EXPECT_EQ(empty.out, "");
  for (const char* option : {"--gift-id", "--recipient-email", "--message", "--sender"})
    EXPECT_THAT(empty.err, HasSubstr(option));
  EXPECT_EQ(desk.run({"request", "create", "--gift-id", "7", "--recipient-lead", "00Q", "--message", " ",
                      "--sender", "005A"})
                .code,
            64)
      << "a blank message is none";
  EXPECT_TRUE(list().empty());
  EXPECT_EQ(desk.run({"request", "create", "--gift-id", "7", "--recipient-lead", "00Q", "--message", "Hi",
                      "--sender", "005A"})
                .code,
            0);
}

TEST_F(RequestCommands, whoever_asked_for_links_reads_them_with_the_request) {
  desk.run({"item", "import", "-"},
           "gift_id,name,description,item_cost,shipping_cost,carbon_neutral_cost,transaction_fee\n"
           "7,Coffee,A cup,5.00,0,0.25,0.50\n");
  create({"--send-type", "link", "--auto-approved"});
  create({"--auto-approved"});
  const LinkSigner signer = send_all();
  const auto show = [&](const std::string& number) {
    return Json::parse(desk.run({"request", "show", number, "--json"}).out);
  };
  const Json linked = show("R-000001");
  ASSERT_EQ(linked["Request_Status"], "Sent") << linked;
  const std::int64_t id = linked["recipient_transaction_ids"][0];
  const std::string pages = "http://127.0.0.1:8480/g/";
  EXPECT_EQ(linked["gift_redemption_url"], pages + signer.token(LinkKind::redeem, {id}, 0));
  EXPECT_EQ(linked["gift_donation_url"], pages + signer.token(LinkKind::donate, {id}, 0));
  EXPECT_THAT(desk.run({"request", "show", "R-000001"}).out,
              testing::AllOf(HasSubstr(linked["gift_redemption_url"].get<std::string>()),
                             HasSubstr(linked["gift_donation_url"].get<std::string>())));
  EXPECT_EQ(show("R-000002")["Request_Status"], "Sent");
  EXPECT_EQ(show("R-000002")["gift_redemption_url"], nullptr) << "its mail has it";
  const auto mailed = desk.run({"gift", "resend", std::to_string(id)});
  EXPECT_EQ(mailed.code, 65);
  EXPECT_THAT(mailed.err, HasSubstr("giftsyncctl request show R-000001"));
  std::filesystem::rename(desk.path("store.secret"), desk.path("hidden.secret"));
  EXPECT_THAT(desk.run({"request", "show", "R-000001"}).out, HasSubstr("not shown: server secret"));
  std::filesystem::rename(desk.path("hidden.secret"), desk.path("store.secret"));
  EXPECT_EQ(desk.run({"gift", "cancel", std::to_string(id)}).code, 0);
  EXPECT_EQ(show("R-000001")["gift_redemption_url"], nullptr);
  EXPECT_THAT(desk.run({"request", "show", "R-000001"}).out,
              HasSubstr("none any more: the gift was refunded"));
}

TEST_F(RequestCommands, an_empty_list_says_when_requests_are_off) {
  EXPECT_THAT(desk.run({"request", "list"}).err, testing::Not(HasSubstr("requests.enabled")));
  desk.write_settings("");
  EXPECT_THAT(desk.run({"request", "list"}).err, HasSubstr("requests.enabled in the settings is false"));
}

TEST_F(RequestCommands, wrong_words_are_told) {
  create();
  EXPECT_EQ(desk.run({"request", "show", "R-000009"}).code, 65);
  EXPECT_EQ(desk.run({"request", "list", "--status", "Gone"}).code, 64);
  EXPECT_EQ(desk.run({"request", "create", "--send-type", std::string(256, 'x')}).code, 64);
  EXPECT_THAT(desk.run({"request", "list", "--status", "foo"}).err,
              HasSubstr("found \"foo\"; allowed: Pending, Approved, Rejected, Sent"));
  EXPECT_THAT(desk.run({"request", "create", "--send-type", "pigeon"}).err,
              HasSubstr("allowed: email, link"));
  const auto sender = desk.run({"request", "create", "--gift-id", "7", "--recipient-email", "kim@example.com",
                                "--message", "Hi", "--sender", "nobody@example.com"});
  EXPECT_EQ(sender.code, 65);
  EXPECT_THAT(sender.err, HasSubstr("no CRM user has the address"));
}

}  // namespace
}  // namespace giftsync::daemon
