#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "cli/cli_context.h"
#include "cli/gift/gift_list.h"
#include "cli/listing.h"
#include "daemon/config/settings.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/server_secret.h"
#include "platform/text.h"
#include "sync/crm/sync_step.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"
#include "tests/support/temporary_database.h"

namespace giftsync::cli {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class CliGift : public ::testing::Test {
 protected:
  /// Runs the daemon's sync step.
  void sync(bool skip_unmatched = false) {
    const sql::Dsn address = cli_.address();
    store::Store store(address);
    const crm::MatchFields fields = wiring::match_fields(config::MatchingSettings{});
    const auto crm = crm::managed::make_managed_crm({address, "giftsync", fields});
    const sync::SyncRules rules{fields, skip_unmatched, "",
                                [](const auto&) { return "http://127.0.0.1:8480/g/x"; }};
    while (sync::sync_step(store, *crm, rules, {"test"}, cli_.now).claimed > 0) continue;
  }
  Json list(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"gift", "list", "--json"});
    return tests::parse_ordered_json(cli_.run(more).out);
  }
  CliFixture cli_;
};

// SYNC-2, SYNC-3
TEST_F(CliGift, ListsRecordsByTheNamesOfTheSpecification) {
  cli_.run({"crm", "import", "--object", "contact", "-"}, "Id,Email,AccountId\n003A,rose@edge.com,001A\n");
  const auto ids = cli_.send_gifts({"ROSE@edge.com", "absent@example.com"});
  sync();
  const Json gifts = list();
  ASSERT_THAT(gifts, SizeIs(2));
  const Json& rose = gifts[0];
  EXPECT_EQ(rose["RecipientTransactionId"], ids[0].value);
  EXPECT_EQ(rose["RecipientTransactionStatus"], "sent");
  EXPECT_EQ(rose["Recipient_Email"], "ROSE@edge.com");
  EXPECT_EQ(rose["RecipientContactId"], "003A");
  EXPECT_EQ(rose["Account"], "001A");
  EXPECT_TRUE(rose["RecipientLeadId"].is_null());
  EXPECT_EQ(rose["RecipientTransactionPrice"], "5.75");
  EXPECT_EQ(rose["GiftId"], 7);
  EXPECT_EQ(rose["Opened"], false);
  EXPECT_EQ(rose["RecipientTransactionCreatedAt"], "2026-11-21T12:31:07.000Z");
  std::vector<std::string> names;
  for (const auto& member : rose.items()) names.push_back(member.key());
  std::vector<std::string> expected;
  for (const FieldDescriptor& field : kGiftFields)
    if (field.name != "Utm_Campaign_Id") expected.emplace_back(field.name);
  expected.emplace_back("utm_campaign_id");
  expected.emplace_back("external_id");
  expected.emplace_back("crm_state");
  expected.emplace_back("has_record");
  EXPECT_EQ(names, expected);
}

TEST_F(CliGift, ARecordHasAnIdConflictOnlyIfOursWasRefused) {
  const TransactionId gift = cli_.send_gifts({"ada@example.com"}).front();
  sync();
  const auto refuse_for = [&](const std::string& reason) {
    tests::run_sql(cli_.address(),
                   "UPDATE crm_sync_state SET state = 'rejected', written_version = 0, error = '" +
                       std::regex_replace(reason, std::regex("'"), "''") + "'");
  };
  refuse_for(crm::id_conflict_result(gift).reason);
  const char* const output = "Id conflict: giftsync did not write this record";
  EXPECT_THAT(cli_.run({"gift", "list"}).out, AllOf(HasSubstr(output), Not(HasSubstr("Coffee"))));
  refuse_for("a trigger of the CRM's owner does not like it");
  EXPECT_THAT(cli_.run({"gift", "list"}).out, AllOf(HasSubstr("Coffee"), Not(HasSubstr(output))));
}

TEST_F(CliGift, FiltersByStatusAndLimit) {
  const auto ids = cli_.send_gifts({"a@example.com", "b@example.com", "c@example.com"});
  cli_.run({"change", "import", "-"},
           "{\"recipient_transaction_id\":" + std::to_string(ids[1].value) +
               ",\"status\":\"opened\",\"occurred_at\":\"2026-11-21T12:30:00Z\"}\n");
  sync();
  ASSERT_THAT(list({"--status", "opened"}), SizeIs(1));
  EXPECT_EQ(list({"--status", "opened"})[0]["Opened"], true);
  EXPECT_THAT(list({"--limit", "2"}), SizeIs(2));
  EXPECT_THAT(list({"--status", "sent", "--limit", "2"}), SizeIs(2));
  EXPECT_THAT(list({"--status", "refunded"}), IsEmpty());
  const Json all = list();
  const Json to_one = list({"--email", " B@Example.COM"});
  ASSERT_THAT(to_one, SizeIs(1));
  EXPECT_EQ(to_one[0], all[1]);
  EXPECT_THAT(list({"--email", "absent@example.com"}), IsEmpty());
  const Json newest = list({"--limit", "2", "--newest"});
  ASSERT_THAT(newest, SizeIs(2));
  EXPECT_EQ(newest[0], all.back());
  EXPECT_EQ(newest[1], all[all.size() - 2]);
  EXPECT_EQ(cli_.run({"gift", "list", "--newest"}).code, 64) << "a large CRM does not fit into memory";
  EXPECT_EQ(cli_.run({"gift", "list", "--status", "open"}).code, 64);
  EXPECT_EQ(cli_.run({"gift", "list", "--limit", "0"}).code, 64);
}

TEST_F(CliGift, TheNewestComeFirstPageByPage) {
  cli_.send_gifts(std::vector<std::string>(450, "ada@example.com"));
  sync();
  Json all = list();
  ASSERT_THAT(all, SizeIs(450));
  std::reverse(all.begin(), all.end());
  EXPECT_EQ(list({"--newest", "--limit", "1000"}), all);
  EXPECT_EQ(list({"--newest", "--limit", "201"}), Json(all.begin(), all.begin() + 201));
}

// OPS-34
TEST_F(CliGift, NewestWithAFilterSearchesTheLatestGiftsAndSaysSo) {
  const std::int64_t old = cli_.send_gifts({"ada@example.com"}).front().value;
  sync();
  tests::run_sql(
      cli_.address(),
      "INSERT INTO recipient_transaction (id, request_id, position, email, first_name, last_name, "
      "message, generation, status, sent_at, version) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL "
      "SELECT i + 1 FROM n WHERE i < " +
          std::to_string(kMaxSearchedRecords) +
          ") SELECT 1000000 + i, t.request_id, i, '', '', '', '', 1, 'opened', t.sent_at + i, 1 FROM "
          "n, recipient_transaction t WHERE t.id = " +
          std::to_string(old));
  const auto newest = cli_.run({"gift", "list", "--json", "--newest", "--limit", "5", "--status", "sent"});
  EXPECT_EQ(tests::parse_ordered_json(newest.out).size(), 1u) << "it is the gift at the bound";
  EXPECT_THAT(newest.err, HasSubstr("Only the latest 10000 gifts were searched, sent since 2026-11-21T"));
  EXPECT_THAT(list({"--newest", "--limit", "5"}), SizeIs(5)) << "without a filter there is no bound";
  EXPECT_THAT(cli_.run({"gift", "list", "--newest", "--limit", "1", "--status", "sent"}).err,
              Not(HasSubstr("searched")))
      << "the listing is full";
  for (const std::string& statement :
       {"UPDATE recipient_transaction SET sent_at = sent_at - 5 WHERE id = " + std::to_string(old),
        std::string("UPDATE recipient_transaction SET sent_at = sent_at - 1 WHERE id = 1000001"),
        std::string(
            "INSERT INTO recipient_transaction (id, request_id, position, email, first_name, last_name, "
            "message, generation, status, sent_at, version) SELECT 2000000, request_id, 0, '', '', '', '', "
            "1, 'opened', sent_at + 3, 1 FROM recipient_transaction WHERE id = 1000001")})
    tests::run_sql(cli_.address(), statement);
  EXPECT_THAT(list({"--newest", "--limit", "5", "--status", "sent"}), IsEmpty()) << "beyond the bound";
  EXPECT_THAT(list({"--status", "sent"}), SizeIs(1)) << "all are searched";
}

/// A gift that a source reported, under an id of its own.
void accept_external_gift(const sql::Dsn& address, std::int64_t id, UtcMillis sent_at) {
  store::Store store(address);
  store.sources.open("shop", "shop", sent_at);
  store::InboundBatch report;
  report.source = report.gift_source = "shop";
  report.now = sent_at;
  store::ExternalGift gift;
  gift.id = {id};
  gift.gift = {8};
  gift.item_name = "Mug";
  gift.email = "bea@example.com";
  gift.sender_email = "ana@example.com";
  gift.sent_at = sent_at;
  store::InboundItem& item = report.items.emplace_back();
  item.gift = gift;
  item.change = store::StatusChange{{}, "", gift.id, Status::sent, sent_at, sent_at, {}};
  ASSERT_EQ(store.sources.accept(report).gifts, 1u);
}

TEST_F(CliGift, NewestIsByTheTimeOfSending) {
  accept_external_gift(cli_.address(), 9005, cli_.now - kHourMillis);
  const std::int64_t own = cli_.send_gifts({"ada@example.com"}).front().value;
  sync();
  const Json newest = list({"--newest", "--limit", "1"});
  ASSERT_THAT(newest, SizeIs(1));
  EXPECT_EQ(newest[0]["RecipientTransactionId"], own) << "9005 is the higher number, but older";
  EXPECT_EQ(list({"--newest", "--limit", "2"})[1]["RecipientTransactionId"], 9005);
  EXPECT_EQ(list()[1]["RecipientTransactionId"], 9005) << "without --newest by id";
}

TEST_F(CliGift, FiltersBySenderItemContactAndTimeOfSending) {
  cli_.run({"crm", "import", "--object", "contact", "-"}, "Id,Email\n003B,bea@example.com\n");
  accept_external_gift(cli_.address(), 9005, cli_.now - 3 * kDayMillis);
  const std::int64_t own = cli_.send_gifts({"ada@example.com"}).front().value;
  sync();
  const auto ids = [&](std::vector<std::string> more) {
    std::vector<std::int64_t> found;
    for (const Json& gift : list(more)) found.push_back(gift["RecipientTransactionId"]);
    more.insert(more.end(), {"--newest", "--limit", "9"});
    EXPECT_THAT(list(more), SizeIs(found.size())) << "the same from the other end";
    return found;
  };
  EXPECT_THAT(ids({"--sender", "Ana@Example.com"}), ElementsAre(9005));
  EXPECT_THAT(ids({"--sender", "rose@example.com"}), ElementsAre(own));
  EXPECT_THAT(ids({"--item", "8"}), ElementsAre(9005));
  EXPECT_THAT(ids({"--item", "Coffee"}), ElementsAre(own));
  EXPECT_THAT(ids({"--contact", "003B"}), ElementsAre(9005));
  EXPECT_THAT(ids({"--contact", "003X"}), IsEmpty());
  EXPECT_THAT(ids({"--since", "2d"}), ElementsAre(own));
  EXPECT_THAT(ids({"--since", "2026-11-18"}), ElementsAre(own, 9005));
  EXPECT_THAT(ids({"--since", "2d", "--sender", "ana@example.com"}), IsEmpty());
  EXPECT_THAT(ids({"--email", "bea@example.com", "--item", "7"}), IsEmpty());
  const auto refused = cli_.run({"gift", "list", "--since", "yesterday"});
  EXPECT_EQ(refused.code, 64);
  EXPECT_THAT(refused.err, HasSubstr("allowed: a day such as 2026-10-31"));
}

TEST_F(CliGift, GiftsOfOneRecipientAreListedFromEitherEnd) {
  std::vector<std::string> addresses;
  for (int i = 0; i < 450; ++i) addresses.push_back(i % 2 ? "Ada@Example.com" : "bob@example.com");
  cli_.send_gifts(addresses);
  sync();
  Json hers = Json::array();
  for (const Json& gift : list()) {
    if (gift["Recipient_Email"] == "Ada@Example.com") hers.push_back(gift);
  }
  ASSERT_THAT(hers, SizeIs(225));
  EXPECT_EQ(list({"--email", "ada@example.com"}), hers);
  EXPECT_EQ(list({"--email", "ada@example.com", "--limit", "210"}), Json(hers.begin(), hers.begin() + 210));
  std::reverse(hers.begin(), hers.end());
  EXPECT_EQ(list({"--email", "ada@example.com", "--newest", "--limit", "201"}),
            Json(hers.begin(), hers.begin() + 201));
  EXPECT_THAT(list({"--email", "ada@example.com", "--status", "opened"}), IsEmpty());
}

TEST_F(CliGift, AnInternationalAddressIsFoundInEitherForm) {
  cli_.send_gifts({"ada@bücher.example", "bob@example.com"});
  sync();
  EXPECT_THAT(list({"--email", "Ada@bücher.example"}), SizeIs(1));
  EXPECT_THAT(list({"--email", "ada@xn--bcher-kva.example"}), SizeIs(1));
}

TEST_F(CliGift, TheTableFitsATerminalAndExplains) {
  cli_.run({"crm", "import", "--object", "lead", "-"}, "Id,Email,IsConverted\n00QA,bertha@fcof.net,false\n");
  cli_.send_gifts({"bertha@fcof.net", std::string(60, 'l') + "@" + std::string(60, 'd') + ".example.com"});
  sync();
  EXPECT_THAT(cli_.run({"gift", "list"}).out, HasSubstr(std::string(60, 'd') + ".example.com"))
      << "in a pipe nothing is cut";
  cli_.columns = 120;
  const auto result = cli_.run({"gift", "list", "--explain"});
  EXPECT_THAT(result.out, AllOf(HasSubstr("2026-11-21 12:31"), HasSubstr("Coffee"), HasSubstr("lead 00QA"),
                                HasSubstr("no match"), HasSubstr("Email equals")));
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("    ")) continue;
    EXPECT_LE(count_code_points(line), 120u) << line;
  }
}

TEST_F(CliGift, ListsMoreThanOneBatch) {
  std::vector<std::string> emails;
  for (int i = 0; i < 450; ++i) emails.push_back("r" + std::to_string(i) + "@example.com");
  cli_.send_gifts(emails);
  sync();
  const Json gifts = list();
  ASSERT_THAT(gifts, SizeIs(450));
  EXPECT_EQ(gifts[449]["Recipient_Email"], "r449@example.com");
}

// OPS-36
TEST_F(CliGift, ListsGiftsWithoutARecordByEveryFilter) {
  cli_.run({"crm", "import", "--object", "contact", "-"}, "Id,Email,AccountId\n003A,rose@edge.com,001A\n");
  cli_.send_gifts({"absent@example.com", "rose@edge.com", "gone@example.com"});
  sync(true);
  tests::run_sql(cli_.address(), "UPDATE gift_request SET utm_campaign_id = 'c1'");
  tests::run_sql(cli_.address(),
                 "UPDATE crm_sync_state SET state = 'deleted' WHERE transaction_id = (SELECT "
                 "max(id) FROM recipient_transaction)");
  const Json gifts = list();
  ASSERT_THAT(gifts, SizeIs(3));
  const auto states = [](const Json& listed) {
    std::vector<std::string> words;
    for (const Json& one : listed)
      words.push_back(one["Recipient_Email"].get<std::string>() + " " + one["crm_state"].get<std::string>() +
                      (one["has_record"].get<bool>() ? "" : ", no record"));
    return words;
  };
  const std::string absent = "absent@example.com skipped, no record";
  const std::string rose = "rose@edge.com written";
  const std::string gone = "gone@example.com deleted, no record";
  EXPECT_THAT(states(gifts), ElementsAre(absent, rose, gone));
  for (const std::vector<std::string>& filter : {std::vector<std::string>{"--status", "sent"},
                                                 {"--campaign", "c1"},
                                                 {"--sender", "rose@example.com"},
                                                 {"--item", "Coffee"},
                                                 {"--since", "2026-11-21"},
                                                 {"--since", "2026-11-21", "--status", "sent"}})
    EXPECT_THAT(states(list(filter)), ElementsAre(absent, rose, gone)) << filter[0];
  EXPECT_THAT(states(list({"--newest", "--limit", "9"})), ElementsAre(gone, rose, absent));
  EXPECT_THAT(states(list({"--newest", "--limit", "9", "--status", "sent"})),
              ElementsAre(gone, rose, absent));
  EXPECT_THAT(states(list({"--email", " ABSENT@example.com"})), ElementsAre(absent));
  EXPECT_THAT(states(list({"--email", "rose@edge.com"})), ElementsAre(rose));
  EXPECT_THAT(states(list({"--contact", "003A"})), ElementsAre(rose));
  EXPECT_THAT(states(list({"--skipped"})), ElementsAre(absent));
  EXPECT_THAT(list({"--status", "opened"}), IsEmpty());
  const auto text = cli_.run({"gift", "list"});
  EXPECT_THAT(text.out, AllOf(HasSubstr("none, no match"), HasSubstr("written"), HasSubstr("none, deleted")));
  EXPECT_THAT(text.err, AllOf(HasSubstr("1 gift has no record, since nothing matched.\n"),
                              HasSubstr("1 gift has no record, since it was deleted in the CRM.\n")));
  EXPECT_THAT(cli_.run({"gift", "list", "--skipped"}).out, HasSubstr("no match (skipped)"));
}

// OPS-36
TEST_F(CliGift, ReadsStoreAndCrmSideBySidePageByPage) {
  cli_.run({"crm", "import", "--object", "contact", "-"}, "Id,Email,AccountId\n003A,rose@edge.com,001A\n");
  std::vector<std::string> emails;
  for (int i = 0; i < 700; ++i)
    emails.push_back(i < 230 || i % 3 == 0 ? "a" + std::to_string(i) + "@example.com" : "rose@edge.com");
  cli_.send_gifts(emails);
  sync(true);
  for (const std::vector<std::string>& filter : {std::vector<std::string>{}, {"--status", "sent"}}) {
    const Json gifts = list(filter);
    ASSERT_THAT(gifts, SizeIs(emails.size()));
    for (std::size_t i = 0; i < emails.size(); ++i) {
      ASSERT_EQ(gifts[i]["Recipient_Email"], emails[i]) << i;
      ASSERT_EQ(gifts[i]["has_record"], emails[i] == "rose@edge.com") << i;
    }
  }
}

TEST_F(CliGift, WithoutGiftsAListIsAnEmptyArray) {
  const auto json = cli_.run({"gift", "list", "--json"});
  EXPECT_EQ(json.out, "[]\n");
  const auto text = cli_.run({"gift", "list"});
  EXPECT_THAT(text.out, IsEmpty());
  EXPECT_THAT(text.err, HasSubstr("No gifts."));
}

TEST_F(CliGift, ReportsChangesThatAreNotInTheCrmYet) {
  cli_.send_gifts({"a@example.com"});
  EXPECT_THAT(cli_.run({"gift", "list"}).err, HasSubstr("1 gift has changes that are not in the CRM yet"));
}

TEST_F(CliGift, ShowsAllDetails) {
  cli_.run({"crm", "import", "--object", "contact", "-"}, "Id,Email\n003A,rose@edge.com\n");
  const std::string id = std::to_string(cli_.send_gifts({"rose@edge.com"}).front().value);
  const auto change = [&](const std::string& status, const std::string& time, const std::string& event) {
    return "{\"recipient_transaction_id\":" + id + ",\"status\":\"" + status + "\",\"occurred_at\":\"" +
           time + "\",\"event_id\":\"" + event + "\"}\n";
  };
  cli_.run({"change", "import", "-"}, change("donated", "2026-11-21T12:00:00Z", "e2") +
                                          change("redeemed", "2026-11-21T12:10:00Z", "e3"));
  sync();
  const auto text = cli_.run({"gift", "show", id});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, AllOf(HasSubstr("Gift " + id + ": donated"), HasSubstr("Pat <rose@edge.com>"),
                              HasSubstr("contact 003A"), HasSubstr("Email equals"),
                              HasSubstr("conflict: redeemed after it was donated"),
                              HasSubstr("queued, 0 attempts"), HasSubstr("e3")));
  const Json json = tests::parse_ordered_json(cli_.run({"gift", "show", id, "--json"}).out);
  EXPECT_EQ(json["status"], "donated");
  EXPECT_TRUE(json["times"]["redeemed"].is_null());
  EXPECT_EQ(json["match"]["contact_id"], "003A");
  EXPECT_EQ(json["match"]["state"], "written");
  EXPECT_EQ(json["history"][1]["conflict"], "redeemed after it was donated");
  EXPECT_EQ(json["history"][0]["event_ids"], Json({"e2"}));
  EXPECT_EQ(json["record_version"], json["version"]);
  EXPECT_EQ(json["record"]["RecipientTransactionStatus"], "donated");
  EXPECT_EQ(json["delivery"]["state"], "queued");
}

TEST_F(CliGift, AnUnknownGiftIsReported) {
  const auto result = cli_.run({"gift", "show", "42"});
  EXPECT_EQ(result.code, 65);
  EXPECT_THAT(result.err, HasSubstr("there is no gift 42"));
  const auto no_id = cli_.run({"gift", "show", "x"});
  EXPECT_EQ(no_id.code, 64);
  EXPECT_THAT(no_id.err, HasSubstr("found \"x\"; allowed: a whole number from 1 on"));
}

TEST_F(CliGift, StatusReportsRequestRecordsAndDeadlines) {
  const auto ids = cli_.send_gifts({"a@example.com", "b@example.com"});
  {
    store::Store store(cli_.address());
    store::RequestRecordEntry failing;
    failing.record_id = "a1R1";
    failing.number = "R-000001";
    failing.state = store::RequestRecordState::approved;
    failing.error = "There is no gift \"9\" to send";
    store::RequestRecordEntry waiting;
    waiting.record_id = "a1R2";
    waiting.number = "R-000002";
    const std::vector<store::RequestRecordEntryUpdate> changes{{failing, {}}, {waiting, {}}};
    ASSERT_THAT(store.request_records.save(changes), SizeIs(2));
  }
  for (const auto& [id, days] : {std::pair(ids[0].value, 3), std::pair(ids[1].value, 30)}) {
    tests::run_sql(cli_.address(), "UPDATE recipient_transaction SET due_at = " +
                                       std::to_string(cli_.now.value + days * kDayMillis) +
                                       " WHERE id = " + std::to_string(id));
  }
  EXPECT_THAT(
      cli_.run({"status"}).out,
      AllOf(HasSubstr("1 pending, 1 approved"), HasSubstr("NOT IN USE"),
            HasSubstr("1 in error, the last one R-000001: There is no gift"),
            HasSubstr("1 gift has a deadline or a reminder within 7 days, next 2026-11-24 12:31 UTC")));
  const Json json = tests::parse_ordered_json(cli_.run({"status", "--json"}).out);
  EXPECT_EQ(json["requests"]["in_error"], 1);
  EXPECT_EQ(json["requests"]["last_error"]["number"], "R-000001");
  EXPECT_EQ(json["deadlines"]["within_7_days"], 1);
}

TEST_F(CliGift, KeysWithoutAccessAreNotCountedAsWorking) {
  cli_.run({"account", "create", "--email", "a@example.com", "--name", "A", "--plan", "team"});
  cli_.run({"account", "create", "--email", "i@example.com", "--name", "I", "--plan", "individual"});
  cli_.run({"key", "create", "--account", "a@example.com"});
  cli_.run({"key", "create", "--account", "i@example.com"});
  EXPECT_THAT(cli_.run({"status"}).out,
              HasSubstr("2 keys (1 working, 1 refused because of their account or plan)"));
}

// CON-49
TEST_F(CliGift, AttemptsCountSends) {
  const auto ids = cli_.send_gifts({"a@example.com"});
  store::Store store(cli_.address());
  const auto send = [&] {
    auto claims = store.deliveries.claim("test", 1000, 1, cli_.now);
    ASSERT_THAT(claims, SizeIs(1));
    const store::DeliveryQueue::Sending sending{claims[0], "m@example.com"};
    ASSERT_TRUE(store.deliveries.begin_sending("test", std::span(&sending, 1), 1000, cli_.now).front());
    const store::DeliveryOutcome accepted{
        ids[0], claims[0].attempt + 1, DeliveryState::accepted, cli_.now, "250 ok", false, std::nullopt};
    store.deliveries.finish(std::span(&accepted, 1), cli_.now);
  };
  send();
  EXPECT_THAT(cli_.run({"gift", "show", std::to_string(ids[0].value)}).out,
              HasSubstr("accepted, 1 attempt\n"));
  ASSERT_TRUE(store.lifecycle.enqueue_mail(ids[0], cli_.now, [](const store::MailContext& view) {
    return std::optional(store::MailOrder{MailKind::gift, view.gift.transaction.email});
  }));
  send();
  EXPECT_THAT(cli_.run({"gift", "show", std::to_string(ids[0].value)}).out,
              HasSubstr("accepted, 2 attempts at 2 mails"));
  EXPECT_EQ(
      tests::parse_ordered_json(
          cli_.run({"gift", "show", std::to_string(ids[0].value), "--json"}).out)["delivery"]["attempts"],
      2);
  tests::run_sql(cli_.address(), "UPDATE mail_outbox SET state = 'held'");
  EXPECT_EQ(tests::parse_ordered_json(cli_.run({"mail", "list", "--json"}).out)[0]["attempts"], 2);
}

TEST_F(CliGift, CrmRetryTriesRefusedRecordsOfGiftsOrAll) {
  const auto ids = cli_.send_gifts({"a@example.com", "b@example.com", "c@example.com"});
  tests::run_sql(cli_.address(), "UPDATE crm_outbox SET is_rejected = 1, attempts = 3, next_attempt_at = " +
                                     std::to_string(cli_.now.value + kHourMillis) +
                                     " WHERE transaction_id <> " + std::to_string(ids[2].value));
  const auto id = [&](std::size_t index) { return std::to_string(ids[index].value); };
  EXPECT_EQ(cli_.run({"crm", "retry"}).code, 64);
  EXPECT_EQ(cli_.run({"crm", "retry", id(0), "--all"}).code, 64);
  const auto some = cli_.run({"crm", "retry", id(0), id(2)});
  EXPECT_EQ(some.code, 65);
  EXPECT_THAT(some.err, AllOf(HasSubstr("The record of gift " + id(0) + " is tried now."),
                              HasSubstr("the record of gift " + id(2) + " does not wait for a retry")));
  EXPECT_THAT(cli_.run({"crm", "retry", "--all"}).err,
              HasSubstr("1 record that the CRM refused is tried now."));
  store::Store store(cli_.address());
  EXPECT_EQ(store.sync.find_wait(ids[1])->next_attempt_at, cli_.now);
  const auto events = store.audit.last_of_each(store::Viewer::of_command_line(), "failures", "crm.retry");
  ASSERT_THAT(events, SizeIs(1));  // CON-50
  EXPECT_EQ(events[0].object_id, "");
  EXPECT_EQ(events[0].occurred_at, cli_.now);
  EXPECT_EQ(events[0].detail, "records: 1") << "CON-8: a number has its noun";
  const auto of_one = store.audit.list(store::Viewer::of_command_line(), {.action = "gift.retry"}, 9);
  ASSERT_THAT(of_one, SizeIs(1)) << "CON-8; the other gift's record did not rest";
  EXPECT_EQ(of_one[0].object_kind + " " + of_one[0].object_id, "gift " + id(0));
  EXPECT_EQ(of_one[0].detail, "records: 1");
  EXPECT_EQ(of_one[0].actor_kind, store::ActorKind::command);
  cli_.run({"crm", "retry", "--all"});
  EXPECT_THAT(store.audit.list(store::Viewer::of_command_line(), {.action = "crm.retry"}, 9), SizeIs(1))
      << "nothing was changed";
}

// MAIL-26
TEST_F(CliGift, MailRetryEndsAPauseAndTriesDeferredMails) {
  const auto ids = cli_.send_gifts({"a@example.com", "b@example.com", "c@example.com"});
  store::Store store(cli_.address());
  const auto defer = [&](std::size_t index, DeliveryState state) {
    const auto claims = store.deliveries.claim("test", 1000, 1, cli_.now);
    const store::DeliveryQueue::Sending sending{claims.at(0), "m@example.com"};
    store.deliveries.begin_sending("test", std::span(&sending, 1), 1000, cli_.now);
    const store::DeliveryOutcome outcome{ids[index], 1,    state,       cli_.now + 60'000,
                                         "450 busy", true, std::nullopt};
    store.deliveries.finish(std::span(&outcome, 1), cli_.now);
  };
  defer(0, DeliveryState::queued);
  defer(1, DeliveryState::queued);
  defer(2, DeliveryState::accepted);
  store.deliveries.open_breaker({cli_.now, cli_.now + 60'000, 3, "no route"});
  const auto next_attempt_at = [&](std::size_t index) {
    return store.deliveries.find(ids[index])->next_attempt_at;
  };
  const auto id = [&](std::size_t index) { return std::to_string(ids[index].value); };
  const auto pause_only = cli_.run({"mail", "retry"});
  EXPECT_EQ(pause_only.code, 0);
  EXPECT_THAT(pause_only.err, HasSubstr("one mail tests the relay now"));
  EXPECT_EQ(store.deliveries.breaker("")->until, cli_.now);
  EXPECT_EQ(next_attempt_at(0), cli_.now + 60'000);
  EXPECT_EQ(cli_.run({"mail", "retry", id(0)}).code, 0);
  EXPECT_EQ(next_attempt_at(0), cli_.now);
  EXPECT_EQ(next_attempt_at(1), cli_.now + 60'000);
  const auto all = cli_.run({"mail", "retry", "--all"});
  EXPECT_THAT(all.err,
              AllOf(HasSubstr("1 deferred mail is tried now."), HasSubstr("Delivery is not paused.")));
  EXPECT_EQ(next_attempt_at(1), cli_.now);
  const auto accepted = cli_.run({"mail", "retry", id(2)});
  EXPECT_EQ(accepted.code, 65);
  EXPECT_THAT(accepted.err, HasSubstr("does not wait for a retry: it is accepted"));
  EXPECT_THAT(cli_.run({"mail", "retry", "4711"}).err, HasSubstr("gift 4711 has no mail"));
  std::vector<std::string> events;  // CON-8
  for (const auto& one : store.audit.list(store::Viewer::of_command_line(), {.action = "mail."}, 9))
    events.push_back(one.action + " " + one.object_kind + one.object_id + " " + one.detail);
  EXPECT_THAT(events, testing::ElementsAre("mail.retry-all mail deferred mails: 1",
                                           "mail.retry gift" + id(0) + " deferred mails: 1",
                                           "mail.end-pauses mail pauses: 1"));
  EXPECT_EQ(cli_.run({"mail", "retry", id(0), "--all"}).code, 64);
}

// OPS-31
TEST_F(CliGift, ShowAndExportNameTheKeyAndTheCall) {
  const auto other = cli_.send_gifts({"a@example.com"});
  store::Store store(cli_.address());
  store::NewGiftRequest request;
  request.request.account = {1};
  request.request.gift = {7};
  request.request.sender_email = "rose@example.com";
  request.request.created_at = cli_.now;
  request.request.credential_prefix = "gsk_live_abcdefgh";
  request.request.http_request_id = "0123456789abcdef";
  request.request.reference = "order 17";
  request.recipients.push_back({"kim@example.com", "", "", "Hello", "line 3"});
  const auto made = store.gifts.create(std::span(&request, 1));
  const std::string id = std::to_string(made.front().recipients.front().id.value);
  const Json shown = tests::parse_ordered_json(cli_.run({"gift", "show", id, "--json"}).out);
  EXPECT_EQ(shown["request"]["credential_prefix"], "gsk_live_abcdefgh");
  EXPECT_EQ(shown["request"]["http_request_id"], "0123456789abcdef");
  EXPECT_THAT(cli_.run({"gift", "show", id}).out, AllOf(HasSubstr("asked with    gsk_live_abcdefgh...\n"),
                                                        HasSubstr("Request-Id    0123456789abcdef\n")));
  const std::string without = std::to_string(other.front().value);
  EXPECT_EQ(tests::parse_ordered_json(
                cli_.run({"gift", "show", without, "--json"}).out)["request"]["http_request_id"],
            nullptr);
  EXPECT_THAT(cli_.run({"gift", "show", without}).out, Not(HasSubstr("Request-Id")));
  EXPECT_THAT(
      cli_.run({"gift", "export"}).out,
      AllOf(HasSubstr(",credential_prefix,http_request_id,request_reference,reference,extended_until\r\n"),
            HasSubstr(",gsk_live_abcdefgh,0123456789abcdef,order 17,line 3,\r\n")));
  EXPECT_EQ(shown["request"]["reference"], "order 17");
  EXPECT_EQ(shown["recipient"]["reference"], "line 3");
}

// OPS-24, OPS-34
TEST_F(CliGift, GiftsAreListedAndExportedByTheKeyThatAskedForThem) {
  cli_.send_gifts({"a@example.com"});
  cli_.run({"account", "create", "--email", "rose@example.com", "--name", "Rose", "--plan", "team"});
  cli_.run({"key", "create", "--account", "rose@example.com", "--name", "shop"});
  store::Store store(cli_.address());
  ASSERT_FALSE(store.credentials.list(CredentialKind::api_key).empty());
  const std::string key = store.credentials.list(CredentialKind::api_key).back().prefix;
  store::NewGiftRequest request;
  request.request.account = {1};
  request.request.gift = {7};
  request.request.created_at = cli_.now;
  request.request.credential_prefix = key;
  request.recipients.push_back({"kim@example.com", "", "", "Hello"});
  request.recipients.push_back({"lee@example.com", "", "", "Hello"});
  store.gifts.create(std::span(&request, 1));
  sync();
  const auto listed = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"gift", "list", "--json", "--key"});
    return tests::parse_ordered_json(cli_.run(more).out).size();
  };
  EXPECT_EQ(listed({key}), 2u);
  EXPECT_EQ(listed({"shop"}), 2u);
  EXPECT_EQ(listed({"shop", "--newest", "--limit", "5"}), 2u);
  EXPECT_EQ(listed({"shop", "--email", "lee@example.com"}), 1u);
  EXPECT_THAT(cli_.run({"gift", "export", "--key", "shop"}).err, HasSubstr("2 gifts exported."));
  for (const char* command : {"list", "export"}) {
    const auto unknown = cli_.run({"gift", command, "--key", "gsk_live_none"});
    EXPECT_EQ(unknown.code, 65);
    EXPECT_THAT(unknown.err, HasSubstr("no key begins with \"gsk_live_none\""));
  }
}

// covers: TEST-7, TEST-9
TEST_F(CliGift, TestGiftsAreListedAndPurgedByTheirOwnOptions) {
  cli_.run({"account", "create", "--email", "rose@example.com", "--name", "Rose", "--plan", "team"});
  const std::string key =
      cli_.run({"key", "create", "--account", "rose@example.com", "--name", "trial", "--test"})
          .out.substr(0, 16);
  EXPECT_THAT(key, StartsWith("gsk_test_"));
  EXPECT_THAT(cli_.run({"key", "rotate", "trial"}).out, StartsWith("gsk_test_"));
  cli_.send_gifts({"a@example.com"});
  store::Store store(cli_.address());
  store::NewGiftRequest request;
  request.request.account = {1};
  request.request.gift = {7};
  request.request.created_at = cli_.now;
  request.request.credential_prefix = key;
  request.request.is_test = true;
  request.recipients.push_back({"kim@example.com", "", "", "Hello"});
  store.gifts.create(std::span(&request, 1));
  sync();
  const auto listed = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"gift", "list", "--json"});
    return tests::parse_ordered_json(cli_.run(more).out).size();
  };
  EXPECT_EQ(listed({}), 1u);
  EXPECT_EQ(listed({"--test"}), 1u);
  EXPECT_EQ(listed({"--key", key}), 1u) << "a test key made test gifts alone";
  EXPECT_EQ(listed({"--test", "--newest", "--limit", "5"}), 1u);
  EXPECT_THAT(cli_.run({"gift", "list", "--test"}).out, HasSubstr("kim@example.com"));
  const auto exported = cli_.run({"gift", "export", "--key", key});
  EXPECT_EQ(exported.code, 65);
  EXPECT_THAT(exported.err, HasSubstr("gift list --test --json"));
  EXPECT_THAT(cli_.run({"gift", "export"}).err, HasSubstr("1 gift exported."));
  EXPECT_THAT(cli_.run({"gift", "purge-test", "--older", "1d"}).err, HasSubstr("0 deleted:"));
  cli_.now = cli_.now + 1;
  request.hold_reasons = {{"rule", "", "A person has to approve it."}};
  store.gifts.create(std::span(&request, 1));
  EXPECT_THAT(cli_.run({"gift", "purge-test"}).err,
              HasSubstr("2 deleted: test gifts and held test requests."));
  EXPECT_EQ(listed({"--test"}), 0u);
  EXPECT_EQ(listed({}), 1u);
}

// covers: TEST-7
TEST_F(CliGift, AnEmptyListSaysThatTestGiftsAreLeftOut) {
  cli_.run({"account", "create", "--email", "rose@example.com", "--name", "Rose", "--plan", "team"});
  const auto said = [&](std::vector<std::string> args) { return cli_.run(std::move(args)).err; };
  const std::string left_out = "Test gifts are left out; \"giftsyncctl --config " +
                               cli_.path("giftsyncd.yaml") + " gift list --test\" lists them.";
  EXPECT_THAT(said({"gift", "list"}), AllOf(HasSubstr("No gifts."), Not(HasSubstr("left out"))));
  store::Store store(cli_.address());
  store::NewGiftRequest request;
  request.request.account = {1};
  request.request.gift = {7};
  request.request.created_at = cli_.now;
  request.request.credential_prefix = "gsk_test_0123456";
  request.request.is_test = true;
  request.request.utm_campaign_id = "spring";
  request.recipients.push_back({"kim@example.com", "", "", "Hello"});
  const TransactionId gift = store.gifts.create(std::span(&request, 1)).front().recipients.front().id;
  const store::StatusChange change{{}, "test", gift, Status::opened, cli_.now, cli_.now, {"1"}};
  store.changes.accept(std::span(&change, 1));
  request.hold_reasons = {{"rule", "", "A person has to approve it."}};
  store.gifts.create(std::span(&request, 1));
  const std::vector<std::vector<std::string>> empty{{"gift", "list"},
                                                    {"gift", "list", "--newest", "--limit", "3"},
                                                    {"gift", "list", "--campaign", "spring"},
                                                    {"gift", "list", "--email", "kim@example.com"},
                                                    {"gift", "export"},
                                                    {"gift", "cancel", "--campaign", "spring", "--yes"}};
  for (const auto& args : empty) EXPECT_THAT(said(args), HasSubstr(left_out)) << args[1] << args.back();
  EXPECT_THAT(said({"change", "list"}), HasSubstr(" change list --test\" lists them."));
  EXPECT_THAT(said({"held", "list"}), HasSubstr(" held list --test\" lists them."));
  const std::vector<std::vector<std::string>> others{
      {"gift", "list", "--test"},        {"gift", "list", "--campaign", "autumn"},
      {"gift", "list", "--conflicting"}, {"gift", "export", "--campaign", "autumn"},
      {"change", "list", "--test"},      {"change", "list", "--orphaned"},
      {"held", "list", "--test"},        {"held", "list", "--state", "rejected"}};
  for (const auto& args : others)
    EXPECT_THAT(said(args), Not(HasSubstr("left out"))) << args[1] << args.back();
  cli_.send_gifts({"a@example.com"});
  EXPECT_THAT(said({"gift", "list"}), Not(HasSubstr("left out"))) << "the list is not empty";
}

TEST_F(CliGift, ShowsTheMailOfAGift) {
  {
    auto read = read_cli_settings(cli_.path("giftsyncd.yaml"));
    store::Store store(cli_.address());
    wiring::load_server_secret(read.value(), store);  // as a daemon's first start does it
  }
  const std::string id = std::to_string(cli_.send_gifts({"ada@example.com"}).front().value);
  const std::vector<std::string> show{"gift", "show", id, "--mail"};
  const auto first = cli_.run(show);
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out, AllOf(HasSubstr("To: Pat <ada@example.com>\n"), HasSubstr("Subject: Rose sent you"),
                               HasSubstr("Thank you!\nRose"), HasSubstr("\nhttp://127.0.0.1:8480/g/")));
  EXPECT_THAT(first.err, HasSubstr("queued since"));
  tests::run_sql(cli_.address(), "UPDATE recipient_transaction SET message = 'red ' || char(27) || '[31m'");
  EXPECT_THAT(cli_.run(show).out, AllOf(HasSubstr("red "), Not(HasSubstr("\x1b"))))
      << "a message does not control the terminal";
  EXPECT_EQ(cli_.run({"gift", "resend", id, "--email", "bea@example.com"}).code, 0);
  const Json again = tests::parse_ordered_json(cli_.run({"gift", "show", id, "--mail", "--json"}).out);
  EXPECT_EQ(again["headers"]["To"], "Pat <bea@example.com>");
  EXPECT_EQ(again["state"], "queued");
  EXPECT_THAT(first.out, Not(HasSubstr(again["text"].get<std::string>()))) << "the new address, a new link";

  accept_external_gift(cli_.address(), 9005, cli_.now);
  const auto none = cli_.run({"gift", "show", "9005", "--mail"});
  EXPECT_EQ(none.code, 65);
  EXPECT_THAT(none.err, HasSubstr("has no mail here"));
  std::filesystem::remove(cli_.path("store.secret"));
  EXPECT_EQ(cli_.run(show).code, 78);
}

// OPS-8
TEST_F(CliGift, StatusCountsByState) {
  cli_.run({"account", "create", "--email", "a@example.com", "--name", "A", "--plan", "team"});
  cli_.run({"key", "create", "--account", "a@example.com"});
  const auto ids = cli_.send_gifts({"a@example.com", "b@example.com"});
  {
    store::Store store(cli_.address());
    store.deliveries.open_breaker({cli_.now, cli_.now + 60'000, 3, "the relay refused the password"});
    const auto waiting = cli_.run({"gift", "show", std::to_string(ids[1].value)}).out;
    EXPECT_THAT(waiting, AllOf(HasSubstr("paused        the relay refused the password\n"),
                               Not(HasSubstr("next try"))));
    auto claims = store.deliveries.claim("test", 1000, 1, cli_.now);
    ASSERT_THAT(claims, SizeIs(1));
    const store::DeliveryQueue::Sending sending{claims[0], "m@example.com"};
    ASSERT_TRUE(store.deliveries.begin_sending("test", std::span(&sending, 1), 1000, cli_.now).front());
    const store::DeliveryOutcome held{
        ids[0], 1, DeliveryState::held, cli_.now, "no reply to the final dot", false, std::nullopt};
    store.deliveries.finish(std::span(&held, 1), cli_.now);
  }
  const auto text = cli_.run({"status"});
  EXPECT_EQ(text.code, 69) << "no daemon runs";
  EXPECT_THAT(
      text.out,
      AllOf(HasSubstr("1 (1 active), 1 key (1 working)"), HasSubstr("1 queued"), HasSubstr("1 held"),
            HasSubstr("PAUSED since 2026-11-21 12:31 UTC"), HasSubstr("the relay refused the password"),
            HasSubstr("gift 1 to a@example.com is held"), HasSubstr("2 queued, 0 failing")));
  const Json json = tests::parse_ordered_json(cli_.run({"status", "--json"}).out);
  EXPECT_EQ(json["mail"]["pause"]["failures"], 3);
  EXPECT_EQ(json["mail"]["uncertain_or_held"][0]["recipient_transaction_id"], ids[0].value);
  EXPECT_EQ(json["mail"]["uncertain_or_held"][0]["kind"], "gift");
  EXPECT_EQ(json["sync"]["queued"], 2);
  EXPECT_EQ(json["store"]["reachable"], true);
}

TEST(TextTable, AlignsByCodePointsAndCutsOnlyElasticColumns) {
  std::ostringstream out;
  set_line_width(out, 120);
  TextTable table(out, {{"ID", TextTable::Kind::number}, {"NAME", TextTable::Kind::elastic}, {"WORD"}});
  table.add({"1", "Zoë", "x"});
  table.add({"20", std::string(200, 'n'), "whole"}, "below");
  table.finish();
  std::istringstream lines(out.str());
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(all[1].substr(0, 9), " 1  Zoë ");
  EXPECT_EQ(count_code_points(all[2]), 120u);
  EXPECT_THAT(all[2], AllOf(HasSubstr("n…  whole"), Not(HasSubstr(std::string(150, 'n')))));
  EXPECT_EQ(all[3], "    below");
}

TEST(TextTable, CutsElasticLastColumnsAfterTheOthers) {
  std::ostringstream out;
  set_line_width(out, 100);
  TextTable table(out, {{"WHO", TextTable::Kind::elastic_last}, {"ITEM", TextTable::Kind::elastic}});
  table.add({std::string(80, 'w'), std::string(60, 'i')});
  table.finish();
  EXPECT_THAT(out.str(), AllOf(HasSubstr(std::string(80, 'w') + "  "), HasSubstr("i…\n")));
}

TEST(TextTable, CutsNothingInAPipe) {
  std::ostringstream out;
  TextTable table(out, {{"WHO", TextTable::Kind::elastic_last}, {"ITEM", TextTable::Kind::elastic}});
  for (std::size_t row = 0; row <= TextTable::kPageRows; ++row) table.add({"w", "i"});
  table.add({std::string(300, 'w'), std::string(300, 'i')});  // wider than the first page error_of
  table.finish();
  EXPECT_THAT(out.str(), HasSubstr(std::string(300, 'w') + "  " + std::string(300, 'i') + "\n"));
}

TEST(TextTable, EscapesTerminalControlCharacters) {
  EXPECT_EQ(printable("a\x1b[31mb\nc\x7f"
                      "d\xc2\x9b"
                      "e\xc3\xa9"),
            "a\\x1b[31mb c\\x7fd\\u{9b}e\xc3\xa9");
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("to\u202Egpj.exe"), "to\\u{202e}gpj.exe");
}

}  // namespace
}  // namespace giftsync::cli
