// Request records in the managed CRM, as its own automation inserts them with plain SQL and as giftsync reads
// and writes them; and their state in the store.
#include "crm/sql/columns.h"
#include "schema/store/store.h"
#include "tests/crm/crm_conformance.h"

namespace giftsync::crm::managed {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;
using Field = RequestRecordField;
using Kind = RowResult::Kind;

class RequestRecordRows : public CrmConformance {
 protected:
  std::vector<std::string> changed_ids(Crm& port) {
    std::set<std::string> ids;
    for (const RequestRecordEvent& event : port.request_records()->events(1000)) ids.insert(event.record_id);
    return {ids.begin(), ids.end()};
  }
  void ack_all(Crm& port) {
    std::vector<std::int64_t> event_ids;
    for (const RequestRecordEvent& event : port.request_records()->events(1000))
      event_ids.push_back(event.id);
    port.request_records()->acknowledge(event_ids);
  }
  RequestRecord read(Crm& port, const std::string& id) {
    const auto found = port.request_records()->find_one(id);
    return found.value_or(RequestRecord());
  }
};

// REQ-1, REQ-2
TEST_P(RequestRecordRows, TheTableHasEveryRequestField) {
  sql::Database database(address());
  const auto columns = database.read(
      [&](soci::session& session) { return crm::sql_crm::columns_of(session, "crm_request_record"); });
  EXPECT_EQ(columns.size(), kRequestRecordFieldCount + 3) << "beside them id, claimed and creation_key";
  for (const FieldDescriptor& field : kRequestRecordFields) {
    const crm::sql_crm::Column* column = crm::sql_crm::find_column(columns, field.column);
    ASSERT_NE(column, nullptr) << field.column;
    const auto expected = field.type == FieldType::checkbox    ? crm::sql_crm::ColumnType::checkbox
                          : field.type == FieldType::date_time ? crm::sql_crm::ColumnType::date_time
                                                               : crm::sql_crm::ColumnType::text;
    EXPECT_EQ(column->type, expected) << field.column;
  }
}

TEST_P(RequestRecordRows, ApiNamesAreThoseOfThePackage) {
  EXPECT_EQ(request_record_api_name(Field::gift_id, "giftsync"), "giftsync__Gift_Id__c");
  EXPECT_EQ(request_record_api_name(Field::send_type, "giftsync"), "Send_Type__c");
  EXPECT_EQ(request_record_api_name(Field::error_log, "giftsync"), "giftsync__giftsync_Error_Log__c");
  EXPECT_EQ(request_record_api_name(Field::item_link, "giftsync"), "giftsync__Item_in_giftsync__c");
  EXPECT_EQ(request_record_api_name(Field::include_shipping, "giftsync"),
            "giftsync__Include_giftsync_Shipping__c");
  EXPECT_EQ(request_record_api_name(Field::number, "giftsync"), "Name");
}

// REQ-3
TEST_P(RequestRecordRows, APlainSqlInsertGetsIdNumberDatesAndStatus) {
  const auto port = crm();
  sql("INSERT INTO crm_request_record (gift_id, message, createdbyid) VALUES ('7', 'Hello', '005A')");
  sql("INSERT INTO crm_request_record (id, gift_id, auto_approved, request_status, lastmodifiedbyid) VALUES "
      "('mine', '7', "
      "true, 'Approved', '005B')");
  const auto rows = port->request_records()->page("", std::nullopt, 10);
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].text(Field::number), "R-000001");
  EXPECT_EQ(rows[1].text(Field::number), "R-000002");
  EXPECT_EQ(rows[0].id.size(), 18u);
  EXPECT_EQ(rows[0].text(Field::status), "Pending");
  EXPECT_EQ(rows[0].text(Field::last_modified_by), "005A");
  EXPECT_EQ(rows[0].checkbox(Field::auto_approved), std::nullopt);
  EXPECT_TRUE(std::holds_alternative<UtcMillis>(rows[0].get(Field::last_modified_date)));
  EXPECT_EQ(rows[1].text(Field::status), "Approved");
  EXPECT_EQ(rows[1].checkbox(Field::auto_approved), true);
  EXPECT_THAT(changed_ids(*port), SizeIs(2));
  EXPECT_THAT(port->request_records()->page("R-000001", std::nullopt, 10), SizeIs(1));
  EXPECT_THAT(port->request_records()->page("", RequestRecordStatus::pending, 10), SizeIs(1));
}

TEST_P(RequestRecordRows, ARequestNumberIsNeverReused) {
  const auto port = crm();
  sql("INSERT INTO crm_request_record (id) VALUES ('a')");
  sql("DELETE FROM crm_request_record");
  sql("INSERT INTO crm_request_record (id) VALUES ('b')");
  EXPECT_EQ(read(*port, "b").text(Field::number), "R-000002");
}

// REQ-30
TEST_P(RequestRecordRows, EveryChangeIsQueuedUntilAcked) {
  const auto port = crm();
  sql("INSERT INTO crm_request_record (id) VALUES ('a')");
  sql("INSERT INTO crm_request_record (id) VALUES ('b')");
  EXPECT_THAT(changed_ids(*port), ElementsAre("a", "b"));
  ack_all(*port);
  EXPECT_THAT(changed_ids(*port), IsEmpty());
  sql("UPDATE crm_request_record SET message = 'x' WHERE id = 'a'");
  EXPECT_THAT(changed_ids(*port), ElementsAre("a"));
  ack_all(*port);
  sql("DELETE FROM crm_request_record WHERE id = 'b'");
  EXPECT_THAT(changed_ids(*port), ElementsAre("b"));
  ack_all(*port);
  sql("UPDATE crm_request_record SET id = 'c' WHERE id = 'a'");
  EXPECT_THAT(changed_ids(*port), ElementsAre("a", "c"));
  ack_all(*port);
  port->request_records()->enqueue_open();
  EXPECT_THAT(changed_ids(*port), ElementsAre("c"));
}

TEST_P(RequestRecordRows, LastModifiedDateIsUpdatedByEverySqlUpdate) {
  const auto port = crm();
  sql("INSERT INTO crm_request_record (id, lastmodifieddate) VALUES ('a', '2020-01-01T00:00:00.000Z')");
  const auto before = read(*port, "a").get(Field::last_modified_date);
  EXPECT_EQ(std::get<UtcMillis>(before).value, 1577836800000);
  sql("UPDATE crm_request_record SET message = 'x'");
  EXPECT_GT(std::get<UtcMillis>(read(*port, "a").get(Field::last_modified_date)).value, 1577836800000);
}

// REQ-16
TEST_P(RequestRecordRows, AnEditAfterApprovalResetsTheApproval) {
  const auto port = crm();
  const auto status_after = [&](const std::string& edit) {
    sql("DELETE FROM crm_request_record");
    sql("INSERT INTO crm_request_record (id, request_status) VALUES ('a', 'Approved')");
    sql("UPDATE crm_request_record SET " + edit);
    return read(*port, "a").text(Field::status);
  };
  for (const Field field : approval_bound_fields()) {
    const FieldDescriptor& described = descriptor_of(field);
    const std::string value = described.type == FieldType::checkbox ? "true" : "'x'";
    EXPECT_EQ(status_after(std::string(described.column) + " = " + value), "Pending") << described.column;
  }
  EXPECT_EQ(status_after("account = 'x'"), "Approved");
  EXPECT_EQ(status_after("request_status = 'Rejected', message = 'x'"), "Rejected");
  EXPECT_EQ(status_after("claimed = true"), "Approved");
  EXPECT_EQ(status_after("claimed = true, message = 'x'"), "Approved") << "being sent: it is too late";
}

TEST_P(RequestRecordRows, AnUpdateAppliesOnlyWhileTheRowIsUnchanged) {
  const auto port = crm();
  sql("INSERT INTO crm_request_record (id, message, request_status, sender) VALUES ('a', 'Hello ''\"\\', "
      "'Approved', '005A')");
  const RequestRecord expected = read(*port, "a");
  RequestRecordUpdate claim{expected};
  claim.claimed = true;
  const auto write = [&](const RequestRecordUpdate& one) {
    return port->request_records()->update(std::span(&one, 1)).front().kind;
  };
  for (const char* edit : {"message = 'x'", "request_status = 'Rejected'", "sender = NULL",
                           "include_shipping = true", "auto_approved = false", "account = '001'"}) {
    sql(std::string("UPDATE crm_request_record SET ") + edit);
    EXPECT_EQ(write(claim), Kind::unchanged) << edit;
    sql("DELETE FROM crm_request_record");
    EXPECT_EQ(write(claim), Kind::not_found);
    sql("INSERT INTO crm_request_record (id, message, request_status, sender) VALUES ('a', 'Hello ''\"\\', "
        "'Approved', "
        "'005A')");
  }
  EXPECT_EQ(write(claim), Kind::updated);
  EXPECT_TRUE(read(*port, "a").claimed);
  EXPECT_EQ(write(claim), Kind::unchanged) << "one claim";
  RequestRecordUpdate sent{read(*port, "a")};
  sent.status = RequestRecordStatus::sent;
  sent.error_log = "Oh ☕";
  sent.auto_approved = true;
  sent.item_link = "https://x/7";
  sent.claimed = false;
  EXPECT_EQ(write(sent), Kind::updated);
  const RequestRecord now = read(*port, "a");
  EXPECT_EQ(now.text(Field::status), "Sent");
  EXPECT_EQ(now.text(Field::error_log), "Oh ☕");
  EXPECT_EQ(now.text(Field::item_link), "https://x/7");
  EXPECT_FALSE(now.claimed);
  RequestRecordUpdate cleared{now};
  cleared.error_log = "";
  EXPECT_EQ(write(cleared), Kind::updated);
  EXPECT_EQ(scalar("SELECT error_log FROM crm_request_record"), "null");
  EXPECT_EQ(scalar("SELECT item_link FROM crm_request_record"), "https://x/7") << "what is absent is left";
  RequestRecordUpdate unlinked{read(*port, "a")};
  unlinked.item_link = "";
  EXPECT_EQ(write(unlinked), Kind::updated);
  EXPECT_EQ(scalar("SELECT item_link FROM crm_request_record"), "null");
}

TEST_P(RequestRecordRows, ARowRejectedByATriggerDoesNotAffectTheOthers) {
  const auto port = crm();
  for (const char* id : {"a", "b", "c", "d", "e"})
    sql(std::string("INSERT INTO crm_request_record (id, message) VALUES ('") + id + "', 'Hello')");
  if (dialect() == sql::Dialect::sqlite) {
    sql("CREATE TRIGGER not_c BEFORE UPDATE ON crm_request_record WHEN old.id = 'c' BEGIN SELECT "
        "RAISE(ABORT, 'not on Sundays'); END");
  } else {
    sql("CREATE FUNCTION not_c() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF OLD.id = 'c' THEN RAISE "
        "EXCEPTION 'not on Sundays'; END IF; RETURN NEW; END $$");
    sql("CREATE TRIGGER not_c BEFORE UPDATE ON crm_request_record FOR EACH ROW EXECUTE FUNCTION not_c()");
  }
  std::vector<RequestRecordUpdate> writes;
  for (const char* id : {"a", "b", "c", "d", "e"}) {
    writes.push_back({read(*port, id)});
    writes.back().status = RequestRecordStatus::rejected;
  }
  const auto results = port->request_records()->update(writes);
  for (std::size_t i = 0; i < results.size(); ++i)
    EXPECT_EQ(results[i].kind, i == 2 ? Kind::rejected : Kind::updated) << i;
  EXPECT_THAT(results[2].reason, testing::HasSubstr("not on Sundays"));
  EXPECT_EQ(read(*port, "e").text(Field::status), "Rejected");
  EXPECT_EQ(read(*port, "c").text(Field::status), "Pending");
}

TEST_P(RequestRecordRows, CreatedRequestRecordsAreReturnedWithTheirNumbers) {
  const auto port = crm();
  RequestRecord one;
  one.set(Field::gift_id, std::string("7"));
  one.set(Field::message, std::string("Line 1\nLine 2 ☕"));
  one.set(Field::auto_approved, false);
  const std::vector<NewRequestRecord> both{{"key 1", one}, {"key 2", one}};
  const auto made = port->request_records()->create(both);
  ASSERT_THAT(made, SizeIs(2));
  EXPECT_EQ(made[0].text(Field::number), "R-000001");
  EXPECT_EQ(made[1].text(Field::number), "R-000002");
  EXPECT_EQ(made[0].text(Field::message), "Line 1\nLine 2 ☕");
  EXPECT_EQ(made[0].text(Field::status), "Pending");
  EXPECT_EQ(made[0].checkbox(Field::auto_approved), false);
  EXPECT_THAT(changed_ids(*port), SizeIs(2));
  const auto again = port->request_records()->create(both);
  ASSERT_THAT(again, SizeIs(2));
  EXPECT_EQ(again[0].id, made[0].id);
  EXPECT_EQ(again[1].id, made[1].id);
  EXPECT_THAT(changed_ids(*port), SizeIs(2)) << "the second call has made nothing";
}

TEST_P(RequestRecordRows, ValuesRoundTripThroughOneText) {
  RequestRecord one;
  one.set(Field::message, std::string("t3:abc-y ☕"));
  one.set(Field::auto_approved, false);
  one.set(Field::created_date, UtcMillis{42});
  one.set(Field::sender, std::string());
  const Field fields[] = {Field::message, Field::auto_approved, Field::account, Field::created_date,
                          Field::sender};
  RequestRecord again;
  parse_values(format_values(one, fields), fields, again);
  for (const Field field : fields)
    EXPECT_TRUE(one.get(field) == again.get(field)) << descriptor_of(field).label;
  again.set(Field::account, std::string());
  EXPECT_NE(format_values(one, fields), format_values(again, fields)) << "absent and empty differ";
}

// REQ-58
TEST_P(RequestRecordRows, WithoutACampaignTheContentIsThatOfEarlierVersions) {
  RequestRecord record;
  record.set(Field::message, std::string("Hi"));
  std::vector<Field> before(approval_bound_fields().begin(), approval_bound_fields().end());
  ASSERT_EQ(before.back(), Field::utm_campaign_id);
  before.pop_back();
  EXPECT_EQ(format_values(record, approval_bound_fields()), format_values(record, before));
  record.set(Field::utm_campaign_id, std::string("autumn"));
  EXPECT_NE(format_values(record, approval_bound_fields()), format_values(record, before));
  RequestRecord again;
  parse_values(format_values(record, approval_bound_fields()), approval_bound_fields(), again);
  EXPECT_EQ(again.text(Field::utm_campaign_id), "autumn");
}

// REQ-58
TEST_P(RequestRecordRows, AnOlderTableGetsTheCampaignAndKeepsItsRecords) {
  const auto port = crm();
  if (address().dialect == sql::Dialect::sqlite) sql("DROP TRIGGER crm_request_approval_reset");
  sql("ALTER TABLE crm_request_record DROP COLUMN utm_campaign_id");
  migrate_managed_crm(address());
  migrate_managed_crm(address());
  sql("INSERT INTO crm_request_record (id, request_status, utm_campaign_id) VALUES ('a', 'Approved', "
      "'autumn')");
  EXPECT_EQ(read(*port, "a").text(Field::utm_campaign_id), "autumn");
  sql("UPDATE crm_request_record SET utm_campaign_id = 'spring'");
  EXPECT_EQ(read(*port, "a").text(Field::status), "Pending");
}

/// The store, in the same database.
class RequestRecordStoreTest : public CrmConformance {
 protected:
  void SetUp() override {
    CrmConformance::SetUp();
    if (IsSkipped()) return;
    store::migrate_store(address());
    store_ = std::make_unique<store::Store>(address());
  }
  void TearDown() override {
    store_.reset();
    CrmConformance::TearDown();
  }
  static store::RequestRecordEntry request(const std::string& key) {
    store::RequestRecordEntry known;
    known.record_id = key;
    known.number = "R-1";
    known.state = store::RequestRecordState::claimed;
    known.crm_status = RequestRecordStatus::approved;
    known.approval = store::Approval::person;
    known.approved_by = "kim";
    known.approved_content = "content ☕";
    known.gift_request_text = "order";
    known.next_attempt_at = UtcMillis{50};
    return known;
  }
  store::RequestRecordEntry read(const std::string& key) {
    return store_->request_records.find(std::span(&key, 1)).at(0);
  }
  bool save(const store::RequestRecordEntry& next, std::vector<store::RequestRecordTransition> moves = {}) {
    const store::RequestRecordEntryUpdate change{next, std::move(moves)};
    return !store_->request_records.save(std::span(&change, 1)).empty();
  }
  store::CreateOutcome create(const std::string& key, std::int64_t version) {
    store::NewGiftRequest order;
    order.request.account = {1};
    order.request.gift = {7};
    order.request.created_at = {100};
    order.recipients.push_back({"a@example.com", "", "", "Hello"});
    order.request_record = store::RequestRecordLink{key, version, "003A", "", "001A", "006A", "005A"};
    return store_->gifts.create(std::span(&order, 1)).front();
  }
  std::unique_ptr<store::Store> store_;
};

TEST_P(RequestRecordStoreTest, SavesWithOptimisticConcurrency) {
  EXPECT_TRUE(save(request("a"), {{{1}, "kim", "pending", "approved", "fine"}}));
  EXPECT_FALSE(save(request("a"))) << "it is stored already";
  store::RequestRecordEntry known = read("a");
  EXPECT_EQ(known.version, 1);
  store::RequestRecordEntry expected = request("a");
  expected.version = 1;
  EXPECT_EQ(known, expected);
  known.error = "x";
  EXPECT_TRUE(save(known));
  EXPECT_FALSE(save(known));
  EXPECT_EQ(read("a").version, 2);
  EXPECT_THAT(store_->request_records.find_transitions("a"),
              ElementsAre(store::RequestRecordTransition{{1}, "kim", "pending", "approved", "fine"}));
  EXPECT_THAT(store_->request_records.find_due({49}, 10), IsEmpty());
  EXPECT_THAT(store_->request_records.find_due({50}, 10), ElementsAre("a"));
}

TEST_P(RequestRecordStoreTest, ResetsOnlyWaitsBeyondTheLimit) {
  EXPECT_TRUE(save(request("a")));
  store::RequestRecordEntry far = request("b");
  far.next_attempt_at = UtcMillis{51};
  EXPECT_TRUE(save(far));
  EXPECT_EQ(store_->request_records.reset_scheduled_after({51}, {1}), 0);
  EXPECT_EQ(store_->request_records.reset_scheduled_after({50}, {1}), 1);
  EXPECT_THAT(store_->request_records.find_due({1}, 10), ElementsAre("b"));
  EXPECT_TRUE(save(read("b"))) << "its owner continues";
}

// REQ-24, REQ-25
TEST_P(RequestRecordStoreTest, ARequestRecordIsSentOnceAndOnlyWhileClaimed) {
  EXPECT_EQ(create("a", 1).kind, store::CreateOutcome::Kind::failed) << "it is not claimed";
  EXPECT_TRUE(save(request("a")));
  const store::CreateOutcome early = create("a", 0);
  EXPECT_EQ(early.kind, store::CreateOutcome::Kind::failed);
  EXPECT_TRUE(early.transient);
  const store::CreateOutcome first = create("a", 1);
  ASSERT_EQ(first.kind, store::CreateOutcome::Kind::created);
  const store::CreateOutcome second = create("a", 1);
  EXPECT_EQ(second.kind, store::CreateOutcome::Kind::replayed);
  EXPECT_EQ(second.request, first.request);
  store::RequestRecordEntry known = read("a");
  known.state = store::RequestRecordState::sent;
  EXPECT_TRUE(save(known));
  EXPECT_EQ(create("a", 2).kind, store::CreateOutcome::Kind::replayed) << "for ever";
  const auto found = store_->request_records.find_gifts_by_request(std::span(&first.request, 1));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found.front().link.opportunity_id, "006A");
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM gift_request"), "1");
}

TEST_P(RequestRecordStoreTest, TheRequesterIsKeptEvenIfADaemonWasFaster) {
  store_->request_records.record_created({"a", "R-1", "ana", "key a"}, {1});
  EXPECT_EQ(read("a").requested_by, "ana");
  EXPECT_TRUE(save(request("b")));
  store_->request_records.record_created({"b", "R-2", "kim", "key b"}, {1});
  EXPECT_EQ(read("b").requested_by, "kim");
  EXPECT_EQ(read("b").state, store::RequestRecordState::claimed);
}

// REQ-42
TEST_P(RequestRecordStoreTest, OneIdempotencyKeyHasOneCreationKey) {
  auto& records = store_->request_records;
  const AccountId ana{1};
  const store::CreationReservation first = records.reserve_creation_key(ana, {"k", "hash"}, "fresh 1", {1});
  EXPECT_EQ(first.creation_key, "fresh 1");
  EXPECT_EQ(first.record_id, "") << "it does not stand yet";
  const store::CreationReservation again = records.reserve_creation_key(ana, {"k", "hash"}, "fresh 2", {2});
  EXPECT_EQ(again.creation_key, "fresh 1");
  EXPECT_FALSE(again.is_mismatch);
  EXPECT_TRUE(records.reserve_creation_key(ana, {"k", "other hash"}, "fresh 3", {2}).is_mismatch);
  EXPECT_EQ(records.reserve_creation_key({2}, {"k", "hash"}, "fresh 4", {2}).creation_key, "fresh 4")
      << "another's key";
  records.record_created({"a1R", "R-000007", "ana", "fresh 1"}, {3});
  const store::CreationReservation made = records.reserve_creation_key(ana, {"k", "hash"}, "fresh 5", {4});
  EXPECT_EQ(made.record_id, "a1R");
  EXPECT_EQ(made.number, "R-000007");
  EXPECT_EQ(records.find_by_number_or_id("R-000007").value().record_id, "a1R");
  EXPECT_EQ(records.find_by_number_or_id("a1R").value().number, "R-000007");
  EXPECT_EQ(records.find_by_number_or_id("R-8"), std::nullopt);
  EXPECT_EQ(records.prune_idempotency({2}), 1);
  EXPECT_EQ(records.reserve_creation_key(ana, {"k", "hash"}, "fresh 6", {9}).creation_key, "fresh 6")
      << "forgotten";
}

INSTANTIATE_TEST_SUITE_P(BackEnds, RequestRecordRows, managed_crms(), name_of_crm);
INSTANTIATE_TEST_SUITE_P(BackEnds, RequestRecordStoreTest, managed_crms(), name_of_crm);

}  // namespace
}  // namespace giftsync::crm::managed
