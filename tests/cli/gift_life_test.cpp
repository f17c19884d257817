// gift resend, cancel and export, as an admin uses them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "daemon/cli/export_rows.h"
#include "daemon/store_address.h"
#include "sync/lifecycle_rules.h"
#include "sync/sync_step.h"
#include "tests/cli/desk.h"
#include "tests/schema/temporary_database.h"

namespace giftsync::daemon {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CliLife : public ::testing::Test {
 protected:
  std::string send(const std::string& email, const std::optional<std::string>& campaign = {},
                   schema::SendMode mode = schema::SendMode::email) {
    desk_.run({"db", "migrate"});
    schema::Store store(desk_.address());
    store.gifts.stamp_with(sync::stamp_of({}, 90));
    schema::NewGiftRequest asked;
    asked.request.account = {1};
    asked.request.gift = {7};
    asked.request.mode = mode;
    asked.request.item_name = "Coffee, \"large\"";
    asked.request.costs = {schema::Money{500}, schema::Money{0}, schema::Money{25}, schema::Money{50}};
    asked.request.sender_email = "rose@example.com";
    asked.request.sender_name = "=HYPERLINK(\"http://x\")";
    asked.request.utm_campaign_id = campaign;
    asked.request.created_at = desk_.now;
    asked.recipients.push_back({email, "Pat", "", "Hi"});
    return std::to_string(store.gifts.create(std::span(&asked, 1)).front().recipients.front().id.value);
  }
  void report(const std::string& id, const std::string& status) {
    const CliDesk::Answer answer = desk_.run(
        {"change", "import", "-"}, "{\"recipient_transaction_id\":" + id + ",\"status\":\"" + status +
                                       "\",\"occurred_at\":\"" + schema::to_rfc3339(desk_.now) + "\"}\n");
    ASSERT_EQ(answer.code, 0) << answer.err;
  }
  void sync() {
    schema::Store store(desk_.address());
    const schema::MatchFields fields = match_fields(MatchingSettings{});
    const auto crm = schema::make_sql_crm({desk_.address(), "giftsync", fields});
    const sync::SyncRules rules{fields, false, "", [](const auto&) { return "http://127.0.0.1/g/x"; }};
    while (sync::sync_step(store, *crm, rules, {"test"}, desk_.now).claimed > 0) continue;
  }
  CliDesk desk_;
};

TEST_F(CliLife, ResendToAnotherAddressMatchesAnewAndSaysSo) {
  desk_.run({"crm", "import", "--object", "contact", "-"},
            "Id,Email\n003A,ada@example.com\n003B,bea@example.com\n");
  const std::string id = send("ada@example.com");
  sync();
  const CliDesk::Answer same = desk_.run({"gift", "resend", id});
  EXPECT_EQ(same.code, 65);
  EXPECT_THAT(same.err, HasSubstr("has not left yet"));
  const CliDesk::Answer answer = desk_.run({"gift", "resend", id, "--email", "bea@example.com"});
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(answer.err,
              AllOf(HasSubstr("a new link"), HasSubstr("Matched anew: contact 003B"),
                    HasSubstr("before: contact 003A"), HasSubstr("accepted until 2026-12-21T12:31:07.000Z")));
  sync();
  const Json story = Json::parse(desk_.run({"gift", "show", id, "--json"}).out);
  EXPECT_EQ(story["record"]["RecipientContactId"], "003B");
  EXPECT_EQ(story["record"]["Recipient_Email"], "bea@example.com");
  EXPECT_EQ(story["acts"][0]["what"], "resent");
  EXPECT_EQ(story["acts"][0]["remark"], "to bea@example.com, before it was ada@example.com");
  EXPECT_EQ(story["to_come"]["status"], "expired");
  const std::string stranger = send("nobody@example.com");
  sync();
  EXPECT_EQ(desk_.run({"gift", "resend", stranger, "--email", "stranger@example.com"}).code, 0);
  EXPECT_THAT(desk_.run({"gift", "show", stranger}).out, HasSubstr("has stranger@example.com"))
      << "the decision is told by the new address, though it is the same";
  EXPECT_EQ(desk_.run({"gift", "resend", id, "--email", "bea"}).code, 64);
  EXPECT_EQ(desk_.run({"gift", "resend", "987654"}).code, 65);
}

TEST_F(CliLife, ResendToAnotherAddressStampsTheDealStageOfItsOpportunity) {
  const auto import = [&](const std::string& object, const std::string& rows) {
    const CliDesk::Answer answer = desk_.run({"crm", "import", "--object", object, "-"}, rows);
    ASSERT_EQ(answer.code, 0) << answer.err;
  };
  import("contact", "Id,Email\n003A,ada@example.com\n003B,bea@example.com\n");
  import("opportunity", "Id,StageName,IsClosed\n006A,Proposal,false\n006B,Negotiation,false\n");
  import("opportunity_contact_role", "Id,ContactId,OpportunityId\n00KA,003A,006A\n00KB,003B,006B\n");
  const std::string id = send("ada@example.com");
  sync();
  const auto record = [&] { return Json::parse(desk_.run({"gift", "show", id, "--json"}).out)["record"]; };
  ASSERT_EQ(record()["Deal_Stage"], "Proposal");
  EXPECT_EQ(desk_.run({"gift", "resend", id, "--email", "bea@example.com"}).code, 0);
  EXPECT_EQ(record()["Opportunity"], "006B");
  EXPECT_EQ(record()["Deal_Stage"], "Negotiation");
  EXPECT_EQ(desk_.run({"gift", "resend", id, "--email", "nobody@example.com"}).code, 0);
  EXPECT_EQ(record()["Opportunity"], nullptr);
  EXPECT_EQ(record()["Deal_Stage"], nullptr);
}

TEST_F(CliLife, WhatWasSentElsewhereIsNotTakenForAGiftThatIsUnknown) {
  send("ada@example.com");
  {
    schema::Store store(desk_.address());
    store.sources.open("shop", "shop", desk_.now);
    schema::SourceReport report;
    report.source = report.origin = "shop";
    report.now = desk_.now;
    schema::ExternalGift gift;
    gift.id = {700'100};
    gift.item_name = "Mug";
    gift.email = "bea@example.com";
    gift.sent_at = desk_.now;
    schema::SourceItem& item = report.items.emplace_back();
    item.gift = gift;
    item.change = schema::StatusChange{{}, "", gift.id, schema::Status::sent, desk_.now, desk_.now, {}};
    ASSERT_EQ(store.sources.accept(report).gifts, 1u);
  }
  sync();
  schema::run_sql(desk_.address(),
                  "INSERT INTO crm_gift_record (id, recipienttransactionid, recipient_email, "
                  "recipienttransactionstatus) VALUES ('r1', 700200, 'cid@example.com', 'sent')");
  const auto said = [&](std::vector<std::string> words) {
    const CliDesk::Answer answer = desk_.run(std::move(words));
    EXPECT_EQ(answer.code, 65);
    return answer.err;
  };
  EXPECT_THAT(
      said({"gift", "resend", "700100"}),
      HasSubstr("gift 700100 was not sent again: it was sent elsewhere, source \"shop\" reported it"));
  EXPECT_THAT(said({"gift", "cancel", "700100"}), HasSubstr("gift 700100 was not cancelled: it was sent"));
  EXPECT_THAT(said({"gift", "cancel", "700200"}), HasSubstr("nothing of it but its record in the CRM"));
  ASSERT_EQ(desk_.run({"backfill", "gift-records"}).code, 0);
  EXPECT_THAT(said({"gift", "resend", "700200"}), HasSubstr("its record was in the CRM before giftsync"));
  EXPECT_THAT(said({"gift", "resend", "987654"}), HasSubstr("there is no gift 987654;"));
}

TEST_F(CliLife, CancelRefundsAndRefusalsSayWhatHappened) {
  const std::string id = send("ada@example.com");
  EXPECT_THAT(desk_.run({"gift", "cancel", id}).err,
              AllOf(HasSubstr("is refunded and its links are dead"), HasSubstr("is not sent")));
  const CliDesk::Answer again = desk_.run({"gift", "cancel", id});
  EXPECT_EQ(again.code, 65);
  EXPECT_THAT(again.err, HasSubstr("was not cancelled: it was refunded on 2026-11-21T12:31:07.000Z"));
  const std::string told = desk_.run({"gift", "show", id}).out;
  EXPECT_THAT(told, AllOf(HasSubstr("cancelled    by "), HasSubstr("withdrawn"), Not(HasSubstr("To come"))));
  const std::string redeemed = send("bea@example.com");
  report(redeemed, "redeemed");
  EXPECT_THAT(desk_.run({"gift", "cancel", redeemed}).err, HasSubstr("it was redeemed on"));
}

TEST_F(CliLife, ShowTellsWhatComesNext) {
  const std::string told = desk_.run({"gift", "show", send("ada@example.com", "spring")}).out;
  EXPECT_THAT(told, AllOf(HasSubstr("To come\n  2026-12-21T12:31:07.000Z  expired"),
                          HasSubstr("unless it is opened before"), HasSubstr("spring")));
}

TEST_F(CliLife, ShowSpeaksOfSendingAgainOnlyWhereThatCanBe) {
  const std::string mailed = send("ada@example.com");
  report(mailed, "undelivered");
  EXPECT_THAT(desk_.run({"gift", "show", mailed}).out,
              HasSubstr("2026-11-28T12:31:07.000Z  refunded     unless it is sent again before"));
  const std::string handed_out = send("bea@example.com", {}, schema::SendMode::urls);
  report(handed_out, "undelivered");
  EXPECT_THAT(desk_.run({"gift", "show", handed_out}).out,
              AllOf(HasSubstr("2026-11-28T12:31:07.000Z  refunded     as it was not delivered"),
                    Not(HasSubstr("sent again"))));
}

TEST_F(CliLife, ExportIsSafeInASpreadsheetAndTotalsAreExact) {
  const std::string one = send("ada@example.com", "spring");
  send("bea@example.com", "autumn");
  report(one, "donated");
  sync();
  const CliDesk::Answer all = desk_.run({"gift", "export"});
  EXPECT_EQ(all.code, 0);
  EXPECT_THAT(all.out, StartsWith("recipient_transaction_id,gift_request_id,status,sent_at,"));
  EXPECT_THAT(all.out, AllOf(HasSubstr("\"'=HYPERLINK(\"\"http://x\"\")\""),
                             HasSubstr("\"Coffee, \"\"large\"\"\",5.00,0.00,0.25,0.50,5.75,spring,")));
  EXPECT_THAT(all.err, AllOf(HasSubstr("1 gift donated: total 5.75"), HasSubstr("1 gift sent: total 5.75"),
                             HasSubstr("2 gifts exported.")));
  const auto lines = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"gift", "export", "--format", "ndjson"});
    const std::string out = desk_.run(more).out;
    return std::count(out.begin(), out.end(), '\n');
  };
  EXPECT_EQ(lines({}), 2);
  EXPECT_EQ(lines({"--campaign", "autumn"}), 1);
  EXPECT_EQ(lines({"--status", "donated"}), 1);
  EXPECT_EQ(lines({"--sender", "ROSE@example.com"}), 2);
  EXPECT_EQ(lines({"--sender", "sam@example.com"}), 0);
  EXPECT_EQ(lines({"--since", "2026-11-21", "--until", "2026-11-21"}), 2);
  EXPECT_EQ(lines({"--until", "2026-11-20"}), 0);
  EXPECT_EQ(lines({"--until", "2026-11-21T12:31:07Z"}), 0) << "a time is an end that does not belong to it";
  EXPECT_EQ(lines({"--since", "2026-11-22"}), 0);
  EXPECT_EQ(desk_.run({"gift", "export", "--since", "yesterday"}).code, 64);
  EXPECT_EQ(desk_.run({"gift", "export", "--totals"}).out,
            "status,gifts,item_cost,shipping_cost,carbon_neutral_cost,transaction_fee,total_price\r\n"
            "sent,1,5.00,0.00,0.25,0.50,5.75\r\ndonated,1,5.00,0.00,0.25,0.50,5.75\r\n");
  EXPECT_EQ(Json::parse(desk_.run({"gift", "list", "--json", "--campaign", "autumn"}).out).size(), 1u);
  const Json row =
      Json::parse(desk_.run({"gift", "export", "--format", "ndjson", "--campaign", "spring"}).out);
  EXPECT_EQ(row["status"], "donated");
  EXPECT_EQ(row["donated_at"], "2026-11-21T12:31:07.000Z");
  EXPECT_EQ(row["sender_name"], "=HYPERLINK(\"http://x\")") << "a program takes nothing for a formula";
}

TEST(ExportRows, FormulasAreDefused) {
  const std::pair<const char*, const char*> cells[] = {
      {"", ""},
      {"a", "a"},
      {"=1+1", "'=1+1"},
      {"+49 30", "'+49 30"},
      {"-1", "'-1"},
      {"@SUM", "'@SUM"},
      {"\t=1", "'\t=1"},
      {"\r=1", "\"'\r=1\""},
      {"a=1", "a=1"},
      {"a,b", "\"a,b\""},
      {"say \"x\"", "\"say \"\"x\"\"\""},
  };
  for (const auto& [text, cell] : cells) EXPECT_EQ(csv_cell(text), cell);
}

}  // namespace
}  // namespace giftsync::daemon
