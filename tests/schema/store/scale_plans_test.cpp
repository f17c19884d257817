// The plans of the queries behind lists, status and scans: with ten million gifts each of them uses an index
// whose rows are few, or stops. The queries are written here as the store writes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/store/event/sources.h"
#include "schema/store/gift/gift_codes.h"
#include "schema/store/gift/gift_rows.h"
#include "schema/store/mail/notices.h"
#include "schema/store/statements/bounded_queries.h"
#include "tests/support/query_plan.h"
#include "tests/support/round_trips.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

struct Query {
  std::string name;
  std::string select;
  std::string index;
};

std::vector<Query> queries(sql::Dialect dialect) {
  const auto page = [](const std::string& condition) {
    return "SELECT transaction_id FROM crm_sync_state WHERE " + condition +
           " AND transaction_id > 5 ORDER BY transaction_id LIMIT 100";
  };
  const std::string in_error =
      "request_record_state WHERE deleted = 0 AND error <> '' AND state NOT IN ('sent', 'rejected')";
  const std::string failing = "crm_outbox WHERE (attempts > 0 OR last_error <> '') AND " +
                              live_gift_condition(dialect, "crm_outbox.transaction_id");
  return {
      {"mails in a state", bounded_count_query("mail_outbox WHERE state = 'held' AND state <> 'accepted'"),
       "mail_outbox_state"},
      {"mails listed",
       "SELECT transaction_id FROM mail_outbox WHERE state = 'held' AND state <> 'accepted' ORDER BY "
       "transaction_id LIMIT 20",
       "mail_outbox_state"},
      {"mails that ended lately",
       "SELECT state, last_reply, updated_at FROM mail_outbox WHERE state = 'undelivered' AND updated_at >= "
       "9 AND transaction_id > 0 "
       "ORDER BY updated_at DESC LIMIT 10000",
       "mail_outbox_undelivered"},
      {"mails that are deferred",
       "SELECT state, last_reply, first_deferred_at FROM mail_outbox WHERE state IN ('queued', 'sending', "
       "'uncertain') AND turn = 0 AND state = 'queued' AND first_deferred_at IS NOT NULL AND transaction_id "
       "> 0 ORDER BY turn, "
       "next_attempt_at, transaction_id LIMIT 10000",
       "mail_outbox_due"},
      {"gifts undelivered lately",
       bounded_count_query(
           "recipient_transaction t JOIN gift_request r ON r.id = t.request_id WHERE t.status "
           "= 'undelivered' AND t.undelivered_at >= 9 AND 1 = 1"),
       "recipient_transaction_undelivered"},
      {"gifts undelivered lately in a list",
       "SELECT u.id FROM recipient_transaction u WHERE u.status = 'undelivered' AND u.undelivered_at >= 9",
       "recipient_transaction_undelivered"},
      {"marks that fail", bounded_count_query(failing), "crm_outbox_failing"},
      {"gifts that fail",
       "SELECT transaction_id, last_error FROM " + failing + " ORDER BY transaction_id DESC LIMIT 10000",
       "crm_outbox_failing"},
      {"marks without those of test gifts",
       bounded_count_query("crm_outbox WHERE " + live_gift_condition(dialect, "crm_outbox.transaction_id")),
       "recipient_transaction_test"},
      {"oldest mark",
       "SELECT next_attempt_at FROM crm_outbox WHERE " +
           live_gift_condition(dialect, "crm_outbox.transaction_id") +
           " ORDER BY (next_attempt_at / 10000), transaction_id LIMIT 1",
       "crm_outbox_due"},
      {"days of budgets that ended",
       "SELECT 1 FROM sending_usage WHERE substr(id, 8, 1) = '-' AND id < '2026-01-01' LIMIT 1",
       "sending_usage_day"},
      {"gifts to fold",
       "SELECT transaction_id FROM crm_outbox WHERE to_fold = 1 AND transaction_id > 5 AND (next_attempt_at "
       "< 9 OR last_error <> '') ORDER BY transaction_id LIMIT 200",
       "crm_outbox_to_fold"},
      {"gifts of a day that are counted",
       "SELECT t.sent_at, r.account_id FROM recipient_transaction t JOIN gift_request r ON r.id = "
       "t.request_id WHERE (t.sent_at, t.id) > (cast('5' AS bigint), cast('7' AS bigint)) AND t.sent_at < "
       "cast('9' AS bigint) ORDER BY t.sent_at, t.id LIMIT 5000",
       "recipient_transaction_sent"},
      {"latest day of gifts", "SELECT max(sent_at) FROM recipient_transaction WHERE sent_at < 9",
       "recipient_transaction_sent"},
      {"skipped gifts counted",
       bounded_count_query(
           "crm_sync_state WHERE state = 'skipped' AND state IN ('skipped', 'deleted', 'rejected')"),
       "crm_sync_state_state"},
      {"skipped gifts listed", page("state = 'skipped' AND state IN ('skipped', 'deleted', 'rejected')"),
       "crm_sync_state_state"},
      {"gifts to relink", page("needs_relink = 1 AND state <> 'deleted'"), "crm_sync_state_relink"},
      {"unmatched gifts",
       page("((contact_id = '' AND lead_id = '') OR needs_relink = 1) AND state <> 'deleted'"),
       "crm_sync_state_unmatched"},
      {"gifts of leads", page("lead_id <> '' AND state <> 'deleted'"), "crm_sync_state_lead"},
      {"orphaned changes", bounded_count_query("change_log WHERE orphaned = 1"), "change_log_orphaned"},
      {"sources with only orphaned changes", all_orphaned_query("9"), "change_log_orphaned"},
      {"place of the search's end", sent_at_of_latest_query(100'000), "recipient_transaction_sent"},
      {"latest gifts of a campaign",
       latest_gifts_query("(t.sent_at, t.id) < (9, 9) AND t.sent_at >= 5 AND r.utm_campaign_id = 'x'", 20),
       "recipient_transaction_sent"},
      {"a part of the search through the latest gifts",
       gifts_query("(t.sent_at, t.id) < (9, 9) AND (t.sent_at, t.id) >= (5, 5) AND r.credential_prefix = 'x' "
                   "ORDER BY t.sent_at DESC, t.id DESC"),
       "recipient_transaction_sent"},
      {"the last part of it",
       gifts_query("(t.sent_at, t.id) < (9, 9) AND t.sent_at >= 5 AND r.utm_campaign_id = 'x' ORDER BY "
                   "t.sent_at DESC, t.id DESC"),
       "recipient_transaction_sent"},
      {"the end of such a part", latest_end_query("(sent_at, id) < (9, 9) AND sent_at >= 5", 5000),
       "recipient_transaction_sent"},
      {"gifts of a time of sending, as the API lists them",
       "SELECT " + kGiftColumns +
           ", c.state, o.attempts FROM recipient_transaction t JOIN gift_request r ON r.id = t.request_id "
           "LEFT "
           "JOIN crm_sync_state c ON c.transaction_id = t.id LEFT JOIN crm_outbox o ON o.transaction_id = "
           "t.id "
           "WHERE 1 = 1 AND r.is_test = 0 AND (t.sent_at, t.id) < (9, 0) AND (t.sent_at, t.id) >= (5, 5) AND "
           "t.sent_at <= 9 AND t.sent_at >= 5 AND "
           "r.utm_campaign_id = 'x' ORDER BY t.sent_at DESC, t.id DESC LIMIT 51",
       "recipient_transaction_sent"},
      {"requests of a time of sending",
       "SELECT " + kRequestColumns +
           ", (SELECT count(*) FROM recipient_transaction g WHERE g.request_id = r.id), t.sent_at, t.id FROM "
           "recipient_transaction t JOIN gift_request r ON r.id = t.request_id WHERE t.position = 0 AND "
           "r.mode <> 'external' AND 1 = 1 AND r.is_test = 0 AND (t.sent_at, t.id) < (9, 0) AND t.sent_at <= "
           "9 "
           "AND t.sent_at >= 5 ORDER BY t.sent_at DESC, t.id DESC LIMIT 51",
       "recipient_transaction_sent"},
      {"gifts of an address",
       "SELECT t.id, t.sent_at FROM recipient_transaction t JOIN gift_request r ON r.id = t.request_id WHERE "
       "1 = 1 AND t.id < 900 AND " +
           address_key(dialect, "t.email") +
           " = 'ada@example.com' AND t.id >= 5 AND t.status = "
           "'sent' "
           "ORDER BY t.id DESC LIMIT 51",
       "recipient_transaction_email"},
      {"gifts of a request",
       "SELECT t.id FROM recipient_transaction t JOIN gift_request r ON r.id = t.request_id WHERE 1 = 1 AND "
       "t.request_id = 7",
       "recipient_transaction_request"},
      {"whether few have a reference", "SELECT 1 FROM gift_reference WHERE reference = 'x' LIMIT 9",
       dialect == sql::Dialect::sqlite ? "PRIMARY KEY" : "gift_reference_pkey"},
      {"gift requests with a reference",
       "SELECT asked.request_id FROM gift_reference asked WHERE asked.reference = 'x' AND "
       "asked.transaction_id "
       "= 0",
       dialect == sql::Dialect::sqlite ? "PRIMARY KEY" : "gift_reference_pkey"},
      {"gifts of requests with a reference",
       "SELECT of_request.id FROM gift_reference asked JOIN recipient_transaction of_request ON "
       "of_request.request_id = asked.request_id WHERE asked.reference = 'x' AND asked.transaction_id = 0",
       "recipient_transaction_request"},
      {"the search's end among gifts of an address",
       "SELECT t.id, t.sent_at FROM recipient_transaction t WHERE 1 = 1 AND " +
           address_key(dialect, "t.email") + " = 'ada@example.com' ORDER BY t.id DESC LIMIT 1 OFFSET 49999",
       "recipient_transaction_email"},
      {"codes assigned", gift_code_counts_query(kMaxCounted), "gift_code_assigned"},
      {"codes left", gift_code_counts_query(kMaxCounted), "gift_code_unassigned"},
      {"oldest code left",
       "SELECT id FROM gift_code WHERE gift_id = 7 AND transaction_id IS NULL ORDER BY id LIMIT 1",
       "gift_code_unassigned"},
      {"code of a gift", "SELECT code FROM gift_code WHERE transaction_id = 7", "gift_code_transaction"},
      {"request records", bounded_count_query("request_record_state WHERE deleted = 0 AND state = 'pending'"),
       "request_record_state_state"},
      {"request records listed",
       "SELECT s.number FROM request_record_state s WHERE s.deleted = 0 AND s.state = 'sent' AND s.number < "
       "'R-9' ORDER BY s.number DESC LIMIT 51",
       "request_record_state_state"},
      {"request records of all states listed",
       "SELECT s.number FROM request_record_state s WHERE s.deleted = 0 AND '' = '' AND 1 = 1 AND s.number < "
       "'R-9' ORDER BY s.number DESC LIMIT 51",
       "request_record_state_number"},
      {"events of an object",
       "SELECT e.id, e.action FROM audit_event e WHERE 1 = 1 AND e.object_kind = 'gift' AND e.object_id = "
       "'17' "
       "AND e.id < 9 ORDER BY e.id DESC LIMIT 51",
       "audit_event_object"},
      {"undelivered gifts without a notice", unnoticed_gifts(dialect, UtcMillis{9}, 500),
       "recipient_transaction_undelivered"},
      {"senders' notices that no mail has",
       "SELECT sender_id FROM sender_notice WHERE mail_number = 0 LIMIT 1", "sender_notice_mail"},
      {"senders' notices of a mail",
       "SELECT transaction_id FROM sender_notice WHERE mail_number IN (0, 9) AND sender_id = 7",
       "sender_notice_mail"},
      {"notices that no mail has", "SELECT user_id FROM approver_notice WHERE mail_number = 0 LIMIT 1",
       "approver_notice_mail"},
      {"admins' notices that no mail has", "SELECT user_id FROM admin_notice WHERE mail_number = 0 LIMIT 1",
       "admin_notice_mail"},
      {"notices of earlier mails",
       "SELECT transition_id FROM approver_notice WHERE user_id = 7 AND mail_number > 0 AND mail_number < 9",
       "approver_notice_user"},
      {"request record by its number", "SELECT record_id FROM request_record_state WHERE number = 'R-9'",
       "request_record_state_number"},
      {"edits of a request record",
       "SELECT actor FROM request_record_edit WHERE record_id = '9' ORDER BY id DESC LIMIT 21",
       "request_record_edit_record"},
      {"request records in error", bounded_count_query(in_error), "request_record_state_error"},
      {"request records in error listed",
       "SELECT s.number FROM request_record_state s WHERE s.deleted = 0 AND '' = '' AND s.error <> '' AND "
       "s.state NOT IN ('sent', 'rejected') AND s.error NOT IN ('x', 'y') AND 1 = 1 AND s.number >= '' ORDER "
       "BY s.number DESC LIMIT 51",
       "request_record_state_error"},
      {"last request record in error",
       "SELECT number, error FROM " + in_error + " ORDER BY number DESC LIMIT 1",
       "request_record_state_error"},
      {"gifts due soon",
       bounded_count_query("recipient_transaction WHERE due_at IS NOT NULL AND due_at <= 9"),
       "recipient_transaction_due"},
      {"gifts whose timer is due",
       bounded_count_query("recipient_transaction WHERE due_at IS NOT NULL AND due_at <= 9 AND is_test = 0"),
       "recipient_transaction_due"},
      {"the first timer",
       "SELECT due_at FROM recipient_transaction WHERE due_at IS NOT NULL AND is_test = 0 ORDER BY due_at "
       "LIMIT 1",
       "recipient_transaction_due"},
      {"the mail that is due the longest",
       "SELECT next_attempt_at FROM mail_outbox WHERE state IN ('queued', 'sending', 'uncertain') AND turn = "
       "0 "
       "AND transaction_id >= -9 ORDER BY turn, next_attempt_at, transaction_id LIMIT 1",
       "mail_outbox_due"},
      {"requests that wait", bounded_count_query("held_gift_request WHERE state = 'held'"),
       "held_gift_request_"},
      {"gifts sent in the future", "SELECT id FROM recipient_transaction WHERE sent_at > 9 LIMIT 10001",
       "recipient_transaction_sent"},
      {"gifts due for a timer",
       "SELECT id FROM recipient_transaction WHERE due_at IS NOT NULL AND due_at <= 9 ORDER BY due_at, id "
       "LIMIT 500",
       "recipient_transaction_due"},
  };
}

class ScalePlans : public tests::StoreFixture {
 protected:
  std::string plan_of(const std::string& select) { return tests::plan_of(*plain_sql_, select); }
};
INSTANTIATE_TEST_SUITE_P(BackEnds, ScalePlans,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// OPS-33
TEST_P(ScalePlans, EachUsesItsIndexAndSortsNothing) {
  for (const Query& query : queries(dialect())) {
    const std::string plan = plan_of(query.select);
    EXPECT_THAT(plan, testing::HasSubstr(query.index)) << query.name;
    EXPECT_THAT(plan, testing::Not(testing::ContainsRegex("TEMP B-TREE|Sort"))) << query.name;
  }
}

// OPS-33
TEST_P(ScalePlans, OrphanedSourcesReadTheNewestChangesInTheOrderOfTheirIds) {
  const std::string plan = plan_of(all_orphaned_query("9"));
  EXPECT_THAT(plan, testing::ContainsRegex("CO-ROUTINE newest|Index Scan Backward using change_log_pkey"));
  EXPECT_THAT(plan, testing::Not(testing::ContainsRegex("SCAN change_log\n|SCAN c[^h]|SCAN c\n")));
}

// OPS-33
TEST_P(ScalePlans, TheLatestChangesAreReadInTheOrderOfTheirIds) {
  const std::string plan = plan_of(
      "SELECT transaction_id, occurred_at, voided_at, orphaned FROM change_log ORDER BY id DESC LIMIT 20000");
  EXPECT_THAT(plan, testing::Not(testing::ContainsRegex("TEMP B-TREE|Sort")));
}

// CON-32
TEST_P(ScalePlans, AcceptedMailsAreReadInTheOrderOfTheirGifts) {
  const std::string plan = plan_of(
      "SELECT d.transaction_id FROM mail_outbox d WHERE d.state = 'accepted' AND d.transaction_id < 900 "
      "ORDER "
      "BY d.transaction_id DESC LIMIT 51");
  EXPECT_THAT(plan, testing::Not(testing::ContainsRegex("TEMP B-TREE|Sort")));
}

// CON-32
TEST_P(ScalePlans, MailsOfAPageOfGiftsAreReadByTheirKeys) {
  const bool is_sqlite = dialect() == sql::Dialect::sqlite;
  const std::string list = is_sqlite ? "'[5, 6]'" : "'{5,6}'";
  std::string keys = sql::in_list(dialect(), "d.transaction_id", "ids", false);
  const std::string plan = plan_of(
      "SELECT d.transaction_id FROM mail_outbox d LEFT JOIN recipient_transaction t ON t.id = "
      "d.transaction_id LEFT JOIN gift_request r ON r.id = t.request_id WHERE (r.account_id IN (SELECT id "
      "FROM account WHERE organization_id = 3) OR 1 = 0) AND " +
      keys.replace(keys.find(":ids"), 4, list) + " ORDER BY d.transaction_id DESC");
  EXPECT_THAT(plan,
              testing::HasSubstr(is_sqlite ? "SEARCH d USING INTEGER PRIMARY KEY" : "mail_outbox_pkey"));
  EXPECT_THAT(plan, testing::Not(testing::ContainsRegex("SCAN [dtr]\\b|Seq Scan on (mail|recip|gift)")));
}

// CON-47
TEST_P(ScalePlans, AnIdInTheCrmIsSearchedInTheRangeOfTheGifts) {
  const std::string of_id =
      "t.id IN (SELECT s.transaction_id FROM crm_sync_state s WHERE ('x' IN (s.contact_id, s.lead_id, "
      "s.account_id, s.opportunity_id, s.crm_id) OR 'y' IN (s.contact_id, s.lead_id, s.account_id, "
      "s.opportunity_id, "
      "s.crm_id)) AND s.transaction_id >= 5 AND s.transaction_id < 900)";
  for (const std::string& search : {of_id, "((t.first_name || ' ' || t.last_name) = 'x' OR " + of_id + ")"}) {
    const std::string plan = plan_of(
        "SELECT t.id, c.state FROM recipient_transaction t JOIN gift_request r ON r.id = t.request_id LEFT "
        "JOIN crm_sync_state c ON c.transaction_id = t.id WHERE 1 = 1 AND t.id < 900 AND t.id >= 5 AND " +
        search + " ORDER BY t.id DESC LIMIT 51");
    EXPECT_THAT(plan, testing::ContainsRegex("SEARCH s USING INTEGER PRIMARY KEY|crm_sync_state_pkey"));
    EXPECT_THAT(plan, testing::Not(testing::ContainsRegex("SCAN [ts]\\b|Seq Scan on (recip|crm)"))) << search;
  }
}

// CON-50
TEST_P(ScalePlans, TheLastEventOfEachObjectIsFoundByOneStepOfAnIndex) {
  for (const std::string viewer : {"1 = 1", "(e.organization_id = 3 OR e.user_id = 7)"}) {
    const std::string plan = plan_of(
        "SELECT e.id FROM audit_event e WHERE e.id IN (WITH RECURSIVE object (id) AS (SELECT min(object_id) "
        "FROM audit_event WHERE object_kind = 'failures' UNION ALL SELECT (SELECT min(n.object_id) FROM "
        "audit_event n WHERE n.object_kind = 'failures' AND n.object_id > object.id) FROM object WHERE "
        "object.id IS NOT NULL) SELECT batch.id FROM object JOIN audit_event newest ON newest.id = (SELECT "
        "max(e.id) FROM audit_event e WHERE " +
        viewer +
        " AND e.object_kind = 'failures' AND e.object_id = object.id AND e.action = 'crm.retry') JOIN "
        "audit_event batch ON batch.occurred_at = newest.occurred_at AND batch.actor = newest.actor AND "
        "batch.action = newest.action AND batch.object_kind || '' = newest.object_kind AND batch.object_id "
        "|| "
        "'' = newest.object_id)");
    EXPECT_THAT(plan, testing::ContainsRegex("SEARCH e USING INDEX audit_event_object|Scan Backward using "
                                             "audit_event_object"))
        << viewer;
    EXPECT_THAT(plan, testing::ContainsRegex("SEARCH batch USING INDEX audit_event_age|using audit_event_age "
                                             "on audit_event batch"))
        << viewer;
    EXPECT_THAT(plan, testing::Not(testing::ContainsRegex("SCAN (e|n|newest|batch|audit_event)\\b|Seq Scan")))
        << viewer;
  }
}

// CON-48
TEST_P(ScalePlans, RequestsOfGiftsAndPersonsAreReadByIndexesInEachState) {
  const std::string of_gifts =
      "SELECT g.record_id FROM recipient_transaction t JOIN request_record_gift g ON g.gift_request_id = "
      "t.request_id WHERE ";
  for (const std::string& keys :
       {of_gifts + "t.id = 7",
        "SELECT a.record_id FROM request_record_state a WHERE a.deleted = 0 AND a.requested_by <> '' AND "
        "a.requested_by = (SELECT email FROM account WHERE email_key = 'x') UNION ALL " +
            of_gifts + address_key(dialect(), "t.email") + " IN ('x', 'y')"})
    for (const std::string state :
         {"", " AND s.state || '' = 'sent'",
          " AND s.error || '' <> '' AND s.state || '' NOT IN ('sent', 'rejected') AND "
          "s.error NOT IN ('x', 'y')"})
      EXPECT_THAT(
          plan_of("SELECT s.number FROM request_record_state s WHERE s.deleted = 0 AND s.record_id IN (" +
                  keys + ")" + state + " AND 1 = 1 AND s.number >= '' ORDER BY s.number DESC LIMIT 51"),
          testing::Not(testing::ContainsRegex(
              "SCAN [satg]\\b|Seq Scan|SEARCH s USING INDEX request_record_state_(state|error|number)")))
          << keys << state;
}

// OPS-33
TEST_P(ScalePlans, CountsStopAtTheirBound) {
  const std::string numbers =
      " FROM (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10005) SELECT i FROM "
      "n) numbers";
  sql("INSERT INTO crm_outbox (transaction_id, mark_seq, next_attempt_at, attempts, lease_owner, "
      "lease_until, "
      "last_error) SELECT i, 1, 1000 + i, CASE WHEN i <= 3 THEN 1 ELSE 0 END, '', 0, ''" +
      numbers);
  sql("INSERT INTO mail_outbox (transaction_id, state, attempt, next_attempt_at, message_id, "
      "uncertain_retries, last_reply, updated_at, lease_owner, lease_until) SELECT i, CASE WHEN i <= 3 THEN "
      "'held' ELSE 'accepted' END, 1, 1, '', 0, '', 0, '', 0" +
      numbers);
  sql("INSERT INTO crm_sync_state (transaction_id, state, decided_at, contact_id, account_id, lead_id, "
      "opportunity_id, deal_stage, sender_id, reason, warnings, written_version, error, needs_relink, task) "
      "SELECT i, CASE WHEN i <= 3 THEN 'rejected' ELSE 'skipped' END, 1, '', '', '', '', '', '', '', '', 1, "
      "'', "
      "0, 'none'" +
      numbers);
  EXPECT_EQ(store_->sync.count_states(CrmSyncStatus::skipped), kMaxCounted + 1);
  EXPECT_EQ(store_->sync.count_states(CrmSyncStatus::rejected), 3);
  EXPECT_EQ(store_->sync.counts().waiting, kMaxCounted + 1);
  EXPECT_EQ(store_->sync.counts().failing, 3);
  EXPECT_EQ(store_->sync.counts().oldest_due, UtcMillis{1001});
  for (const auto& [state, count] : store_->deliveries.count_by_state()) {
    EXPECT_EQ(count, state == DeliveryState::accepted ? kMaxCounted + 1
                     : state == DeliveryState::held   ? 3
                                                      : 0)
        << to_word(state);
  }
}

/// The rows n.i from 1 to `count`, before a SELECT.
std::string numbers_to(int count) {
  return "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
         std::to_string(count) + ") ";
}

// OPS-34
TEST_P(ScalePlans, AListingByIdSearchesAFewThousandGiftsAStatement) {
  constexpr int kGifts = 12'000;
  sql("INSERT INTO gift_request (id, account_id, mode, gift_id, item_name, item_description, sender_email, "
      "sender_name, utm_campaign_id, created_at) " +
      numbers_to(kGifts) +
      "SELECT i, 1, 'email', 1, '', '', '', '', CASE WHEN i = 12000 THEN 'rare' END, i FROM n");
  sql("INSERT INTO recipient_transaction (id, request_id, position, email, first_name, last_name, message, "
      "generation, status, sent_at, version) " +
      numbers_to(kGifts) + "SELECT i, i, 0, '', '', '', '', 1, 'sent', 1000 * i, 1 FROM n");
  GiftFilter filter;
  filter.campaign = "rare";
  int pages = 0;
  std::vector<std::int64_t> found;
  for (std::optional after = TransactionId{0}; after; ++pages) {
    const GiftPage page = store_->gifts.list(filter, *after, 100);
    for (const Gift& gift : page.gifts) found.push_back(gift.transaction.id.value);
    after = page.next;
  }
  EXPECT_THAT(found, testing::ElementsAre(kGifts));
  EXPECT_EQ(pages, 3);

  sql("UPDATE gift_request SET credential_prefix = 'gsk_live_Ab3dE5g' WHERE id IN (7000, 12000)");
  filter = {};
  filter.key = "gsk_live_Ab3dE5g";
  found.clear();
  pages = 0;
  for (std::optional after = TransactionId{0}; after; ++pages) {
    const GiftPage page = store_->gifts.list(filter, *after, 100);
    for (const Gift& gift : page.gifts) found.push_back(gift.transaction.id.value);
    after = page.next;
  }
  EXPECT_THAT(found, testing::ElementsAre(7000, kGifts));
  EXPECT_EQ(pages, 3) << "5,000 gifts a statement";

  filter = {};
  const GiftPage first = store_->gifts.list(filter, {0}, 100);
  EXPECT_THAT(first.gifts, testing::SizeIs(100));
  EXPECT_EQ(first.next, TransactionId{100});

  filter.since = UtcMillis{1000 * (kGifts - 2)};
  const GiftPage latest = store_->gifts.list(filter, {0}, 100);
  EXPECT_THAT(latest.gifts, testing::SizeIs(3)) << "the search begins at the first gift that was sent since";
  EXPECT_EQ(latest.next, std::nullopt);
}

// OPS-34
TEST_P(ScalePlans, ASearchOfTestGiftsHasAnEnd) {
  constexpr int kGifts = 12'000;
  sql("INSERT INTO gift_request (id, account_id, mode, gift_id, item_name, item_description, sender_email, "
      "sender_name, created_at, is_test) VALUES (1, 1, 'email', 1, '', '', '', '', 1, 1)");
  sql("INSERT INTO recipient_transaction (id, request_id, position, email, first_name, last_name, message, "
      "generation, status, sent_at, version, is_test) " +
      numbers_to(kGifts) + "SELECT i, 1, i, '', '', '', '', 1, 'sent', 1000 * i, 1, 1 FROM n");
  GiftFilter filter;
  filter.test = true;
  std::vector<std::size_t> found;
  for (std::optional below = SentPosition::end(); below;) {
    const LatestGifts latest = store_->gifts.search_latest(filter, *below);
    found.push_back(latest.gifts.size());
    below = latest.next;
  }
  EXPECT_THAT(found, testing::ElementsAre(5000u, 5000u, 2000u));
}

// OPS-33
TEST_P(ScalePlans, AListingOfHeldRequestsSearchesAFewThousandAStatement) {
  constexpr int kRequests = 12'000;
  sql("INSERT INTO held_gift_request (request_id, account_id, mode, gift_id, credential_prefix, content, "
      "gifts, findings, state, held_at, expires_at, decided_at) " +
      numbers_to(kRequests) +
      "SELECT i, 1, 'email', 1, CASE WHEN i IN (7000, 12000) THEN 'gsk_live_Ab3dE5g' ELSE 'gsk_live_x' END, "
      "'', 1, '', 'rejected', i, i, i FROM n");
  const HeldFilter filter{HeldState::rejected, "gsk_live_Ab3dE5g"};
  std::vector<std::int64_t> found;
  const std::size_t statements = tests::RoundTrips::of(address(), [&] {
    for (const HeldGiftRequest& held : store_->held.list(filter, {}, 100)) found.push_back(held.id.value);
  });
  EXPECT_THAT(found, testing::ElementsAre(7000, kRequests));
  EXPECT_GE(statements, 6u) << "5,000 requests a statement";
  EXPECT_THAT(store_->held.list(filter, {7000}, 100), testing::SizeIs(1));
  EXPECT_THAT(store_->held.list({HeldState::rejected}, {6000}, 5500), testing::SizeIs(5500));
  EXPECT_THAT(store_->held.list({HeldState::held}, {}, 100), testing::IsEmpty());
}

}  // namespace
}  // namespace giftsync::store
