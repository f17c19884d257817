// Request records in the managed CRM, as its own automation makes them with plain SQL and as giftsync reads
// and writes them; and what the store keeps of them.
#include "schema/sql_crm/columns.h"
#include "schema/store/store.h"
#include "tests/schema/crm_conformance.h"

namespace giftsync::schema {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;
using F = RequestField;
using Kind = RowResult::Kind;

class RequestRows : public CrmConformance {
 protected:
  std::vector<std::string> noted(Crm& port) {
    std::set<std::string> ids;
    for (const RequestNote& note : port.request_notes(1000)) ids.insert(note.request_id);
    return {ids.begin(), ids.end()};
  }
  void settle_all(Crm& port) {
    std::vector<std::int64_t> notes;
    for (const RequestNote& note : port.request_notes(1000)) notes.push_back(note.id);
    port.settle_request_notes(notes);
  }
  RequestRecord read(Crm& port, const std::string& id) {
    const auto found = port.find_request(id);
    return found.value_or(RequestRecord());
  }
};

TEST_P(RequestRows, the_table_has_every_field_of_the_field_table) {
  sql::Database database(address());
  const auto columns = database.read(
      [&](soci::session& session) { return sql_crm::columns_of(session, dialect(), "crm_request_record"); });
  EXPECT_EQ(columns.size(), kRequestFieldCount + 3) << "beside them id, claimed and creation_key";
  for (const RecordField& field : kRequestFields) {
    const sql_crm::Column* column = sql_crm::find_column(columns, field.column);
    ASSERT_NE(column, nullptr) << field.column;
    const auto expected = field.type == FieldType::checkbox    ? sql_crm::ColumnType::checkbox
                          : field.type == FieldType::date_time ? sql_crm::ColumnType::date_time
                                                               : sql_crm::ColumnType::text;
    EXPECT_EQ(column->type, expected) << field.column;
  }
}

TEST_P(RequestRows, api_names_are_those_of_the_package) {
  EXPECT_EQ(request_api_name(F::gift_id, "giftsync"), "giftsync__Gift_Id__c");
  EXPECT_EQ(request_api_name(F::send_type, "giftsync"), "Send_Type__c");
  EXPECT_EQ(request_api_name(F::error_log, "giftsync"), "giftsync__giftsync_Error_Log__c");
  EXPECT_EQ(request_api_name(F::item_link, "giftsync"), "giftsync__Item_in_giftsync__c");
  EXPECT_EQ(request_api_name(F::include_shipping, "giftsync"), "giftsync__Include_giftsync_Shipping__c");
  EXPECT_EQ(request_api_name(F::number, "giftsync"), "Name");
}

TEST_P(RequestRows, a_plain_insert_gets_id_number_dates_and_status) {
  const auto port = crm();
  sql("INSERT INTO crm_request_record (gift_id, message, createdbyid) VALUES ('7', 'Hello', '005A')");
  sql("INSERT INTO crm_request_record (id, gift_id, auto_approved, request_status, lastmodifiedbyid) VALUES "
      "('mine', '7', "
      "true, 'Approved', '005B')");
  const auto rows = port->requests("", std::nullopt, 10);
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].text(F::number), "R-000001");
  EXPECT_EQ(rows[1].text(F::number), "R-000002");
  EXPECT_EQ(rows[0].id.size(), 18u);
  EXPECT_EQ(rows[0].text(F::status), "Pending");
  EXPECT_EQ(rows[0].text(F::last_modified_by), "005A");
  EXPECT_EQ(rows[0].checked(F::auto_approved), std::nullopt);
  EXPECT_TRUE(std::holds_alternative<UtcMillis>(rows[0].get(F::last_modified_date)));
  EXPECT_EQ(rows[1].text(F::status), "Approved");
  EXPECT_EQ(rows[1].checked(F::auto_approved), true);
  EXPECT_THAT(noted(*port), SizeIs(2));
  EXPECT_THAT(port->requests("R-000001", std::nullopt, 10), SizeIs(1));
  EXPECT_THAT(port->requests("", RequestStatus::pending, 10), SizeIs(1));
}

TEST_P(RequestRows, a_number_is_never_given_out_again) {
  const auto port = crm();
  sql("INSERT INTO crm_request_record (id) VALUES ('a')");
  sql("DELETE FROM crm_request_record");
  sql("INSERT INTO crm_request_record (id) VALUES ('b')");
  EXPECT_EQ(read(*port, "b").text(F::number), "R-000002");
}

TEST_P(RequestRows, every_change_is_noted_until_it_is_settled) {
  const auto port = crm();
  sql("INSERT INTO crm_request_record (id) VALUES ('a')");
  sql("INSERT INTO crm_request_record (id) VALUES ('b')");
  EXPECT_THAT(noted(*port), ElementsAre("a", "b"));
  settle_all(*port);
  EXPECT_THAT(noted(*port), IsEmpty());
  sql("UPDATE crm_request_record SET message = 'x' WHERE id = 'a'");
  EXPECT_THAT(noted(*port), ElementsAre("a"));
  settle_all(*port);
  sql("DELETE FROM crm_request_record WHERE id = 'b'");
  EXPECT_THAT(noted(*port), ElementsAre("b"));
  settle_all(*port);
  sql("UPDATE crm_request_record SET id = 'c' WHERE id = 'a'");
  EXPECT_THAT(noted(*port), ElementsAre("a", "c"));
  settle_all(*port);
  port->note_open_requests();
  EXPECT_THAT(noted(*port), ElementsAre("c"));
}

TEST_P(RequestRows, last_modified_date_moves_with_every_plain_edit) {
  const auto port = crm();
  sql("INSERT INTO crm_request_record (id, lastmodifieddate) VALUES ('a', '2020-01-01T00:00:00.000Z')");
  const auto before = read(*port, "a").get(F::last_modified_date);
  EXPECT_EQ(std::get<UtcMillis>(before).value, 1577836800000);
  sql("UPDATE crm_request_record SET message = 'x'");
  EXPECT_GT(std::get<UtcMillis>(read(*port, "a").get(F::last_modified_date)).value, 1577836800000);
}

TEST_P(RequestRows, an_approval_does_not_hold_for_what_is_edited_after_it) {
  const auto port = crm();
  const auto status_after = [&](const std::string& edit) {
    sql("DELETE FROM crm_request_record");
    sql("INSERT INTO crm_request_record (id, request_status) VALUES ('a', 'Approved')");
    sql("UPDATE crm_request_record SET " + edit);
    return read(*port, "a").text(F::status);
  };
  for (const F field : approved_fields()) {
    const RecordField& described = field_of(field);
    const std::string value = described.type == FieldType::checkbox ? "true" : "'x'";
    EXPECT_EQ(status_after(std::string(described.column) + " = " + value), "Pending") << described.column;
  }
  EXPECT_EQ(status_after("account = 'x'"), "Approved");
  EXPECT_EQ(status_after("request_status = 'Rejected', message = 'x'"), "Rejected");
  EXPECT_EQ(status_after("claimed = true"), "Approved");
  EXPECT_EQ(status_after("claimed = true, message = 'x'"), "Approved") << "being sent: it is too late";
}

TEST_P(RequestRows, a_write_is_made_only_while_the_row_is_as_it_was_read) {
  const auto port = crm();
  sql("INSERT INTO crm_request_record (id, message, request_status, sender) VALUES ('a', 'Hello ''\"\\', "
      "'Approved', '005A')");
  const RequestRecord as_read = read(*port, "a");
  RequestWrite claim{as_read};
  claim.claimed = true;
  const auto write = [&](const RequestWrite& one) {
    return port->write_requests(std::span(&one, 1)).front().kind;
  };
  for (const char* edit : {"message = 'x'", "request_status = 'Rejected'", "sender = NULL",
                           "include_shipping = true", "auto_approved = false", "account = '001'"}) {
    sql(std::string("UPDATE crm_request_record SET ") + edit);
    EXPECT_EQ(write(claim), Kind::unchanged) << edit;
    sql("DELETE FROM crm_request_record");
    EXPECT_EQ(write(claim), Kind::gone);
    sql("INSERT INTO crm_request_record (id, message, request_status, sender) VALUES ('a', 'Hello ''\"\\', "
        "'Approved', "
        "'005A')");
  }
  EXPECT_EQ(write(claim), Kind::updated);
  EXPECT_TRUE(read(*port, "a").claimed);
  EXPECT_EQ(write(claim), Kind::unchanged) << "one claim";
  RequestWrite sent{read(*port, "a")};
  sent.status = RequestStatus::sent;
  sent.error_log = "Oh ☕";
  sent.auto_approved = true;
  sent.item_link = "https://x/7";
  sent.claimed = false;
  EXPECT_EQ(write(sent), Kind::updated);
  const RequestRecord now = read(*port, "a");
  EXPECT_EQ(now.text(F::status), "Sent");
  EXPECT_EQ(now.text(F::error_log), "Oh ☕");
  EXPECT_EQ(now.text(F::item_link), "https://x/7");
  EXPECT_FALSE(now.claimed);
  RequestWrite cleared{now};
  cleared.error_log = "";
  EXPECT_EQ(write(cleared), Kind::updated);
  EXPECT_EQ(scalar("SELECT error_log FROM crm_request_record"), "null");
  EXPECT_EQ(scalar("SELECT item_link FROM crm_request_record"), "https://x/7") << "what is absent is left";
  RequestWrite unlinked{read(*port, "a")};
  unlinked.item_link = "";
  EXPECT_EQ(write(unlinked), Kind::updated);
  EXPECT_EQ(scalar("SELECT item_link FROM crm_request_record"), "null");
}

TEST_P(RequestRows, a_row_that_a_trigger_refuses_to_have_written_holds_up_no_other) {
  const auto port = crm();
  for (const char* id : {"a", "b", "c", "d", "e"})
    sql(std::string("INSERT INTO crm_request_record (id, message) VALUES ('") + id + "', 'Hello')");
  if (dialect() == Dialect::sqlite) {
    sql("CREATE TRIGGER not_c BEFORE UPDATE ON crm_request_record WHEN old.id = 'c' BEGIN SELECT "
        "RAISE(ABORT, 'not on Sundays'); END");
  } else {
    sql("CREATE FUNCTION not_c() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF OLD.id = 'c' THEN RAISE "
        "EXCEPTION 'not on Sundays'; END IF; RETURN NEW; END $$");
    sql("CREATE TRIGGER not_c BEFORE UPDATE ON crm_request_record FOR EACH ROW EXECUTE FUNCTION not_c()");
  }
  std::vector<RequestWrite> writes;
  for (const char* id : {"a", "b", "c", "d", "e"}) {
    writes.push_back({read(*port, id)});
    writes.back().status = RequestStatus::rejected;
  }
  const auto results = port->write_requests(writes);
  for (std::size_t i = 0; i < results.size(); ++i)
    EXPECT_EQ(results[i].kind, i == 2 ? Kind::rejected : Kind::updated) << i;
  EXPECT_THAT(results[2].reason, testing::HasSubstr("not on Sundays"));
  EXPECT_EQ(read(*port, "e").text(F::status), "Rejected");
  EXPECT_EQ(read(*port, "c").text(F::status), "Pending");
}

TEST_P(RequestRows, created_requests_come_back_with_their_numbers) {
  const auto port = crm();
  RequestRecord one;
  one.set(F::gift_id, std::string("7"));
  one.set(F::message, std::string("Line 1\nLine 2 ☕"));
  one.set(F::auto_approved, false);
  const std::vector<NewRequest> both{{"key 1", one}, {"key 2", one}};
  const auto made = port->create_requests(both);
  ASSERT_THAT(made, SizeIs(2));
  EXPECT_EQ(made[0].text(F::number), "R-000001");
  EXPECT_EQ(made[1].text(F::number), "R-000002");
  EXPECT_EQ(made[0].text(F::message), "Line 1\nLine 2 ☕");
  EXPECT_EQ(made[0].text(F::status), "Pending");
  EXPECT_EQ(made[0].checked(F::auto_approved), false);
  EXPECT_THAT(noted(*port), SizeIs(2));
  const auto again = port->create_requests(both);
  ASSERT_THAT(again, SizeIs(2));
  EXPECT_EQ(again[0].id, made[0].id);
  EXPECT_EQ(again[1].id, made[1].id);
  EXPECT_THAT(noted(*port), SizeIs(2)) << "the second call has made nothing";
}

TEST_P(RequestRows, values_survive_being_written_as_one_text) {
  RequestRecord one;
  one.set(F::message, std::string("t3:abc-y ☕"));
  one.set(F::auto_approved, false);
  one.set(F::created_date, UtcMillis{42});
  one.set(F::sender, std::string());
  const F fields[] = {F::message, F::auto_approved, F::account, F::created_date, F::sender};
  RequestRecord again;
  read_values(write_values(one, fields), fields, again);
  for (const F field : fields) EXPECT_TRUE(one.get(field) == again.get(field)) << field_of(field).label;
  again.set(F::account, std::string());
  EXPECT_NE(write_values(one, fields), write_values(again, fields)) << "absent and empty differ";
}

/// The book, in the same database.
class RequestBookTest : public CrmConformance {
 protected:
  void SetUp() override {
    CrmConformance::SetUp();
    if (IsSkipped()) return;
    migrate_store(address());
    store_ = std::make_unique<Store>(address());
  }
  void TearDown() override {
    store_.reset();
    CrmConformance::TearDown();
  }
  static KnownRequest request(const std::string& key) {
    KnownRequest known;
    known.key = key;
    known.number = "R-1";
    known.state = RequestState::claimed;
    known.shown = RequestStatus::approved;
    known.approval = Approval::person;
    known.approved_by = "kim";
    known.approved_content = "content ☕";
    known.order = "order";
    known.due_at = UtcMillis{50};
    return known;
  }
  KnownRequest read(const std::string& key) { return store_->requests.find(std::span(&key, 1)).at(0); }
  bool save(const KnownRequest& next, std::vector<RequestMove> moves = {}) {
    const RequestChange change{next, std::move(moves)};
    return !store_->requests.save(std::span(&change, 1)).empty();
  }
  CreateOutcome create(const std::string& key, std::int64_t version) {
    NewGiftRequest order;
    order.request.account = {1};
    order.request.gift = {7};
    order.request.created_at = {100};
    order.recipients.push_back({"a@example.com", "", "", "Hello"});
    order.origin = RequestOrigin{key, version, "003A", "", "001A", "006A", "005A"};
    return store_->gifts.create(std::span(&order, 1)).front();
  }
  std::unique_ptr<Store> store_;
};

TEST_P(RequestBookTest, keeps_what_is_saved_and_saves_nothing_over_a_newer_version) {
  EXPECT_TRUE(save(request("a"), {{{1}, "kim", "pending", "approved", "fine"}}));
  EXPECT_FALSE(save(request("a"))) << "it is in the book already";
  KnownRequest known = read("a");
  EXPECT_EQ(known.version, 1);
  KnownRequest expected = request("a");
  expected.version = 1;
  EXPECT_EQ(known, expected);
  known.error = "x";
  EXPECT_TRUE(save(known));
  EXPECT_FALSE(save(known));
  EXPECT_EQ(read("a").version, 2);
  EXPECT_THAT(store_->requests.moves("a"),
              ElementsAre(RequestMove{{1}, "kim", "pending", "approved", "fine"}));
  EXPECT_THAT(store_->requests.due({49}, 10), IsEmpty());
  EXPECT_THAT(store_->requests.due({50}, 10), ElementsAre("a"));
}

TEST_P(RequestBookTest, ends_waits_beyond_a_time_and_no_others) {
  EXPECT_TRUE(save(request("a")));
  KnownRequest far = request("b");
  far.due_at = UtcMillis{51};
  EXPECT_TRUE(save(far));
  EXPECT_EQ(store_->requests.end_waits_beyond({51}, {1}), 0);
  EXPECT_EQ(store_->requests.end_waits_beyond({50}, {1}), 1);
  EXPECT_THAT(store_->requests.due({1}, 10), ElementsAre("b"));
  EXPECT_TRUE(save(read("b"))) << "whoever has it in hand goes on";
}

TEST_P(RequestBookTest, a_request_is_sent_once_and_only_while_it_is_claimed) {
  EXPECT_EQ(create("a", 1).kind, CreateOutcome::Kind::failed) << "nobody has claimed it";
  EXPECT_TRUE(save(request("a")));
  const CreateOutcome early = create("a", 0);
  EXPECT_EQ(early.kind, CreateOutcome::Kind::failed);
  EXPECT_TRUE(early.transient);
  const CreateOutcome first = create("a", 1);
  ASSERT_EQ(first.kind, CreateOutcome::Kind::created);
  const CreateOutcome second = create("a", 1);
  EXPECT_EQ(second.kind, CreateOutcome::Kind::replayed);
  EXPECT_EQ(second.request, first.request);
  KnownRequest known = read("a");
  known.state = RequestState::sent;
  EXPECT_TRUE(save(known));
  EXPECT_EQ(create("a", 2).kind, CreateOutcome::Kind::replayed) << "for ever";
  const auto found = store_->requests.origins(std::span(&first.request, 1));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found.front().origin.opportunity_id, "006A");
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM gift_request"), "1");
}

TEST_P(RequestBookTest, who_asked_is_kept_whether_or_not_a_daemon_was_faster) {
  store_->requests.note_made({"a", "R-1", "ana", "key a"}, {1});
  EXPECT_EQ(read("a").asked_by, "ana");
  EXPECT_TRUE(save(request("b")));
  store_->requests.note_made({"b", "R-2", "kim", "key b"}, {1});
  EXPECT_EQ(read("b").asked_by, "kim");
  EXPECT_EQ(read("b").state, RequestState::claimed);
}

TEST_P(RequestBookTest, what_is_asked_for_under_one_key_is_made_under_one_key) {
  auto& book = store_->requests;
  const AccountId ana{1};
  const RequestMaking first = book.begin_making(ana, {"k", "hash"}, "fresh 1", {1});
  EXPECT_EQ(first.creation_key, "fresh 1");
  EXPECT_EQ(first.key, "") << "it does not stand yet";
  const RequestMaking again = book.begin_making(ana, {"k", "hash"}, "fresh 2", {2});
  EXPECT_EQ(again.creation_key, "fresh 1");
  EXPECT_FALSE(again.is_mismatch);
  EXPECT_TRUE(book.begin_making(ana, {"k", "other hash"}, "fresh 3", {2}).is_mismatch);
  EXPECT_EQ(book.begin_making({2}, {"k", "hash"}, "fresh 4", {2}).creation_key, "fresh 4") << "another's key";
  book.note_made({"a1R", "R-000007", "ana", "fresh 1"}, {3});
  const RequestMaking made = book.begin_making(ana, {"k", "hash"}, "fresh 5", {4});
  EXPECT_EQ(made.key, "a1R");
  EXPECT_EQ(made.number, "R-000007");
  EXPECT_EQ(book.named("R-000007").value().key, "a1R");
  EXPECT_EQ(book.named("a1R").value().number, "R-000007");
  EXPECT_EQ(book.named("R-8"), std::nullopt);
  EXPECT_EQ(book.prune_makings({2}), 1);
  EXPECT_EQ(book.begin_making(ana, {"k", "hash"}, "fresh 6", {9}).creation_key, "fresh 6") << "forgotten";
}

INSTANTIATE_TEST_SUITE_P(BackEnds, RequestRows, managed_crms(), name_of_crm);
INSTANTIATE_TEST_SUITE_P(BackEnds, RequestBookTest, managed_crms(), name_of_crm);

}  // namespace
}  // namespace giftsync::schema
