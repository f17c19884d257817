// What store and managed CRM hold of a person, and that an erasure leaves no trace of the address.
#include "sync/crm/person.h"

#include <algorithm>
#include <set>

#include "platform/digest.h"
#include "schema/sql/queries.h"
#include "schema/store/gift/erased_address.h"
#include "schema/store/gift/named_address.h"
#include "sync/access/sending_policy.h"
#include "sync/request/approver_notices.h"
#include "tests/support/in_memory_crm.h"
#include "tests/support/lifecycle_fixture.h"

namespace giftsync::sync {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::SizeIs;

constexpr const char* kAna = "ana@example.com";
const std::string kKey(32, 'k');

class Person : public tests::LifecycleFixture {
 protected:
  void SetUp() override {
    LifecycleFixture::SetUp();
    if (IsSkipped()) return;
    store_->do_not_send.set_erased_address_key(kKey);
  }

  TransactionId send_to(const std::string& email) {
    store::NewGiftRequest request;
    request.request.account = {1};
    request.request.gift = {7};
    request.request.item_name = "Coffee";
    request.request.costs = {Money{500}, Money{0}, Money{10}, Money{40}};
    request.request.sender_email = "sam@example.com";
    request.request.created_at = now_;
    request.recipients.push_back({email, "Ana", "Smith", "Hi Ana"});
    return store_->gifts.create(std::span(&request, 1)).front().recipients.front().id;
  }
  TransactionId redeemed_gift(const std::string& email) {
    const TransactionId id = send_to(email);
    deliver();
    report(id, Status::redeemed);
    sync();
    return id;
  }
  PersonData find() { return find_person(*store_, *crm_, kAna); }
  PersonErasure erase() {
    const PersonData person = find();
    store::AuditEvent event;
    event.action = "person.erase";
    event.object_kind = "person";
    event.object_id = audited_pattern(person.address_key);
    event.detail = person.counts_text();
    return erase_person(*store_, *crm_, person, event);
  }
  void opt_out() {
    const store::DoNotSendEntry entry{
        kAna, DoNotSendReason::opted_out, "asked ana@example.com", {}, {}, "root", {}};
    ASSERT_EQ(store_->do_not_send.add(std::span(&entry, 1), {}), 1);
  }

  struct Column {
    std::string table;
    std::string name;
  };
  /// Of all tables of store and managed CRM.
  std::vector<Column> columns() {
    const std::string query = dialect() == sql::Dialect::sqlite
                                  ? "SELECT m.name, p.name FROM sqlite_master m, pragma_table_info(m.name) p "
                                    "WHERE m.type = 'table' "
                                    "AND m.name NOT LIKE 'sqlite_%' ORDER BY 1, 2"
                                  : "SELECT cast(table_name AS text), cast(column_name AS text) FROM "
                                    "information_schema.columns WHERE "
                                    "table_schema = current_schema() ORDER BY 1, 2";
    return plain_sql_->read([&](soci::session& session) {
      Column row;
      return sql::select_rows(row, session, query, soci::into(row.table), soci::into(row.name));
    });
  }
  std::vector<std::string> texts_in(const Column& column, const std::string& where) {
    return plain_sql_->read([&](soci::session& session) {
      return sql::select_column<std::string>(session, "SELECT cast(\"" + column.name + "\" AS text) FROM \"" +
                                                          column.table + "\" WHERE \"" + column.name +
                                                          "\" IS NOT NULL AND " + where + " ORDER BY 1");
    });
  }
  /// "table.column" of each column of any table that has the text.
  std::vector<std::string> places_of(const std::string& text) {
    std::vector<std::string> places;
    for (const Column& column : columns())
      if (!texts_in(column, "lower(cast(\"" + column.name + "\" AS text)) LIKE '%" + text + "%'").empty())
        places.push_back(column.table + "." + column.name);
    return places;
  }
  /// All values of all tables.
  std::vector<std::string> contents() {
    std::vector<std::string> all;
    for (const Column& column : columns()) {
      all.push_back(column.table + "." + column.name);
      for (std::string& text : texts_in(column, "1 = 1")) all.push_back(std::move(text));
    }
    return all;
  }

  /// One text in each place that may have the address.
  void leave_traces(TransactionId gift) {
    const std::string id = std::to_string(gift.value);
    sql("INSERT INTO gift_action (transaction_id, done_at, action, actor, comment) VALUES (" + id +
        ", 1, 'resent', 'root', 'to ana@example.com, before it was bea@example.com')");
    sql("UPDATE mail_outbox SET last_reply = '550 <Ana@Example.com> is full' WHERE transaction_id = " + id);
    sql("INSERT INTO mail_breaker (daemon, since, until, failures, reason, relay) VALUES ('d', 1, 1, 1, "
        "'refused ana@example.com', 'r')");
    sql("INSERT INTO notified_sender (email_key, email) VALUES ('sam@example.com', 'sam@example.com')");
    sql("INSERT INTO sender_notice (transaction_id, sending, sender_id, email, reply, undelivered_at, "
        "created_at) SELECT " +
        id + ", 1, id, 'ana@example.com', 'no such user ana@example.com', 1, 1 FROM notified_sender");
    sql("UPDATE change_log SET void_reason = 'wrong, ana@example.com wrote' WHERE transaction_id = " + id);
    sql("INSERT INTO change_audit (change_id, done_at, action, actor, reason) SELECT max(id), 1, 'restored', "
        "'root', 'ana@example.com called' FROM change_log");
    sql("UPDATE gift_request SET utm_campaign_id = 'for ana@example.com'");
    sql("UPDATE gift_rollup_delta SET campaign = '=for ana@example.com'");
    sql("INSERT INTO gift_request_idempotency (account_id, mode, key, body_hash, request_id, warnings, "
        "created_at) VALUES (1, 'email', 'k1', 'h', 1, 'twice to ana@example.com', 1)");
    sql("INSERT INTO inbound_event (id, source, digest, state, status_word, detail, transaction_id, payload, "
        "received_at) VALUES (901, 'vendor', 'd1', 'ignored', 'seen', 'of ana@example.com', '77', "
        "'{\"recipient_email\" : \"ana@example.com\", \"first_name\" : \"Ana\"}', 1)");
    sql("INSERT INTO refused_message (id, source, message_id, status, reason, size, body, received_at) "
        "VALUES "
        "(901, 'vendor', 'm1', 422, 'of ana@example.com', 30, '" +
        to_base64_text("to=ana%40example.com&name=Ana") + "', 1)");
    sql("INSERT INTO request_record_state (record_id, number, state, crm_status, approval, approved_by, "
        "approved_content, gift_request_text, requested_by, error, failures, deleted, version) VALUES "
        "('a1R1', "
        "'R-000009', 'sent', 'Sent', 'person', 'root', 'ana@example.com', 'ana@example.com', '', 'bounced "
        "ana@example.com', 0, 0, 1)");
    sql("INSERT INTO request_record_transition (record_id, occurred_at, actor, from_state, to_state, "
        "comment) "
        "VALUES ('a1R1', 1, 'root', 'pending', 'sent', 'fine for ana@example.com')");
    sql("INSERT INTO request_record_edit (record_id, occurred_at, actor, old_values, new_values) VALUES "
        "('a1R1', 1, 'root', 'ana@example.com', 'Ana@Example.com')");
    sql("INSERT INTO audit_event (occurred_at, actor_kind, actor, session, request_id, network, action, "
        "object_kind, object_id, outcome, rule, detail) VALUES (1, 'command', 'root', '', '', '', "
        "'gift.resend', 'gift', '" +
        id + "', 'done', '', '--email ana@example.com')");
    sql("INSERT INTO crm_lead (id, email, lastname, company) VALUES ('00QA', 'ana@example.com', 'Smith', "
        "'Smith Ltd')");
    sql("INSERT INTO crm_task (id, subject, description, recipienttransactionid) VALUES ('00TA', 'Gift sent, "
        "Ana Smith', 'to ana@example.com', " +
        id + ")");
    sql("INSERT INTO crm_request_record (id, request_status, recipient_email, recipient_last_name, message) "
        "VALUES ('a1RA', 'Sent', 'Ana@Example.com', 'Smith', 'Hi Ana')");
    opt_out();
  }
  void add_contact() {
    sql("INSERT INTO crm_contact (id, email, firstname, lastname, accountid, leadsource) VALUES ('003A', "
        "'Ana@Example.com', 'Ana', 'Smith', '001A', 'Web')");
  }
};
INSTANTIATE_TEST_SUITE_P(BackEnds, Person, testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// covers: GUARD-16, GUARD-17
TEST_P(Person, EveryTraceIsFoundAndErased) {
  add_contact();
  const TransactionId gift = redeemed_gift("Ana@example.com");
  const TransactionId other = redeemed_gift("joana@example.com");
  leave_traces(gift);
  const PersonData person = find();
  EXPECT_THAT(person.closed, ElementsAre(gift));
  EXPECT_FALSE(person.is_in_use());
  EXPECT_THAT(person.contacts, ElementsAre("003A"));
  EXPECT_THAT(person.leads, ElementsAre("00QA"));
  EXPECT_THAT(person.records, ElementsAre(gift));
  EXPECT_THAT(person.crm_requests, ElementsAre("a1RA"));
  EXPECT_THAT(person.entries, SizeIs(1));
  std::set<std::string> found;
  for (const store::PersonText& text : person.texts) found.insert(text.table + "." + text.column);
  EXPECT_THAT(found, IsSupersetOf({"gift_action.comment",
                                   "mail_outbox.last_reply",
                                   "mail_breaker.reason",
                                   "sender_notice.email",
                                   "sender_notice.reply",
                                   "change_log.void_reason",
                                   "change_audit.reason",
                                   "gift_request.utm_campaign_id",
                                   "gift_request_idempotency.warnings",
                                   "inbound_event.payload",
                                   "inbound_event.detail",
                                   "refused_message.reason",
                                   "refused_message.body",
                                   "request_record_state.approved_content",
                                   "request_record_state.gift_request_text",
                                   "request_record_state.error",
                                   "request_record_transition.comment",
                                   "request_record_edit.old_values",
                                   "request_record_edit.new_values",
                                   "crm_sync_state.reason",
                                   "do_not_send.comment",
                                   "audit_event.detail"}));
  const std::vector<std::string> others_places = places_of("joana@example.com");
  ASSERT_FALSE(others_places.empty());
  const PersonErasure done = erase();
  EXPECT_THAT((std::vector{done.gifts, done.entries, done.contacts, done.leads, done.records, done.requests}),
              testing::Each(1));
  EXPECT_EQ(done.texts, static_cast<std::int64_t>(person.texts.size()))
      << "as a dry run counts them, also those that were erased with the gift";
  EXPECT_EQ(places_of("joana@example.com"), others_places) << "a longer address is another person's";
  for (const std::string& table : others_places)
    sql("UPDATE " + table.substr(0, table.find('.')) + " SET " + table.substr(table.find('.') + 1) +
        " = '' WHERE lower(" + table.substr(table.find('.') + 1) + ") LIKE '%joana@example.com%'");
  EXPECT_THAT(places_of(kAna), IsEmpty());
  EXPECT_THAT(store_->person_traces.texts(kAna), IsEmpty()) << "also in bodies, which are base64";

  const store::Gift erased = this->gift(gift);
  EXPECT_EQ(erased.transaction.email, person.mark);
  EXPECT_EQ(erased.transaction.first_name, "erased");
  EXPECT_EQ(erased.transaction.last_name, "");
  EXPECT_EQ(erased.transaction.message, "erased");
  EXPECT_EQ(erased.transaction.status, Status::redeemed);
  EXPECT_EQ(erased.request.costs.item, Money{500});
  EXPECT_EQ(text(gift, GiftField::recipient_email), person.mark);
  EXPECT_EQ(text(gift, GiftField::name), "Coffee for erased");
  EXPECT_EQ(text(gift, GiftField::message), "erased");
  EXPECT_EQ(scalar("SELECT lastname || ' ' || accountid || ' ' || leadsource FROM crm_contact"),
            "erased 001A Web");
  EXPECT_EQ(this->gift(other).transaction.last_name, "Smith");
  EXPECT_EQ(scalar("SELECT detail FROM audit_event WHERE action = 'gift.resend'"), "--email " + person.mark);
  EXPECT_EQ(scalar("SELECT object_id FROM audit_event WHERE action = 'person.erase'"), "***@example.com");
  EXPECT_EQ(scalar("SELECT cast(count(*) AS text) FROM audit_event WHERE action = 'person.erase'"), "1");
}

// covers: GUARD-17, API-8
TEST_P(Person, AnErasureChangesTheVersionThatCallersOfTheApiCompare) {
  const TransactionId gift = redeemed_gift(kAna);
  const TransactionId other = redeemed_gift("joana@example.com");
  const std::int64_t before = this->gift(gift).transaction.version;
  const std::int64_t of_other = this->gift(other).transaction.version;
  ASSERT_EQ(erase().gifts, 1);
  EXPECT_GT(this->gift(gift).transaction.version, before) << "else 304 lets them keep the address";
  EXPECT_EQ(this->gift(other).transaction.version, of_other);
}

// covers: GUARD-17, HTTP-58
TEST_P(Person, ReferencesOfAnErasedGiftAreErased) {
  store::NewGiftRequest request;
  request.request.account = {1};
  request.request.gift = {7};
  request.request.created_at = now_;
  request.request.reference = "for ana@example.com";
  request.recipients.push_back({kAna, "Ana", "Smith", "Hi", "seat of Ana Smith"});
  request.recipients.push_back({"kim@example.com", "", "", "Hi", "seat of Kim"});
  const auto made = store_->gifts.create(std::span(&request, 1)).front().recipients;
  deliver();
  report(made[0].id, Status::redeemed);
  sync();
  EXPECT_EQ(erase().gifts, 1);
  EXPECT_EQ(this->gift(made[0].id).transaction.reference, "erased");
  EXPECT_EQ(this->gift(made[0].id).request.reference, "erased");
  EXPECT_EQ(this->gift(made[1].id).transaction.reference, "seat of Kim");
  EXPECT_THAT(places_of("seat of ana"), IsEmpty());
  EXPECT_THAT(places_of(kAna), IsEmpty());
}

// covers: GUARD-16
TEST_P(Person, TextsAboutGiftsAndRequestRecordsNeedNotNameTheAddress) {
  const TransactionId gift = redeemed_gift(kAna);
  const TransactionId other = redeemed_gift("joana@example.com");
  const std::string id = std::to_string(gift.value);
  const auto keep_event = [&](int number, const std::string& of) {
    sql("INSERT INTO inbound_event (id, source, digest, state, status_word, detail, transaction_id, payload, "
        "received_at) VALUES (" +
        std::to_string(number) + ", 'vendor', 'd" + std::to_string(number) + "', 'ignored', 'seen', '', '" +
        of + "', '{\"name\": \"of " + of + "\"}', 1)");
  };
  keep_event(901, id);
  keep_event(902, std::to_string(other.value));
  sql("INSERT INTO request_record_state (record_id, number, state, crm_status, approval, approved_by, "
      "approved_content, gift_request_text, requested_by, error, failures, deleted, version) VALUES ('a1R1', "
      "'R-000009', 'sent', 'Sent', 'person', 'root', 'Hi Ana', '', '', '', 0, 0, 1)");
  sql("INSERT INTO request_record_transition (record_id, occurred_at, actor, from_state, to_state, comment) "
      "VALUES ('a1R1', 1, 'root', 'pending', 'sent', 'she likes coffee')");
  const std::vector<std::string> records{"a1R1"};
  std::vector<std::string> found;
  for (const store::PersonText& text : store_->person_traces.texts_about(std::span(&gift, 1), records))
    found.push_back(text.table + "." + text.column + ": " + text.text);
  EXPECT_THAT(found, testing::UnorderedElementsAre("inbound_event.payload: {\"name\": \"of " + id + "\"}",
                                                   "request_record_state.approved_content: Hi Ana",
                                                   "request_record_transition.comment: she likes coffee"));
  EXPECT_THAT(store_->person_traces.texts_about({}, {}), IsEmpty());
}

// covers: GUARD-17
TEST_P(Person, AnErasedPersonIsFoundAsErased) {
  const TransactionId gift = redeemed_gift(kAna);
  opt_out();
  erase();
  const std::vector<std::string> before = contents();
  const PersonData person = find();
  EXPECT_FALSE(person.has_traces());
  EXPECT_THAT(person.erased, ElementsAre(gift));
  EXPECT_THAT(person.entries, SizeIs(1));
  EXPECT_EQ(contents(), before);
}

// covers: GUARD-16, GUARD-17
TEST_P(Person, IdsOfSourcesThatNameTheAddressAreFoundAndStay) {
  const std::string id = std::to_string(redeemed_gift(kAna).value);
  sql("UPDATE recipient_transaction SET gift_source = 'vendor', external_id = 'order-of ana@example.com'");
  sql("INSERT INTO external_transaction (external_id, gift_source, transaction_id) VALUES ('order-of "
      "Ana@Example.com', 'vendor', " +
      id + ")");
  sql("INSERT INTO inbound_event (id, source, digest, state, status_word, detail, transaction_id, payload, "
      "received_at) VALUES (901, 'vendor', 'd1', 'ignored', 'seen', '', 'order-of ana@example.com', '{}', "
      "1), "
      "(902, 'vendor', 'd2', 'ignored', 'seen', '', 'order-of joana@example.com', '{}', 1)");
  sql("INSERT INTO change_event (change_id, event_id) SELECT id, 'opened ana@example.com' FROM change_log "
      "WHERE transaction_id = " +
      id + " AND status = 'redeemed'");
  const auto places = [this] {
    std::vector<std::string> found;
    for (const store::PersonText& text : store_->person_traces.kept_ids(kAna))
      found.push_back(text.table + "." + text.column + ": " + text.text);
    return found;
  };
  const std::vector<std::string> before = places();
  EXPECT_THAT(before, ElementsAre("recipient_transaction.external_id: order-of ana@example.com",
                                  "external_transaction.external_id: order-of Ana@Example.com",
                                  "inbound_event.transaction_id: order-of ana@example.com",
                                  "change_event.event_id: opened ana@example.com"));
  EXPECT_EQ(erase().gifts, 1);
  EXPECT_EQ(places(), before);
  EXPECT_FALSE(find().has_traces()) << "the command ends";
}

// covers: GUARD-16
TEST_P(Person, FindingChangesNothing) {
  add_contact();
  leave_traces(redeemed_gift(kAna));
  while (crm_->directory().maintain()) continue;  // match keys are made at the first lookup
  find();
  const std::vector<std::string> before = contents();
  find();
  EXPECT_EQ(contents(), before);
}

// covers: GUARD-18
TEST_P(Person, AnOpenGiftStaysWithAllThatIsNotOfClosedGifts) {
  add_contact();
  const TransactionId closed = redeemed_gift(kAna);
  const TransactionId open = send_to(kAna);
  deliver();
  sync();
  opt_out();
  const PersonData person = find();
  EXPECT_THAT(person.open, ElementsAre(open));
  EXPECT_TRUE(person.is_in_use());
  EXPECT_EQ(erase().gifts, 1);
  EXPECT_EQ(gift(closed).transaction.email, person.mark);
  EXPECT_EQ(text(closed, GiftField::recipient_email), person.mark);
  EXPECT_EQ(gift(open).transaction.email, kAna);
  EXPECT_EQ(gift(open).transaction.last_name, "Smith");
  EXPECT_EQ(text(open, GiftField::recipient_email), kAna);
  EXPECT_EQ(scalar("SELECT lastname FROM crm_contact"), "Smith");
  EXPECT_EQ(scalar("SELECT pattern FROM do_not_send"), kAna);
  report(open, Status::donated);
  EXPECT_EQ(erase().gifts, 1) << "by its changes, before a worker folds them";
  sync();
  EXPECT_THAT(places_of(kAna), IsEmpty());
}

// covers: GUARD-18
TEST_P(Person, AnOpenRequestRecordStays) {
  sql("INSERT INTO crm_request_record (id, recipient_email) VALUES ('a1RA', 'ana@example.com')");
  const PersonData person = find();
  EXPECT_THAT(person.open_crm_requests, ElementsAre("a1RA"));
  EXPECT_TRUE(person.is_in_use());
  erase();
  EXPECT_EQ(scalar("SELECT recipient_email FROM crm_request_record"), kAna);
}

// covers: GUARD-18
TEST_P(Person, AnOpenRequestOfALongerAddressIsAnotherPersons) {
  for (const std::string address : {"diana@example.com", kAna, "bea@example.com"})
    sql("INSERT INTO request_record_state (record_id, number, state, crm_status, approval, approved_by, "
        "approved_content, gift_request_text, requested_by, error, failures, deleted, version) VALUES ('a1" +
        address + "', 'R-" + address + "', 'pending', 'Pending', '', '', '\"" + address +
        "\"', '', '', '', 0, 0, 1)");
  EXPECT_THAT(find().open_requests, ElementsAre(std::string("R-") + kAna));
  sql("UPDATE request_record_state SET state = 'rejected' WHERE number = 'R-ana@example.com'");
  EXPECT_THAT(find().open_requests, IsEmpty());
}

// covers: GUARD-18
TEST_P(Person, AHeldRequestStaysWhileItWaitsAndIsErasedAfterItsDecision) {
  store::NewGiftRequest request;
  request.request.account = {1};
  request.request.gift = {7};
  request.request.created_at = now_;
  request.recipients = {{kAna, "Ana", "Smith", "Hi Ana"}};
  request.hold_reasons = {{"recent_gift", "recipients[0].email", "ana@example.com got 2 gifts."}};
  const GiftRequestId id = store_->gifts.create(std::span(&request, 1)).front().request;
  store::ConsoleUser ben;
  ben.email = "ben@example.com";
  ben.roles = {{Role::approver, RoleOrigin::granted, "root", now_}};
  ASSERT_TRUE(store_->console_users.create(ben, {}).has_value());
  add_held_notices(*store_, false, now_);
  const PersonData person = find();
  EXPECT_THAT(person.open_requests, ElementsAre(std::to_string(id.value)));
  EXPECT_THAT(person.texts, SizeIs(4)) << "an export has the content and the reasons, and both of the mail";
  erase();
  EXPECT_TRUE(store::request_in(*store_->held.find(id)).has_value()) << "it may be approved still";
  ASSERT_TRUE(store_->held.reject({id, "root", "ana@example.com asked", {}}, now_));
  EXPECT_THAT(find().open_requests, IsEmpty());
  erase();
  EXPECT_THAT(places_of("ana@example.com"), IsEmpty());
  EXPECT_EQ(store::reasons_of(*store_->held.find(id)).front().code, "recent_gift");
}

// covers: GUARD-18
TEST_P(Person, AnInterruptedErasureIsFinishedByTheNext) {
  add_contact();
  const TransactionId gift = redeemed_gift(kAna);
  leave_traces(gift);
  const PersonData person = find();
  store_->person_traces.erase_gifts(person.closed, person.mark);  // and then the process ends
  EXPECT_TRUE(find().has_traces());
  erase();
  EXPECT_THAT(places_of(kAna), IsEmpty());
  EXPECT_FALSE(find().has_traces());
}

// covers: GUARD-18
TEST_P(Person, AGiftThatAWorkerHasIsLeft) {
  const TransactionId gift = redeemed_gift(kAna);
  report(gift, Status::opened);
  ASSERT_THAT(store_->sync.claim("worker", 60'000, 10, now_), SizeIs(1));
  const PersonData person = find();
  EXPECT_THAT(person.busy, ElementsAre(gift));
  EXPECT_THAT(store_->person_traces.erase_gifts(person.busy, person.mark), IsEmpty());
}

// covers: GUARD-18
TEST_P(Person, AGiftThatAWorkerTakesMeanwhileIsLeftWithItsRecordAndContact) {
  add_contact();
  const TransactionId taken = redeemed_gift(kAna);
  const TransactionId other = redeemed_gift(kAna);
  PersonData person = find();
  ASSERT_THAT(person.closed, ElementsAre(taken, other));
  report(taken, Status::opened);
  ASSERT_THAT(store_->sync.claim("worker", 60'000, 10, now_), SizeIs(1));
  EXPECT_EQ(erase_person(*store_, *crm_, person, {}).gifts, 1);
  EXPECT_EQ(gift(taken).transaction.email, kAna);
  EXPECT_EQ(text(taken, GiftField::recipient_email), kAna);
  EXPECT_EQ(text(other, GiftField::recipient_email), person.mark);
  EXPECT_EQ(scalar("SELECT lastname FROM crm_contact"), "Smith");
  EXPECT_THAT(find().busy, ElementsAre(taken)) << "the command ends with 75";
}

// covers: GUARD-18
TEST_P(Person, TheRecordOfAnErasedGiftIsWrittenOnceMore) {
  const TransactionId written = redeemed_gift(kAna);
  const TransactionId unknown = redeemed_gift(kAna);
  sql("DELETE FROM crm_sync_state WHERE transaction_id = " + std::to_string(unknown.value));
  ASSERT_EQ(erase().gifts, 2);
  EXPECT_EQ(scalar("SELECT cast(count(*) AS text) FROM crm_outbox"), "1")
      << "giftsync did not write the other";
  EXPECT_EQ(scalar("SELECT cast(transaction_id AS text) FROM crm_outbox"), std::to_string(written.value));
}

// covers: GUARD-17
TEST_P(Person, EventsOfAnotherPersonWithTheSameNumberStay) {
  const TransactionId kept = redeemed_gift(kAna);
  const TransactionId allotted = redeemed_gift(kAna);
  const std::string number = std::to_string(kept.value);
  sql("INSERT INTO external_transaction (external_id, gift_source, transaction_id) VALUES ('x7', 'allots', " +
      std::to_string(allotted.value) + ")");
  sql("UPDATE recipient_transaction SET external_id = 'x7', gift_source = 'allots' WHERE id = " +
      std::to_string(allotted.value));
  const auto add_event = [&](const std::string& id, const std::string& source, const std::string& of) {
    sql("INSERT INTO inbound_event (id, source, digest, state, status_word, detail, transaction_id, payload, "
        "received_at) VALUES (" +
        id + ", '" + source + "', 'd" + id + "', 'ignored', 'seen', '', '" + of +
        "', '{\"name\" : \"B\"}', 1)");
  };
  add_event("901", "allots", number);  // its own number, of a gift that is not known here
  add_event("902", "keeps", number);
  add_event("903", "allots", "x7");
  add_event("904", "keeps", "x7");
  erase();
  const auto payload = [&](const std::string& id) {
    return scalar("SELECT payload FROM inbound_event WHERE id = " + id);
  };
  EXPECT_EQ(payload("901"), "{\"name\" : \"B\"}");
  EXPECT_EQ(payload("902"), "{}");
  EXPECT_EQ(payload("903"), "{}");
  EXPECT_EQ(payload("904"), "{\"name\" : \"B\"}");
}

// covers: GUARD-17
TEST_P(Person, NamesInTheHistoryOfARejectedRequestAreErased) {
  sql("INSERT INTO crm_request_record (id, request_status, recipient_email) VALUES ('a1RA', 'Rejected', "
      "'ana@example.com'), ('a1RB', 'Rejected', 'bea@example.com')");
  for (const std::string id : {"a1RA", "a1RB", "a1RC"}) {
    sql("INSERT INTO request_record_state (record_id, number, state, crm_status, approval, approved_by, "
        "approved_content, gift_request_text, requested_by, error, failures, deleted, version) VALUES ('" +
        id + "', 'R-" + id + "', 'rejected', 'Rejected', '', '', '" +
        (id == "a1RC" ? "ana@example.com" : "Smith") + "', '', '', '', 0, 0, 1)");
    sql("INSERT INTO request_record_edit (record_id, occurred_at, actor, old_values, new_values) VALUES ('" +
        id + "', 1, 'root', 'Smith', 'Smyth')");
    sql("INSERT INTO request_record_transition (record_id, occurred_at, actor, from_state, to_state, "
        "comment) "
        "VALUES ('" +
        id + "', 1, 'root', 'pending', 'rejected', 'not for Smith')");
  }
  sql("INSERT INTO request_record_state (record_id, number, state, crm_status, approval, approved_by, "
      "approved_content, gift_request_text, requested_by, error, failures, deleted, version) VALUES ('a1RD', "
      "'R-a1RD', 'pending', 'Pending', '', '', '', '', '', '', 0, 0, 1)");
  sql("INSERT INTO request_record_edit (record_id, occurred_at, actor, old_values, new_values) VALUES "
      "('a1RD', 1, 'root', 'ana@example.com', 'bea@example.com'), ('a1RD', 2, 'root', 'Jones', 'Jonas')");
  EXPECT_THAT(find().crm_requests, ElementsAre("a1RA"));
  erase();
  EXPECT_EQ(scalar("SELECT old_values || new_values FROM request_record_edit WHERE record_id = 'a1RD' AND "
                   "occurred_at = 1"),
            "bea@example.com");
  EXPECT_EQ(scalar("SELECT old_values || new_values FROM request_record_edit WHERE record_id = 'a1RD' AND "
                   "occurred_at = 2"),
            "JonesJonas")
      << "an open record is another person's by now";
  const auto history = [&](const std::string& id) {
    return scalar(
        "SELECT s.approved_content || ' ' || e.old_values || ' ' || e.new_values || ' ' || t.comment "
        "FROM request_record_state s JOIN request_record_edit e ON e.record_id = s.record_id JOIN "
        "request_record_transition t ON t.record_id = s.record_id WHERE s.record_id = '" +
        id + "'");
  };
  EXPECT_EQ(history("a1RA"), "   erased") << "by its record in the CRM";
  EXPECT_EQ(history("a1RB"), "Smith Smith Smyth not for Smith") << "another person's";
  EXPECT_EQ(history("a1RC"), "   erased") << "by the text in its state alone";
}

// covers: GUARD-16, GUARD-17
TEST_P(Person, RequestRecordsWithoutTheAddressAreFoundByContactAndGift) {
  add_contact();
  const TransactionId gift = redeemed_gift(kAna);
  sql("INSERT INTO crm_request_record (id, request_status, recipient_contact, recipient_email, "
      "recipient_last_name) VALUES ('a1RA', 'Rejected', '003A', NULL, 'Smith'), ('a1RB', 'Rejected', '003B', "
      "NULL, 'Jones'), ('a1RC', 'Sent', NULL, 'old@example.com', 'Smith'), ('a1RD', 'Sent', '003A', "
      "'bea@example.com', 'Jones')");
  sql("INSERT INTO request_record_gift (record_id, gift_request_id, contact_id, lead_id, account_id, "
      "opportunity_id, sender_id) SELECT 'a1RC', request_id, '', '', '', '', '' FROM recipient_transaction "
      "WHERE id = " +
      std::to_string(gift.value));
  const PersonData person = find();
  EXPECT_THAT(person.crm_requests, ElementsAre("a1RA", "a1RC"));
  EXPECT_EQ(erase().requests, 2);
  const auto row = [&](const std::string& id) {
    return scalar(
        "SELECT coalesce(recipient_email, '') || ' ' || recipient_last_name FROM "
        "crm_request_record WHERE id = '" +
        id + "'");
  };
  EXPECT_EQ(row("a1RA"), " erased");
  EXPECT_EQ(row("a1RB"), " Jones");
  EXPECT_EQ(row("a1RC"), person.mark + " erased");
  EXPECT_EQ(row("a1RD"), "bea@example.com Jones");
  EXPECT_FALSE(find().has_traces());
}

// covers: GUARD-17
TEST_P(Person, ContactsMarkedAsDeletedAreErased) {
  sql("ALTER TABLE crm_contact ADD COLUMN isdeleted TEXT");
  add_contact();
  sql("INSERT INTO crm_contact (id, email, lastname, isdeleted) VALUES ('003B', 'Ana@Example.com ', 'Smith', "
      "'true'), ('003C', 'bea@example.com', 'Jones', 'true')");
  EXPECT_THAT(find().contacts, testing::UnorderedElementsAre("003A", "003B"));
  EXPECT_EQ(erase().contacts, 2);
  EXPECT_EQ(scalar("SELECT lastname FROM crm_contact WHERE id = '003B'"), "erased");
  EXPECT_EQ(scalar("SELECT lastname FROM crm_contact WHERE id = '003C'"), "Jones");
  EXPECT_FALSE(find().has_traces());
}

// covers: GUARD-17
TEST_P(Person, AnAddressInAColumnNamedAsAnIdIsErased) {
  for (const std::string column : {"isdeleted", "emailid", "email_id", "emailtemplateid"})
    sql("ALTER TABLE crm_contact ADD COLUMN " + column + " TEXT");
  sql("INSERT INTO crm_contact (id, email, lastname, accountid, emailid, email_id, emailtemplateid, "
      "isdeleted) VALUES ('003A', 'old@example.com', 'Smith', '001A', 'Ana@Example.com', NULL, '00X1', "
      "'true'), ('003B', NULL, 'Smith', '001A', '', 'ana@example.com', '00X2', 'true'), ('003C', NULL, "
      "'Jones', '001A', 'bea@example.com', 'joana@example.com', '00X3', 'true')");
  EXPECT_THAT(find().contacts, testing::UnorderedElementsAre("003A", "003B"));
  const std::string mark = find().mark;
  EXPECT_EQ(erase().contacts, 2);
  const auto row = [&](const std::string& id) {
    return scalar(
        "SELECT lastname || ' ' || accountid || ' ' || coalesce(emailid, '') || ' ' || "
        "coalesce(email_id, '') || ' ' || emailtemplateid FROM crm_contact WHERE id = '" +
        id + "'");
  };
  EXPECT_EQ(row("003A"), "erased 001A " + mark + "  00X1");
  EXPECT_EQ(row("003B"), "erased 001A  " + mark + " 00X2");
  EXPECT_EQ(row("003C"), "Jones 001A bea@example.com joana@example.com 00X3");
  EXPECT_FALSE(find().has_traces()) << "the command ends";
}

// covers: GUARD-17
TEST_P(Person, TextsAndDatesInColumnsOfAnAdminAreErased) {
  for (const std::string column :
       {"skypeid TEXT", "linkedin_id TEXT", "anniversary DATE", "reportstoid TEXT"})
    sql("ALTER TABLE crm_contact ADD COLUMN " + column);
  sql("INSERT INTO crm_contact (id, email, accountid, reportstoid, skypeid, linkedin_id, anniversary, "
      "birthdate) VALUES ('003A', 'ana@example.com', '001A', '003B', 'ana.smith', '', '2001-02-03', "
      "'1980-01-02')");
  sql("INSERT INTO crm_lead (id, email, convertedcontactid, converteddate) VALUES ('00QA', "
      "'ana@example.com', '003A', '2026-05-06')");
  EXPECT_EQ(erase().contacts, 1);
  EXPECT_EQ(scalar("SELECT accountid || ' ' || reportstoid || ' ' || skypeid || ' ' || linkedin_id || '.' || "
                   "coalesce(cast(anniversary AS text), 'no date') || ', ' || coalesce(cast(birthdate AS "
                   "text), 'no date') FROM crm_contact"),
            "001A 003B erased .no date, no date");
  EXPECT_EQ(scalar("SELECT convertedcontactid || ' ' || cast(converteddate AS text) FROM crm_lead"),
            "003A 2026-05-06");
}

// covers: GUARD-17
TEST_P(Person, WhatAnAdminsColumnsRequireFailsNoErasure) {
  const std::string generated = dialect() == sql::Dialect::sqlite ? "VIRTUAL" : "STORED";
  for (const std::string& column :
       {std::string("joined DATE NOT NULL DEFAULT '2001-02-03'"),
        std::string("nickname TEXT NOT NULL DEFAULT ''"), std::string("number_of_card TEXT"),
        "shout TEXT GENERATED ALWAYS AS (upper(lastname)) " + generated})
    sql("ALTER TABLE crm_contact ADD COLUMN " + column);
  sql("CREATE UNIQUE INDEX own_card ON crm_contact (number_of_card)");
  sql("INSERT INTO crm_contact (id, email, lastname, nickname, number_of_card) VALUES ('003A', "
      "'ana@example.com', 'Smith', 'Annie', 'C1'), ('003B', 'ana@example.com', 'Smith', '', 'C2'), ('003C', "
      "'bea@example.com', 'Jones', 'B', 'C3')");
  if (dialect() == sql::Dialect::postgresql) {
    for (const std::string column :
         {"state VARCHAR(2)", "code UUID", "likes JSONB", "must_have JSONB NOT NULL DEFAULT '[1]'"})
      sql("ALTER TABLE crm_contact ADD COLUMN " + column);
    sql("UPDATE crm_contact SET state = 'NY', code = '00000000-0000-0000-0000-000000000001', likes = "
        "'[\"tea\"]' WHERE id = '003A'");
  }
  EXPECT_EQ(erase().contacts, 2);
  const auto row = [&](const std::string& id) {
    return scalar(
        "SELECT cast(joined AS text) || ' ' || lastname || ' ' || shout || ' ' || nickname || ' ' || "
        "number_of_card FROM crm_contact WHERE id = '" +
        id + "'");
  };
  EXPECT_EQ(row("003A"), "1970-01-01 erased ERASED erased 003A:erased");
  EXPECT_EQ(row("003B"), "1970-01-01 erased ERASED  003B:erased");
  EXPECT_EQ(row("003C"), "2001-02-03 Jones JONES B C3");
  EXPECT_FALSE(find().has_traces());
  if (dialect() == sql::Dialect::sqlite) return;
  EXPECT_EQ(
      scalar("SELECT state || ' ' || coalesce(cast(code AS text), 'none') || ' ' || coalesce(cast(likes AS "
             "text), 'none') || ' ' || cast(must_have AS text) FROM crm_contact WHERE id = '003A'"),
      "er none none [1]");
}

// covers: GUARD-17
TEST_P(Person, ReasonsOfPausesAndEventsLoseTheAddressAlone) {
  sql("INSERT INTO store_metadata (name, value) VALUES ('mail_admin_pause', '1 root ana@example.com wrote')");
  for (const std::string kind : {"do-not-send", "account"})
    sql("INSERT INTO audit_event (occurred_at, actor_kind, actor, session, request_id, network, action, "
        "object_kind, object_id, outcome, rule, detail) VALUES (1, 'command', 'root', '', '', '', 'x', '" +
        kind + "', '1', 'done', '', 'of ana@example.com')");
  sql("INSERT INTO gift_request_idempotency (account_id, mode, key, body_hash, request_id, warnings, "
      "created_at) VALUES (1, 'email', 'k1', 'h', 1, '[\"twice to ana@example.com\"]', 1)");
  const std::string mark = find().mark;
  erase();
  EXPECT_EQ(scalar("SELECT value FROM store_metadata WHERE name = 'mail_admin_pause'"),
            "1 root " + mark + " wrote");
  EXPECT_EQ(scalar("SELECT detail FROM audit_event WHERE object_kind = 'do-not-send'"), "of " + mark);
  EXPECT_EQ(scalar("SELECT detail FROM audit_event WHERE object_kind = 'account'"), "of ana@example.com");
  EXPECT_EQ(scalar("SELECT warnings FROM gift_request_idempotency"), "[]") << "a repeated call reads JSON";
  EXPECT_FALSE(find().has_traces());
}

// covers: GUARD-18
TEST_P(Person, AnotherCrmGetsNoMark) {
  tests::InMemoryCrm other;
  const TransactionId id = send_to(kAna);
  deliver();
  report(id, Status::redeemed);
  const auto sync_other = [&] { return sync_step(*store_, other, rules_, {"one", 60'000}, now_); };
  while (sync_other().claimed > 0) continue;
  sql("INSERT INTO crm_outbox (transaction_id, mark_seq, next_attempt_at, attempts, lease_owner, "
      "lease_until, last_error) VALUES (" +
      std::to_string(id.value) + ", 1, 1, 0, '', 0, '')");
  EXPECT_THAT(find_person(*store_, other, kAna).busy, ElementsAre(id)) << "its owner gets the status first";
  sql("UPDATE crm_outbox SET is_rejected = 1");
  EXPECT_THAT(find_person(*store_, other, kAna).closed, ElementsAre(id)) << "it may be refused for good";
  sql("DELETE FROM crm_outbox");
  const std::size_t written = other.upserted_rows;
  const PersonData person = find_person(*store_, other, kAna);
  EXPECT_FALSE(person.has_crm);
  erase_person(*store_, other, person, {});
  report(id, Status::opened);
  while (sync_other().claimed > 0) continue;
  EXPECT_EQ(other.upserted_rows, written);
  EXPECT_EQ(scalar("SELECT cast(count(*) AS text) FROM crm_outbox"), "0") << "nothing waits for it";
}

// covers: GUARD-17
TEST_P(Person, TheAddressIsRefusedAfterItsErasureAndANewServerSecret) {
  const std::string first(32, 'a'), second(32, 'b'), third(32, 'c');
  std::string sealed = store::new_erased_address_key(first);
  const std::string key = store::open_erased_address_key(first, sealed).value();
  store_->do_not_send.set_erased_address_key(key);
  SendingPolicy daemon(store_->do_not_send, {}, [this] { return now_; });
  opt_out();
  const std::vector<std::string> emails{"ANA@example.com", "bea@example.com"};
  ASSERT_TRUE(daemon.check(emails)[0]);
  erase();
  ASSERT_THAT(places_of(kAna), IsEmpty());
  const auto seal_again = [&](const std::string& from, const std::string& to) {
    sealed = seal_text(to, store::kErasedAddressLabel,
                       open_sealed_text(from, store::kErasedAddressLabel, sealed).value());
  };
  seal_again(first, second);
  seal_again(second, third);
  EXPECT_FALSE(store::open_erased_address_key(first, sealed));
  EXPECT_FALSE(store::open_erased_address_key(second, sealed));
  EXPECT_EQ(store::open_erased_address_key(third, sealed), key) << "the key itself never changes";

  store::Store restarted(address());
  restarted.do_not_send.set_erased_address_key(store::open_erased_address_key(third, sealed).value());
  SendingPolicy policy(restarted.do_not_send, {}, [this] { return now_; });
  const auto refused = policy.check(emails);
  ASSERT_TRUE(refused[0]);
  EXPECT_EQ(refused[0]->code, "do_not_send");
  EXPECT_EQ(refused[0]->message, "The recipient asked to get no more gifts.");
  EXPECT_FALSE(refused[1]);
  EXPECT_TRUE(policy.check_mail(kAna)) << "at the time of the mail, too";
  EXPECT_TRUE(refused_recipients(restarted.do_not_send, {}, emails, now_)[0]);
  now_ = now_ + kSecondMillis;
  EXPECT_TRUE(daemon.check(emails)[0]) << "in a daemon that runs";
}

// covers: GUARD-17
TEST_P(Person, AnEntryOfAnErasedPersonIsRemovedByItsAddress) {
  opt_out();
  erase();
  const std::string email = kAna;
  const auto found = find_listed(store_->do_not_send, std::span(&email, 1), now_);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_TRUE(store::is_erased_address(found.at(0).pattern));
  EXPECT_TRUE(store_->do_not_send.remove(found.at(0).pattern, found.at(0).reason, {}));
  EXPECT_THAT(find_listed(store_->do_not_send, std::span(&email, 1), now_), IsEmpty());
}

// covers: GUARD-17
TEST_P(Person, AnAddressWithoutAnEntryGetsNone) {
  redeemed_gift(kAna);
  EXPECT_EQ(erase().entries, 0);
  EXPECT_EQ(scalar("SELECT cast(count(*) AS text) FROM do_not_send"), "0");
}

// covers: GUARD-16
TEST(PersonAddress, IsNamedAsAWordOfItsOwn) {
  for (const char* text : {"ana@example.com",
                           "<Ana@EXAMPLE.com>",
                           "to=ana%40example.com&x",
                           "mail ana@example.com.",
                           "email=ana@example.com",
                           "\"ana@example.com\"",
                           "%3Cana@example.com%3E",
                           "to\\nana@example.com\\n",
                           "to\\u003Cana@example.com\\u003e",
                           "\u201Cana@example.com\u201D",
                           "an\u00A0ana@example.com\u00A0und",
                           "-ana@example.com",
                           "gifts: _ana@example.com_",
                           "...ana@example.com-",
                           "ana@example.com--Bea",
                           "to 'ana@example.com'",
                           "('bea@example.com','ana@example.com')",
                           "?to=ana@example.com",
                           "a|ana@example.com",
                           "x\\u00abana@example.com",
                           "%E2%80%9Cana@example.com",
                           "\u2013ana@example.com",
                           "\u8BF7\u8054\u7CFBana@example.com"})
    EXPECT_TRUE(store::names_address(text, kAna)) << text;
  for (const char* text : {"joana@example.com",
                           "x.ana@example.com",
                           "ana@example.com.au",
                           "ana@example.community",
                           "ana@mail.example.com",
                           "ana at example.com",
                           "",
                           "mary-ana@example.com",
                           "mary_ana@example.com",
                           "mary+ana@example.com",
                           "ana@example.com-x.org",
                           "u003cana@example.com",
                           "%zzana@example.com",
                           "o'ana@example.com",
                           "x%2Bana@example.com",
                           "x%27ana%40example.com",
                           "x\\u002bana@example.com",
                           "x%2D%2Eana@example.com",
                           "ren\u00E9.ana@example.com",
                           "jos\u00E9-ana@example.com",
                           "ren\\u00e9.ana@example.com",
                           "ren%C3%A9.ana@example.com"})
    EXPECT_FALSE(store::names_address(text, kAna)) << text;
  EXPECT_TRUE(store::names_address("to=ana%2Bnews%40example.com", "ana+news@example.com"));
  EXPECT_FALSE(store::names_address("to=ana%2Bnews%40example.com", "news@example.com"));
}

}  // namespace
}  // namespace giftsync::sync
