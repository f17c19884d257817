// gift resend, cancel and export.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/gift/gift_export.h"
#include "daemon/wiring/database_config.h"
#include "sync/crm/sync_step.h"
#include "sync/gift/lifecycle.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"
#include "tests/support/temporary_database.h"

namespace giftsync::cli {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CliGiftActions : public ::testing::Test {
 protected:
  std::string send(const std::string& email, const std::optional<std::string>& campaign = {},
                   SendMode mode = SendMode::email) {
    cli_.run({"db", "migrate"});
    store::Store store(cli_.address());
    store.gifts.set_lifecycle_stamp(sync::terms_stamper({}, 90));
    store::NewGiftRequest request;
    request.request.account = {1};
    request.request.gift = {7};
    request.request.mode = mode;
    request.request.item_name = "Coffee, \"large\"";
    request.request.costs = {Money{500}, Money{0}, Money{25}, Money{50}};
    request.request.sender_email = "rose@example.com";
    request.request.sender_name = "=HYPERLINK(\"http://x\")";
    request.request.utm_campaign_id = campaign;
    request.request.created_at = cli_.now;
    request.recipients.push_back({email, "Pat", "", "Hi"});
    return std::to_string(store.gifts.create(std::span(&request, 1)).front().recipients.front().id.value);
  }
  void report(const std::string& id, const std::string& status) {
    const CliFixture::Result result = cli_.run(
        {"change", "import", "-"}, "{\"recipient_transaction_id\":" + id + ",\"status\":\"" + status +
                                       "\",\"occurred_at\":\"" + to_rfc3339(cli_.now) + "\"}\n");
    ASSERT_EQ(result.code, 0) << result.err;
  }
  void sync() {
    store::Store store(cli_.address());
    const crm::MatchFields fields = wiring::match_fields(config::MatchingSettings{});
    const auto crm = crm::managed::make_managed_crm({cli_.address(), "giftsync", fields});
    const sync::SyncRules rules{fields, false, "", [](const auto&) { return "http://127.0.0.1/g/x"; }};
    while (sync::sync_step(store, *crm, rules, {"test"}, cli_.now).claimed > 0) continue;
  }
  CliFixture cli_;
};

// MATCH-31
TEST_F(CliGiftActions, ResendToAnotherAddressRematches) {
  cli_.run({"crm", "import", "--object", "contact", "-"},
           "Id,Email\n003A,ada@example.com\n003B,bea@example.com\n");
  const std::string id = send("ada@example.com");
  sync();
  const CliFixture::Result same = cli_.run({"gift", "resend", id});
  EXPECT_EQ(same.code, 65);
  EXPECT_THAT(same.err, HasSubstr("has not left yet"));
  const CliFixture::Result result = cli_.run({"gift", "resend", id, "--email", "bea@example.com"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("a new link"), HasSubstr("Rematched: contact 003B"),
                    HasSubstr("before: contact 003A"), HasSubstr("accepted until 2026-12-21T12:31:07.000Z")));
  sync();
  const Json detail = tests::parse_ordered_json(cli_.run({"gift", "show", id, "--json"}).out);
  EXPECT_EQ(detail["record"]["RecipientContactId"], "003B");
  EXPECT_EQ(detail["record"]["Recipient_Email"], "bea@example.com");
  EXPECT_EQ(detail["actions"][0]["action"], "resent");
  EXPECT_EQ(detail["actions"][0]["comment"], "to bea@example.com, before it was ada@example.com");
  EXPECT_EQ(detail["next"]["status"], "expired");
  const std::string unmatched = send("absent@example.com");
  sync();
  EXPECT_EQ(cli_.run({"gift", "resend", unmatched, "--email", "unmatched@example.com"}).code, 0);
  EXPECT_THAT(cli_.run({"gift", "show", unmatched}).out, HasSubstr("has unmatched@example.com"))
      << "the reason names the new address, although the decision is the same";
  EXPECT_EQ(cli_.run({"gift", "resend", id, "--email", "bea"}).code, 64);
  EXPECT_EQ(cli_.run({"gift", "resend", "987654"}).code, 65);
}

// MATCH-31
TEST_F(CliGiftActions, ResendToAnotherAddressReplacesACorrectionInTheCrm) {
  cli_.run({"crm", "import", "--object", "contact", "-"},
           "Id,Email\n003A,ada@example.com\n003B,bea@example.com\n003C,cleo@example.com\n");
  const std::string id = send("ada@example.com");
  sync();
  tests::run_sql(cli_.address(), "UPDATE crm_gift_record SET recipientcontactid = '003C'");
  EXPECT_EQ(cli_.run({"gift", "resend", id, "--email", "bea@example.com"}).code, 0);
  sync();
  EXPECT_EQ(
      tests::parse_ordered_json(cli_.run({"gift", "show", id, "--json"}).out)["record"]["RecipientContactId"],
      "003B");
}

TEST_F(CliGiftActions, ResendToAnotherAddressStampsTheDealStageOfItsOpportunity) {
  const auto import = [&](const std::string& object, const std::string& rows) {
    const CliFixture::Result result = cli_.run({"crm", "import", "--object", object, "-"}, rows);
    ASSERT_EQ(result.code, 0) << result.err;
  };
  import("contact", "Id,Email\n003A,ada@example.com\n003B,bea@example.com\n");
  import("opportunity", "Id,StageName,IsClosed\n006A,Proposal,false\n006B,Negotiation,false\n");
  import("opportunity_contact_role", "Id,ContactId,OpportunityId\n00KA,003A,006A\n00KB,003B,006B\n");
  const std::string id = send("ada@example.com");
  sync();
  const auto record = [&] {
    return tests::parse_ordered_json(cli_.run({"gift", "show", id, "--json"}).out)["record"];
  };
  ASSERT_EQ(record()["Deal_Stage"], "Proposal");
  EXPECT_EQ(cli_.run({"gift", "resend", id, "--email", "bea@example.com"}).code, 0);
  EXPECT_EQ(record()["Opportunity"], "006B");
  EXPECT_EQ(record()["Deal_Stage"], "Negotiation");
  EXPECT_EQ(cli_.run({"gift", "resend", id, "--email", "absent@example.com"}).code, 0);
  EXPECT_EQ(record()["Opportunity"], nullptr);
  EXPECT_EQ(record()["Deal_Stage"], nullptr);
}

TEST_F(CliGiftActions, AnExternalGiftIsNotReportedAsUnknown) {
  send("ada@example.com");
  {
    store::Store store(cli_.address());
    store.sources.open("shop", "shop", cli_.now);
    store::InboundBatch report;
    report.source = report.gift_source = "shop";
    report.now = cli_.now;
    store::ExternalGift gift;
    gift.id = {700'100};
    gift.item_name = "Mug";
    gift.email = "bea@example.com";
    gift.sent_at = cli_.now;
    store::InboundItem& item = report.items.emplace_back();
    item.gift = gift;
    item.change = store::StatusChange{{}, "", gift.id, Status::sent, cli_.now, cli_.now, {}};
    ASSERT_EQ(store.sources.accept(report).gifts, 1u);
  }
  sync();
  tests::run_sql(cli_.address(),
                 "INSERT INTO crm_gift_record (id, recipienttransactionid, recipient_email, "
                 "recipienttransactionstatus) VALUES ('r1', 700200, 'cid@example.com', 'sent')");
  const auto error_of = [&](std::vector<std::string> args) {
    const CliFixture::Result result = cli_.run(std::move(args));
    EXPECT_EQ(result.code, 65);
    return result.err;
  };
  EXPECT_THAT(
      error_of({"gift", "resend", "700100"}),
      HasSubstr("gift 700100 was not sent again: giftsync did not send it (source \"shop\" reported it)"));
  EXPECT_THAT(error_of({"gift", "cancel", "700100"}),
              HasSubstr("gift 700100 was not cancelled: giftsync did not send it"));
  EXPECT_THAT(error_of({"gift", "cancel", "700200"}), HasSubstr("giftsync has only its record in the CRM"));
  ASSERT_EQ(cli_.run({"backfill", "gift-records"}).code, 0);
  EXPECT_THAT(error_of({"gift", "resend", "700200"}), HasSubstr("its record was in the CRM before giftsync"));
  EXPECT_THAT(error_of({"gift", "resend", "987654"}), HasSubstr("there is no gift 987654;"));
}

// LIFE-23, OPS-29
TEST_F(CliGiftActions, ExtendSaysUntilWhenAndMayBeRepeated) {
  const std::string id = send("kim@example.com");
  const UtcMillis until = cli_.now + 200 * kDayMillis;
  const auto extend = [&](const std::string& time) {
    return cli_.run({"gift", "extend", id, "--until", time});
  };
  const auto first = extend(to_rfc3339(until));
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("It can be accepted until " + to_rfc3339(until) + "."));
  EXPECT_THAT(cli_.run({"audit", "list", "--action", "gift.extend"}).out,
              HasSubstr("--until " + to_rfc3339(until)));
  const auto again = extend(to_rfc3339(until));
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("already"));
  EXPECT_EQ(extend(to_rfc3339(until - kDayMillis)).code, 65);
  EXPECT_EQ(extend(to_rfc3339(until + 600 * kDayMillis)).code, 65);
  EXPECT_EQ(extend("soon").code, 64);
  EXPECT_THAT(cli_.run({"gift", "show", id}).out, HasSubstr("extended until"));
}

TEST_F(CliGiftActions, CancelRefundsAndRefusalsNameTheReason) {
  const std::string id = send("ada@example.com");
  EXPECT_THAT(cli_.run({"gift", "cancel", id, "--yes"}).err,
              AllOf(HasSubstr("is refunded and its links no longer work"),
                    HasSubstr("was not sent yet and is withdrawn")));
  const CliFixture::Result again = cli_.run({"gift", "cancel", id, "--yes"});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.err,
              HasSubstr("already refunded: it was refunded on 2026-11-21T12:31:07.000Z (cancelled by "));
  const std::string output = cli_.run({"gift", "show", id}).out;
  EXPECT_THAT(output, AllOf(HasSubstr("cancelled    by "), HasSubstr("withdrawn"), Not(HasSubstr("Next\n"))));
  const std::string redeemed = send("bea@example.com");
  report(redeemed, "redeemed");
  EXPECT_THAT(cli_.run({"gift", "cancel", redeemed, "--yes"}).err, HasSubstr("it was redeemed on"));
}

TEST_F(CliGiftActions, ShowPrintsTheNextOutcome) {
  const std::string output = cli_.run({"gift", "show", send("ada@example.com", "spring")}).out;
  EXPECT_THAT(output, AllOf(HasSubstr("Next\n  2026-12-21T12:31:07.000Z  expired"),
                            HasSubstr("unless it is opened before"), HasSubstr("spring")));
}

TEST_F(CliGiftActions, ShowMentionsResendOnlyForMailedGifts) {
  const std::string mailed = send("ada@example.com");
  report(mailed, "undelivered");
  EXPECT_THAT(cli_.run({"gift", "show", mailed}).out,
              HasSubstr("2026-11-28T12:31:07.000Z  refunded     unless it is sent again before"));
  const std::string issued = send("bea@example.com", {}, SendMode::urls);
  report(issued, "undelivered");
  EXPECT_THAT(cli_.run({"gift", "show", issued}).out,
              AllOf(HasSubstr("2026-11-28T12:31:07.000Z  refunded     as it was not delivered"),
                    Not(HasSubstr("sent again"))));
}

// HTTP-60
TEST_F(CliGiftActions, ExportsAndJsonNameTheCurrencyOfTheSettings) {
  const std::string gift = send("ada@example.com", "spring");
  sync();
  cli_.write_settings("catalogue: { currency: EUR }\n");
  EXPECT_THAT(cli_.run({"gift", "export"}).out,
              AllOf(HasSubstr(",total_price,utm_campaign_id,"), HasSubstr(",currency\r\n"),
                    HasSubstr(",5.75,spring,"), HasSubstr(",EUR\r\n")))
      << "the other columns stay where they are";
  EXPECT_THAT(cli_.run({"gift", "export", "--totals"}).out,
              AllOf(HasSubstr(",total_price,currency\r\n"), HasSubstr(",5.75,EUR\r\n")));
  EXPECT_EQ(tests::parse_json(cli_.run({"gift", "list", "--json"}).out)[0]["currency"], "EUR");
  EXPECT_EQ(tests::parse_json(cli_.run({"gift", "show", gift, "--json"}).out)["request"]["costs"]["currency"],
            "EUR");
  EXPECT_THAT(cli_.run({"gift", "list"}).out, Not(HasSubstr("EUR"))) << "a table has numbers alone";
}

// OPS-24, HTTP-9, LIFE-15
TEST_F(CliGiftActions, ExportIsSafeInASpreadsheetAndTotalsAreExact) {
  const std::string one = send("ada@example.com", "spring");
  send("bea@example.com", "autumn");
  report(one, "donated");
  sync();
  const CliFixture::Result all = cli_.run({"gift", "export"});
  EXPECT_EQ(all.code, 0);
  EXPECT_THAT(all.out, StartsWith("recipient_transaction_id,gift_request_id,status,sent_at,"));
  EXPECT_THAT(all.out, AllOf(HasSubstr("\"'=HYPERLINK(\"\"http://x\"\")\""),
                             HasSubstr("\"Coffee, \"\"large\"\"\",5.00,0.00,0.25,0.50,5.75,spring,")));
  EXPECT_THAT(all.err, AllOf(HasSubstr("1 gift donated: total 5.75"), HasSubstr("1 gift sent: total 5.75"),
                             HasSubstr("2 gifts exported.")));
  const auto lines = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"gift", "export", "--format", "ndjson"});
    const std::string out = cli_.run(more).out;
    return std::count(out.begin(), out.end(), '\n');
  };
  EXPECT_EQ(cli_.run({"gift", "export", "--excel"}).out, "\xEF\xBB\xBF" + all.out);
  EXPECT_THAT(all.out, Not(HasSubstr("currency")));
  EXPECT_EQ(cli_.run({"gift", "export", "--excel", "--format", "ndjson"}).code, 64);
  EXPECT_EQ(lines({}), 2);
  EXPECT_EQ(lines({"--campaign", "autumn"}), 1);
  EXPECT_EQ(lines({"--status", "donated"}), 1);
  EXPECT_EQ(lines({"--sender", "ROSE@example.com"}), 2);
  EXPECT_EQ(lines({"--sender", "sam@example.com"}), 0);
  EXPECT_EQ(lines({"--since", "2026-11-21", "--until", "2026-11-21"}), 2);
  EXPECT_EQ(lines({"--until", "2026-11-20"}), 0);
  EXPECT_EQ(lines({"--until", "2026-11-21T12:31:07Z"}), 0) << "the end time is exclusive";
  EXPECT_EQ(lines({"--since", "2026-11-22"}), 0);
  EXPECT_EQ(cli_.run({"gift", "export", "--since", "yesterday"}).code, 64);
  EXPECT_EQ(cli_.run({"gift", "export", "--totals"}).out,
            "status,gifts,item_cost,shipping_cost,carbon_neutral_cost,transaction_fee,total_price\r\n"
            "sent,1,5.00,0.00,0.25,0.50,5.75\r\ndonated,1,5.00,0.00,0.25,0.50,5.75\r\n");
  EXPECT_EQ(
      tests::parse_ordered_json(cli_.run({"gift", "list", "--json", "--campaign", "autumn"}).out).size(), 1u);
  const Json row = tests::parse_ordered_json(
      cli_.run({"gift", "export", "--format", "ndjson", "--campaign", "spring"}).out);
  EXPECT_EQ(row["status"], "donated");
  EXPECT_EQ(row["donated_at"], "2026-11-21T12:31:07.000Z");
  EXPECT_EQ(row["sender_name"], "=HYPERLINK(\"http://x\")") << "NDJSON needs no apostrophe";
}

// LIFE-15
TEST_F(CliGiftActions, ExportSelectsByTheDayOfTheRequestedStatus) {
  const std::string early = send("ada@example.com");
  send("bea@example.com");
  cli_.now = cli_.now + 3 * kDayMillis;
  report(early, "donated");
  sync();
  const auto lines = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"gift", "export", "--format", "ndjson"});
    const std::string out = cli_.run(more).out;
    return std::count(out.begin(), out.end(), '\n');
  };
  EXPECT_EQ(lines({"--status", "donated", "--since", "2026-11-24", "--until", "2026-11-24"}), 1);
  EXPECT_EQ(lines({"--status", "donated", "--until", "2026-11-23"}), 0);
  EXPECT_EQ(lines({"--since", "2026-11-24"}), 0) << "without a status it is Sent At";
  EXPECT_EQ(lines({"--until", "2026-11-21"}), 2);
}

// LIFE-15 SEC-1
TEST(ExportRows, FormulasAreEscaped) {
  const std::pair<const char*, const char*> cells[] = {
      {"", ""},
      {"a", "a"},
      {"=1+1", "'=1+1"},
      {"+49 30", "'+49 30"},
      {"-1", "'-1"},
      {"@SUM", "'@SUM"},
      {"\t=1", "'\t=1"},
      {" =1", "' =1"},
      {"\u00A0=1", "'\u00A0=1"},
      {"\u2003 \u3000\u200B@a", "'\u2003 \u3000\\u{200b}@a"},
      {"x;\u202F-1", "\"x;'\u202F-1\""},
      {"x;=1+1", "\"x;'=1+1\""},
      {";; @a;b", "\";;' @a;b\""},
      {"\uFF1Dcmd|' /c calc'!A0", "'\uFF1Dcmd|' /c calc'!A0"},
      {"\uFF0B1", "'\uFF0B1"},
      {"\uFF0D1", "'\uFF0D1"},
      {"\uFF20a", "'\uFF20a"},
      {"\u200B=1", "'\\u{200b}=1"},
      {"\uFEFF \u2060+1", "'\\u{feff} \\u{2060}+1"},
      {"a\u202Eb\x1b[31m", "a\\u{202e}b\\x1b[31m"},
      {"\r=1", "\"'\r=1\""},
      {"a=1", "a=1"},
      {"a,b", "\"a,b\""},
      {"say \"x\"", "\"say \"\"x\"\"\""},
  };
  for (const auto& [text, cell] : cells) EXPECT_EQ(csv_cell(text), cell);
}

}  // namespace
}  // namespace giftsync::cli
