// The external CRM: tables as a replication creates them, over every back end.
#include "crm/sql/external/external_crm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/crm/sql/external/replicated_crm_fixture.h"

namespace giftsync::crm::external {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = RowResult::Kind;

class ExternalCrm : public ReplicatedCrmFixture {};

TEST_P(ExternalCrm, AReplicatedSchemaPassesAndOnlyLacksIndexes) {
  ExternalCrmReport report = check_external_crm(options());
  EXPECT_THAT(report.faults, IsEmpty());
  sql("CREATE INDEX by_email ON contact (lower(trim(email)))");  // what was asked for formerly
  ASSERT_THAT(report.slow_lookups, SizeIs(2));
  EXPECT_THAT(check_external_crm(options()).slow_lookups, SizeIs(2));
  for (const std::string& warning : report.slow_lookups) sql(warning.substr(warning.find("CREATE INDEX")));
  EXPECT_THAT(check_external_crm(options()).slow_lookups, IsEmpty());
  sql("ALTER TABLE contact RENAME TO people");
  sql("CREATE VIEW contact AS SELECT * FROM people");
  EXPECT_THAT(check_external_crm(options()).slow_lookups, IsEmpty()) << "the table's index serves its view";
}

// SYNC-43
TEST_P(ExternalCrm, AllMissingNamesAreReportedAtOnce) {
  sql("DROP TABLE account");
  sql("ALTER TABLE contact DROP COLUMN email");
  sql("ALTER TABLE ns__gift_record__c DROP COLUMN ns__opened_date_time__c");
  sql("ALTER TABLE ns__gift_record__c ADD COLUMN opened INTEGER");
  sql("DROP INDEX gift_transaction");
  ExternalCrmOptions given = options();
  given.names.columns["gift_record.Opened_Date_Time"] = "opened";
  given.match_fields.lead.order_by.field = "Score__c";
  given.names.columns["gift_record.RecipientTransactionId"] = "ns__recipienttransactionid__c";
  EXPECT_THAT(check_external_crm(given).faults,
              testing::UnorderedElementsAre(
                  AllOf(HasSubstr("crm.tables.account"), HasSubstr("no table account")),
                  AllOf(HasSubstr("crm.columns.contact.Email"), HasSubstr("no column email"),
                        HasSubstr("matching.contact.email_fields")),
                  AllOf(HasSubstr("crm.columns.lead.Score__c"), HasSubstr("matching.lead.order_by.field")),
                  AllOf(HasSubstr("crm.columns.gift_record.Opened_Date_Time"),
                        HasSubstr("opened is of type integer")),
                  AllOf(HasSubstr("crm.columns.gift_record.RecipientTransactionId"),
                        HasSubstr("CREATE UNIQUE INDEX"))));
  given.names.columns["contact.Email"] = "email\"; DROP TABLE lead; --";
  EXPECT_THROW(check_external_crm(given), DependencyError);
}

// SYNC-46
TEST_P(ExternalCrm, NumericIdsAreRejectedWithTheExpectedType) {
  sql("CREATE TABLE people (nr INTEGER, name TEXT, email TEXT, phone TEXT, mobile TEXT, accountid TEXT, "
      "lastmodifieddate TIMESTAMP)");
  ExternalCrmOptions given = options();
  given.tasks = false;
  given.names.tables = {{"contact", "people"}};
  given.names.columns["contact.Id"] = "nr";
  given.names.columns["gift_record.Id"] = "id";
  EXPECT_THAT(
      check_external_crm(given).faults,
      ElementsAre(AllOf(HasSubstr("crm.columns.contact.Id"), HasSubstr("people.nr is of type integer"),
                        HasSubstr("must hold text"), HasSubstr("a view that casts"))))
      << "without tasks nothing refers to a gift record's id";
  sql("CREATE VIEW person AS SELECT cast(nr as text) AS nr, name, email, phone, mobile, accountid, "
      "lastmodifieddate FROM people");
  given.names.tables = {{"contact", "person"}};
  EXPECT_THAT(check_external_crm(given).faults, IsEmpty());
}

TEST_P(ExternalCrm, OnlyOptionalTablesMayBeDisabled) {
  sql("DROP TABLE account");
  sql("DROP TABLE ns__gift_record__c");
  EXPECT_THAT(check_external_crm(options()).faults,
              testing::UnorderedElementsAre(
                  AllOf(HasSubstr("crm.tables.account"), HasSubstr("or write \"-\" if there is none")),
                  AllOf(HasSubstr("crm.tables.gift_record"), Not(HasSubstr("or write")))));
}

// SYNC-42
TEST_P(ExternalCrm, OptionalTablesAndColumnsMayBeDisabled) {
  sql("DROP TABLE \"user\"");
  sql("DROP TABLE lead");
  sql("ALTER TABLE ns__gift_record__c DROP COLUMN ns__deal_stage__c");
  ExternalCrmOptions given = options();
  given.names.tables = {{"user", "-"}, {"lead", "-"}};
  given.names.columns["gift_record.Deal_Stage"] = "-";
  EXPECT_THAT(check_external_crm(given).faults, IsEmpty());
  const auto crm = make_external_crm(given);
  EXPECT_THAT(find(*crm, PersonObject::lead, "a@example.com").by_email, IsEmpty());
  const std::string key = "a@example.com";
  EXPECT_THAT(crm->directory().find_users_by_email(std::span(&key, 1)), ElementsAre(IsEmpty()));
  GiftUpsert row = gift(1, 1);
  row.record.set(GiftField::deal_stage, std::string("Proposal"));
  row.record.set(GiftField::sender, std::string("005A"));
  const RowResult result = put(*crm, row);
  EXPECT_EQ(result.kind, Kind::created) << result.reason;
  EXPECT_THAT(result.cleared_lookups, IsEmpty());
}

// SYNC-76, SYNC-77
TEST_P(ExternalCrm, FieldsOfTasksAreNeededOnlyWhereSettingsFillThem) {
  ExternalCrmOptions given = options();
  given.task_fields = {kTaskDescription, kDueDate};
  given.account_owners = true;
  EXPECT_THAT(check_external_crm(given).faults,
              testing::UnorderedElementsAre(
                  AllOf(HasSubstr("crm.columns.task.Description"), HasSubstr("tasks.description")),
                  AllOf(HasSubstr("crm.columns.task.ActivityDate"), HasSubstr("tasks.due_days")),
                  AllOf(HasSubstr("crm.columns.account.OwnerId"), HasSubstr("tasks.assignee"))));
  sql("ALTER TABLE task ADD COLUMN description VARCHAR(20)");
  sql("ALTER TABLE task ADD COLUMN due INTEGER");
  sql("ALTER TABLE account ADD COLUMN ownerid VARCHAR(18)");
  given.names.columns["task.ActivityDate"] = "due";
  EXPECT_THAT(check_external_crm(given).faults,
              ElementsAre(AllOf(HasSubstr("task.due is of type integer"), HasSubstr("must hold a date"))));
  sql("ALTER TABLE task ADD COLUMN activitydate DATE");
  given.names.columns.erase("task.ActivityDate");
  EXPECT_THAT(check_external_crm(given).faults, IsEmpty());
  EXPECT_THAT(check_external_crm(options()).faults, IsEmpty());
}

// SYNC-73, SYNC-44
TEST_P(ExternalCrm, TheCampaignIsWrittenOnlyWhereItsColumnIsNamed) {
  GiftUpsert row = gift(1, 1);
  row.record.set(GiftField::utm_campaign_id, std::string("spring-2026"));
  ExternalCrmOptions given = options();
  const auto unnamed = make_external_crm(given);
  EXPECT_FALSE(unnamed->gift_records().has_field(GiftField::utm_campaign_id));
  EXPECT_EQ(put(*unnamed, row).kind, Kind::created);
  EXPECT_EQ(scalar("SELECT coalesce(ns__utm_campaign_id__c, 'none') FROM ns__gift_record__c"), "none");
  sql("ALTER TABLE ns__gift_record__c RENAME COLUMN ns__utm_campaign_id__c TO campaign");
  EXPECT_THAT(check_external_crm(given).faults, IsEmpty()) << "tables for an older giftsync lack it";
  given.names.columns["gift_record.Utm_Campaign_Id"] = "campaign";
  EXPECT_THAT(check_external_crm(given).faults, IsEmpty());
  row.record.set(GiftField::transaction_id, std::int64_t{2});
  EXPECT_EQ(put(*make_external_crm(given), row).kind, Kind::created);
  EXPECT_EQ(scalar("SELECT campaign FROM ns__gift_record__c WHERE ns__recipienttransactionid__c = 2"),
            "spring-2026");
  given.names.columns["gift_record.Utm_Campaign_Id"] = "campain";
  EXPECT_THAT(check_external_crm(given).faults, ElementsAre(HasSubstr("gift_record.Utm_Campaign_Id")));
}

TEST_P(ExternalCrm, PeopleAreFoundByAnySpellingInTheConfiguredOrder) {
  sql("INSERT INTO contact (id, sfid, email, name, accountid, lastmodifieddate, work_email__c) VALUES "
      "(1, '003A', ' Alma@Example.COM', 'Alma', '001A', '2024-01-01T00:00:00Z', NULL), "
      "(2, '003B', 'alma@example.com', 'Alma II', '001X', '2024-02-01T00:00:00Z', NULL), "
      "(3, '003C', NULL, 'Alma III', NULL, '2024-03-01T00:00:00Z', 'alma@example.com'), "
      "(4, NULL, 'alma@example.com', 'not pushed yet', NULL, '2024-04-01T00:00:00Z', NULL), "
      "(5, '003D', 'alma@example.com', 'no date', NULL, NULL, NULL)");
  sql("INSERT INTO account (id, sfid) VALUES (1, '001A')");
  ExternalCrmOptions given = options();
  auto found = find(*make_external_crm(given), PersonObject::contact, "ALMA@example.com ").by_email;
  EXPECT_THAT(ids(found), ElementsAre("003B", "003A", "003D"));
  EXPECT_FALSE(found[0].account_exists);
  EXPECT_TRUE(found[1].account_exists);
  EXPECT_EQ(found[1].order_value, "2024-01-01T00:00:00.000Z");
  given.match_fields.contact.email_fields = {"Work_Email__c", "Email"};
  found = find(*make_external_crm(given), PersonObject::contact, "alma@example.com").by_email;
  EXPECT_THAT(ids(found), ElementsAre("003C", "003B", "003A", "003D"));
  EXPECT_EQ(found[0].matched_field, "Work_Email__c");
}

// SYNC-42
TEST_P(ExternalCrm, RowsThatAreMarkedAsDeletedAreNoRows) {
  sql("ALTER TABLE contact ADD COLUMN isdeleted BOOLEAN");
  sql("ALTER TABLE lead ADD COLUMN gone INTEGER");
  sql("ALTER TABLE account ADD COLUMN isdeleted VARCHAR(5)");
  sql("ALTER TABLE opportunity ADD COLUMN deleted_at TIMESTAMP");
  for (const char* table : {"opportunitycontactrole", "\"user\"", "ns__gift_record__c", "task"})
    sql(std::string("ALTER TABLE ") + table + " ADD COLUMN isdeleted BOOLEAN");
  ExternalCrmOptions given = options();
  given.names.columns["lead.IsDeleted"] = "gone";
  given.names.columns["opportunity.IsDeleted"] = "deleted_at";
  sql("INSERT INTO contact (id, sfid, name, email, accountid, lastmodifieddate, isdeleted) VALUES "
      "(1, '003DEL', 'Dan, deleted', 'dan@x.example', NULL, '2026-05-02', true), "
      "(2, '003LIV', 'Dan', 'dan@x.example', '001D', '2026-05-01', false), "
      "(3, '003NUL', 'Dan', 'dan@x.example', '001A', '2026-04-01', NULL), "
      "(4, '003GON', 'Gil, deleted', 'gil@x.example', NULL, '2026-05-01', true)");
  sql("INSERT INTO lead (id, sfid, email, isconverted, convertedcontactid, gone) VALUES (1, '00QDEL', "
      "'gil@x.example', "
      "false, NULL, 1), (2, '00QLIV', 'gil@x.example', true, '003GON', 0), (3, '00QOLD', 'b@x.example', "
      "true, '003LIV', 1)");
  sql("INSERT INTO account (id, sfid, isdeleted) VALUES (1, '001D', 'True'), (2, '001A', 'false'), (3, "
      "'001T', 't')");
  sql("INSERT INTO opportunity (id, sfid, deleted_at) VALUES (1, '006DEL', '2026-01-01'), (2, '006LIV', "
      "NULL), (3, '006NOT', NULL)");
  sql("INSERT INTO opportunitycontactrole (id, contactid, opportunityid, isdeleted) VALUES (1, '003LIV', "
      "'006DEL', false), "
      "(2, '003LIV', '006LIV', false), (3, '003LIV', '006NOT', true)");
  sql("INSERT INTO \"user\" (id, sfid, email, isdeleted) VALUES (1, '005DEL', 'u@x.example', true), (2, "
      "'005LIV', "
      "'u@x.example', false)");
  const auto crm = make_external_crm(given);
  Directory& directory = crm->directory();
  const auto dan = find(*crm, PersonObject::contact, "dan@x.example").by_email;
  ASSERT_THAT(ids(dan), ElementsAre("003LIV", "003NUL"));
  EXPECT_FALSE(dan[0].account_exists);
  EXPECT_TRUE(dan[1].account_exists);
  EXPECT_THAT(find(*crm, PersonObject::contact, "gil@x.example").by_email, IsEmpty());
  EXPECT_THAT(ids(find(*crm, PersonObject::lead, "gil@x.example").by_email), ElementsAre("00QLIV"));
  const std::vector<std::string> contacts{"003DEL", "003LIV"};
  EXPECT_THAT(directory.find_open_opportunities(contacts)[1], SizeIs(1));
  EXPECT_EQ(directory.find_open_opportunities(contacts)[1][0].id, "006LIV");
  EXPECT_FALSE(directory.find_accounts_of_contacts(contacts)[0]);
  EXPECT_EQ(directory.find_accounts_of_contacts(contacts)[1], "");
  const std::vector<std::string> leads{"00QLIV", "00QOLD"};
  const auto converted = directory.find_converted_leads(leads);
  ASSERT_THAT(converted, SizeIs(1));
  EXPECT_FALSE(converted[0].contact_exists);
  const std::vector<std::string> keys{"u@x.example"};
  ASSERT_THAT(directory.find_users_by_email(keys)[0], SizeIs(1));
  const std::vector<std::string> users{"005DEL", "005LIV"};
  EXPECT_FALSE(directory.find_users_by_id(users)[0]);
  EXPECT_TRUE(directory.find_users_by_id(users)[1]);
  const Associations links{"003DEL", "001T", "00QDEL", "006DEL"};
  EXPECT_THAT(crm->gift_records().missing_lookups(std::span(&links, 1)).front(), SizeIs(4));
  EXPECT_THAT(crm->rows()->page("contact", "", 10), SizeIs(2));
  EXPECT_FALSE(crm->rows()->find("contact", "003DEL"));
  EXPECT_THAT(
      check_external_crm(given).deletion_marks,
      testing::IsSupersetOf({AllOf(HasSubstr("contact: "), HasSubstr("where isdeleted is true")),
                             AllOf(HasSubstr("lead: "), HasSubstr("where gone is true")),
                             AllOf(HasSubstr("opportunity: "), HasSubstr("where deleted_at has a time"))}));
  given.names.columns["contact.IsDeleted"] = "-";
  EXPECT_THAT(find(*make_external_crm(given), PersonObject::contact, "gil@x.example").by_email, SizeIs(1));
  EXPECT_THAT(check_external_crm(given).deletion_marks, Contains(HasSubstr("contact: no column")));
  given.names.columns["contact.IsDeleted"] = "missing";
  EXPECT_THAT(check_external_crm(given).faults,
              ElementsAre(AllOf(HasSubstr("crm.columns.contact.IsDeleted"), HasSubstr("no column missing"))));
}

// SYNC-42
TEST_P(ExternalCrm, AGiftRecordThatIsMarkedAsDeletedIsNotMadeAgain) {
  sql("ALTER TABLE ns__gift_record__c ADD COLUMN isdeleted BOOLEAN");
  sql("ALTER TABLE task ADD COLUMN isdeleted BOOLEAN");
  const auto crm = make_external_crm(options());
  put(*crm, gift(7, 1));
  put(*crm, gift(8, 1));
  sql("UPDATE ns__gift_record__c SET sfid = 'a0G' || id");
  const TaskUpsert task{{7}, false, false, "Not Started", "Other", "Gift", "", ""};
  EXPECT_EQ(crm->tasks().upsert(std::span(&task, 1)).front().kind, Kind::created);
  sql("UPDATE task SET isdeleted = true");
  EXPECT_EQ(crm->tasks().upsert(std::span(&task, 1)).front().kind, Kind::not_found);
  EXPECT_THAT(crm->tasks().page({0}, 10), IsEmpty());
  sql("UPDATE ns__gift_record__c SET isdeleted = true WHERE ns__recipienttransactionid__c = 7");
  for (const bool exists : {true, false}) EXPECT_EQ(put(*crm, gift(7, 2, exists)).kind, Kind::not_found);
  EXPECT_EQ(crm->gift_records().count(), 1);
  EXPECT_THAT(crm->gift_records().page({0}, 10), SizeIs(1));
  EXPECT_THAT(crm->gift_records().transaction_ids_below({100}, 10), ElementsAre(TransactionId{8}));
  EXPECT_EQ(put(*crm, gift(8, 2, true)).kind, Kind::updated);
}

// MATCH-34
TEST_P(ExternalCrm, IdsOf15And18CharactersAreJoined) {
  sql("INSERT INTO account (id, sfid) VALUES (1, '0015g00000AcCoU')");
  sql("INSERT INTO contact (id, sfid, email, accountid) VALUES (1, '0035g00000AbCdE', 'a@x.example', "
      "'0015g00000AcCoUAAV'), "
      "(2, '0035g00000AbCdFAAV', 'b@x.example', '0015g00000AcCoX')");
  sql("INSERT INTO opportunity (id, sfid) VALUES (1, '0065g00000OpPoRAAV'), (2, '0065g00000OpPoS')");
  sql("INSERT INTO opportunitycontactrole (id, contactid, opportunityid) VALUES (1, '0035g00000AbCdEAAV', "
      "'0065g00000OpPoR'), "
      "(2, '0035g00000AbCdEAAV', '0065g00000OpPoSAAV')");
  sql("INSERT INTO lead (id, sfid, isconverted, convertedcontactid) VALUES (1, '00Q5g00000LeAdXEAV', true, "
      "'0035g00000AbCdF')");
  const auto crm = make_external_crm(options());
  EXPECT_TRUE(find(*crm, PersonObject::contact, "a@x.example").by_email.front().account_exists);
  EXPECT_FALSE(find(*crm, PersonObject::contact, "b@x.example").by_email.front().account_exists);
  const std::string contact = "0035g00000AbCdE";
  EXPECT_THAT(crm->directory().find_open_opportunities(std::span(&contact, 1)).front(), SizeIs(2));
  const std::string lead = "00Q5g00000LeAdX";
  const auto converted = crm->directory().find_converted_leads(std::span(&lead, 1));
  ASSERT_THAT(converted, SizeIs(1));
  EXPECT_TRUE(converted.front().contact_exists);
}

// MATCH-1
TEST_P(ExternalCrm, AnInternationalDomainIsFoundInCapitalLetters) {
  sql("INSERT INTO contact (id, sfid, email) VALUES (1, '003A', 'ada@B\u00DCCHER.EXAMPLE'), (2, '003B', "
      "'Ada@b\u00FCcher.example')");
  EXPECT_THAT(
      ids(find(*make_external_crm(options()), PersonObject::contact, "ada@xn--bcher-kva.example").by_email),
      ElementsAre("003A", "003B"));
}

// MATCH-33
TEST_P(ExternalCrm, AnOrderByTextThatHoldsNumbersIsWarnedOf) {
  sql("ALTER TABLE contact ADD COLUMN priority__c VARCHAR(20)");
  sql("INSERT INTO contact (id, sfid, email, priority__c) VALUES (1, '003A', 'a@x.com', '9'), "
      "(2, '003B', 'a@x.com', '10'), (3, '003C', 'b@x.com', 'high'), (4, '003D', 'b@x.com', NULL)");
  ExternalCrmOptions given = options();
  EXPECT_THAT(check_external_crm(given).order_warnings, IsEmpty());
  given.match_fields.contact.order_by = {"Priority__c", true};
  EXPECT_THAT(check_external_crm(given).order_warnings,
              ElementsAre(AllOf(HasSubstr("matching.contact.order_by.field: Priority__c is text"),
                                HasSubstr("contact 003C has \"high\""), HasSubstr("crm.tables.contact"))));
  const auto found = find(*make_external_crm(given), PersonObject::contact, "a@x.com").by_email;
  EXPECT_THAT(ids(found), ElementsAre("003A", "003B"));
  EXPECT_TRUE(found.front().order_is_text);
}

// SYNC-66
TEST_P(ExternalCrm, RowsAreReadThroughTheMappedNames) {
  sql("INSERT INTO contact (id, sfid, email, mobile, work_email__c) VALUES (1, '003A', 'a@x.com', '650', "
      "'w@x.com'), "
      "(2, NULL, 'not pushed yet', NULL, NULL)");
  ExternalCrmOptions given = options();
  given.names.tables["lead"] = "-";
  given.names.columns["contact.Work_Email__c"] = "work_email__c";
  const auto port = make_external_crm(given);
  const auto rows = port->rows()->page("contact", "", 10);
  ASSERT_THAT(rows, SizeIs(1)) << "a row without an Id is left out";
  EXPECT_EQ(rows[0].id, "003A");
  EXPECT_EQ(rows[0].text("Id"), "003A");
  EXPECT_EQ(rows[0].text("id"), "1") << "a column that giftsync does not know";
  EXPECT_EQ(rows[0].text("MobilePhone"), "650");
  EXPECT_EQ(rows[0].text("Work_Email__c"), "w@x.com");
  EXPECT_EQ(port->rows()->find("contact", "003A")->text("Email"), "a@x.com");
  EXPECT_FALSE(port->rows()->find("lead", "00Q1"));
  EXPECT_THAT(port->rows()->objects(), testing::Not(Contains("lead")));
  EXPECT_THAT(port->rows()->objects(), Contains("gift_record"));
}

TEST_P(ExternalCrm, PhonesAreFoundInAnyWrittenForm) {
  sql("INSERT INTO contact (id, sfid, phone, mobile) VALUES (1, '003A', '(650) 867-3450', NULL), "
      "(2, '003B', NULL, '+1 650.867.3450'), (3, '003C', '+44 20 867 3450', NULL), (4, '003D', 'n/a', '')");
  const auto crm = make_external_crm(options());
  EXPECT_THAT(ids(find(*crm, PersonObject::contact, "", "1-650-867-3450").by_phone),
              ElementsAre("003A", "003B"));
}

// SYNC-63 (SYNC-47)
TEST_P(ExternalCrm, PhonesAreFoundWithExtensionsWordsAndDigitsOfOtherScripts) {
  sql("INSERT INTO contact (id, sfid, phone) VALUES (1, '003A', '+1 650 867 3450 ext. 7'), "
      "(2, '003B', '\uFF16\uFF15\uFF10\uFF18\uFF16\uFF17\uFF13\uFF14\uFF15\uFF10'), "
      "(3, '003C', 'Fax: 650.867.3450 x7'), (4, '003D', '6508673450;ext=99'), "
      "(5, '003E', '(650) 867\u20133450'), (6, '003F', '6508673457 x345'), (7, '003G', 'ext 867 3450'), "
      "(8, '003H', '650\u00A0867\u00A03450')");
  const auto crm = make_external_crm(options());
  EXPECT_THAT(ids(find(*crm, PersonObject::contact, "", "650-867-3450").by_phone),
              ElementsAre("003A", "003B", "003C", "003D", "003E", "003H"));
  EXPECT_THAT(ids(find(*crm, PersonObject::contact, "", "650-867-3457").by_phone), ElementsAre("003F"));
}

TEST_P(ExternalCrm, OpportunitiesLeadsAndUsersAreRead) {
  sql("INSERT INTO contact (id, sfid, name, accountid) VALUES (1, '003A', 'Alma', '001A')");
  sql("INSERT INTO opportunity (id, sfid, name, stagename, isclosed, closedate, accountid) VALUES "
      "(1, '006A', 'late', 'Proposal', false, '2025-02-01', '001A'), (2, '006B', 'soon', 'Won', NULL, "
      "'2025-01-01', NULL), "
      "(3, '006C', 'closed', 'Lost', true, '2024-01-01', NULL)");
  sql("INSERT INTO opportunitycontactrole (id, contactid, opportunityid) VALUES (1, '003A', '006A'), (2, "
      "'003A', "
      "'006B'), (3, '003A', '006C'), (4, '003A', '006A')");
  sql("INSERT INTO lead (id, sfid, email, isconverted, convertedcontactid) VALUES (1, '00QA', "
      "'x@example.com', true, "
      "'003A'), (2, '00QB', 'x@example.com', NULL, NULL)");
  sql("INSERT INTO \"user\" (id, sfid, email, isactive) VALUES (1, '005A', 'Ana@example.com', false), (2, "
      "'005B', "
      "'ana@example.com', true)");
  const auto crm = make_external_crm(options());
  const std::string contact = "003A";
  const auto found = crm->directory().find_open_opportunities(std::span(&contact, 1)).front();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].id, "006B");
  EXPECT_EQ(found[1].account_id, "001A");
  const std::string lead = "00QA";
  const auto converted = crm->directory().find_converted_leads(std::span(&lead, 1));
  ASSERT_THAT(converted, SizeIs(1));
  EXPECT_TRUE(converted[0].contact_exists);
  EXPECT_TRUE(find(*crm, PersonObject::lead, "x@example.com").by_email.front().converted);
  const std::string ana = "ana@example.com";
  const auto users = crm->directory().find_users_by_email(std::span(&ana, 1)).front();
  ASSERT_THAT(users, SizeIs(2));
  EXPECT_EQ(users[0].id, "005B");
}

TEST_P(ExternalCrm, ARecordReadsBackAsItWasWritten) {
  sql("INSERT INTO contact (id, sfid) VALUES (1, '003A')");
  GiftUpsert row = gift(9'007'199'254'740'992, 1);
  row.record.set(GiftField::recipient_contact, std::string("003A"));
  row.record.set(GiftField::recipient_lead, std::string());
  row.record.set(GiftField::recipient_lead, FieldValue());
  row.record.set(GiftField::opportunity, std::string("006gone"));
  row.record.set(GiftField::total_price, Money{550});
  row.record.set(GiftField::sent_at, UtcMillis{1'795'264'267'042});
  row.record.set(GiftField::opened_time, UtcMillis{1'795'264'268'000});
  row.record.set(GiftField::message, std::string("é \"q\" {a} \\ '☕' NULL\n"));
  const auto crm = make_external_crm(options());
  const RowResult result = put(*crm, row);
  EXPECT_EQ(result.kind, Kind::created) << result.reason;
  EXPECT_THAT(result.cleared_lookups, ElementsAre(GiftField::opportunity));
  ASSERT_THAT(crm->gift_records().transaction_ids_below({9'007'199'254'740'993}, 2),
              ElementsAre(TransactionId{9'007'199'254'740'992}));
  const TransactionId id{9'007'199'254'740'992};
  for (const auto& records :
       {crm->gift_records().page({0}, 10), crm->gift_records().find(std::span(&id, 1))}) {
    ASSERT_THAT(records, SizeIs(1));
    for (const GiftField field : {GiftField::recipient_contact, GiftField::total_price, GiftField::sent_at,
                                  GiftField::opened_time, GiftField::message, GiftField::transaction_id})
      EXPECT_EQ(records[0].get(field), row.record.get(field)) << descriptor_of(field).name;
    EXPECT_EQ(records[0].get(GiftField::opened), FieldValue(true));
  }
  EXPECT_EQ(scalar("SELECT sfid FROM ns__gift_record__c"), "null");
}

TEST_P(ExternalCrm, TextInANumericColumnIsUnreadable) {
  if (GetParam() != sql::Dialect::sqlite) GTEST_SKIP() << "its columns take nothing else";
  sql("INSERT INTO ns__gift_record__c (ns__recipienttransactionid__c, ns__giftid__c, ns__item_cost__c, "
      "ns__shipping_cost__c, ns__transaction_fee__c) VALUES (1, '', '$5.50', '', 0.5)");
  const std::vector<GiftRecord> records = make_external_crm(options())->gift_records().page({0}, 10);
  ASSERT_THAT(records, SizeIs(1));
  std::map<GiftField, std::string> unreadable;
  for (const UnreadableValue& cell : records.front().unreadable) unreadable[cell.field] = cell.text;
  EXPECT_THAT(unreadable, testing::UnorderedElementsAre(testing::Pair(GiftField::item_id, ""),
                                                        testing::Pair(GiftField::item_cost, "$5.50"),
                                                        testing::Pair(GiftField::shipping_cost, "")));
  for (const auto& [field, text] : unreadable) EXPECT_EQ(records.front().get(field), FieldValue());
  EXPECT_EQ(records.front().get(GiftField::transaction_fee), FieldValue(Money{50}));
}

TEST_P(ExternalCrm, AnUpdateWritesOnlyGiftsyncFields) {
  const auto crm = make_external_crm(options());
  put(*crm, gift(7, 1));
  sql("UPDATE ns__gift_record__c SET name = 'Mine'");
  GiftUpsert row = gift(7, 2, true);
  row.record.set(GiftField::name, std::string("Not this"));
  row.record.set(GiftField::status, std::string("opened"));
  EXPECT_EQ(put(*crm, row).kind, Kind::updated);
  EXPECT_EQ(scalar("SELECT name FROM ns__gift_record__c"), "Mine");
  EXPECT_EQ(scalar("SELECT ns__recipienttransactionstatus__c FROM ns__gift_record__c"), "opened");
  sql("DELETE FROM ns__gift_record__c");
  EXPECT_EQ(put(*crm, row).kind, Kind::not_found);
}

// SYNC-45
TEST_P(ExternalCrm, StandardUserFieldsAreWrittenWhereColumnsNamesThem) {
  for (const char* column : {"createdbyid", "lastmodifiedbyid", "ownerid"})
    sql(std::string("ALTER TABLE ns__gift_record__c ADD COLUMN ") + column + " VARCHAR(18)");
  GiftUpsert row = gift(1, 1);
  row.record.set(GiftField::created_by, std::string("005A"));
  row.record.set(GiftField::owner, std::string("005A"));
  EXPECT_EQ(put(*make_external_crm(options()), row).kind, Kind::created);
  EXPECT_EQ(scalar("SELECT coalesce(createdbyid, 'n') || coalesce(ownerid, 'n') FROM ns__gift_record__c"),
            "nn");
  ExternalCrmOptions given = options();
  given.names.tables["user"] = "-";
  given.names.columns["gift_record.CreatedById"] = "createdbyid";
  given.names.columns["gift_record.OwnerId"] = "ownerid";
  sql("DELETE FROM ns__gift_record__c");
  EXPECT_EQ(put(*make_external_crm(given), row).kind, Kind::created);
  EXPECT_EQ(scalar("SELECT createdbyid || ' ' || ownerid FROM ns__gift_record__c"), "005A 005A");
}

// SYNC-16
TEST_P(ExternalCrm, AnOutdatedVersionIsNeverWritten) {
  ExternalCrmOptions given = options();
  std::int64_t newest = 1;
  given.newest_versions = [&](std::span<const TransactionId> transactions) {
    std::vector<std::pair<TransactionId, std::int64_t>> versions;
    for (const TransactionId id : transactions) versions.emplace_back(id, newest);
    return versions;
  };
  const auto crm = make_external_crm(given);
  EXPECT_EQ(put(*crm, gift(7, 1)).kind, Kind::created);
  newest = 3;
  GiftUpsert row = gift(7, 3, true);
  row.record.set(GiftField::status, std::string("redeemed"));
  EXPECT_EQ(put(*crm, row).kind, Kind::updated);
  for (const bool exists : {true, false}) EXPECT_EQ(put(*crm, gift(7, 2, exists)).kind, Kind::unchanged);
  EXPECT_EQ(scalar("SELECT ns__recipienttransactionstatus__c FROM ns__gift_record__c"), "redeemed");
}

TEST_P(ExternalCrm, ARejectedRowDoesNotAffectTheOthers) {
  sql("CREATE UNIQUE INDEX one_name ON ns__gift_record__c (name)");
  std::vector<GiftUpsert> rows{gift(1, 1), gift(2, 1), gift(3, 1)};
  for (GiftUpsert& row : rows) row.record.set(GiftField::name, std::string("same"));
  rows[2].record.set(GiftField::name, std::string("other"));
  const auto results = make_external_crm(options())->gift_records().upsert(rows);
  ASSERT_THAT(results, SizeIs(3));
  EXPECT_EQ(results[0].kind, Kind::created);
  EXPECT_EQ(results[1].kind, Kind::rejected);
  EXPECT_EQ(results[2].kind, Kind::created);
}

TEST_P(ExternalCrm, ANewRecordDroppedByATriggerIsRejected) {
  if (GetParam() == sql::Dialect::sqlite) {
    sql("CREATE TRIGGER drop_one BEFORE INSERT ON ns__gift_record__c WHEN NEW.ns__recipienttransactionid__c "
        "= 2 "
        "BEGIN SELECT RAISE(IGNORE); END");
  } else {
    sql("CREATE FUNCTION drop_one() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF "
        "NEW.ns__recipienttransactionid__c = 2 THEN RETURN NULL; END IF; RETURN NEW; END $$");
    sql("CREATE TRIGGER drop_one BEFORE INSERT ON ns__gift_record__c FOR EACH ROW EXECUTE FUNCTION "
        "drop_one()");
  }
  const std::vector<GiftUpsert> rows{gift(1, 1), gift(2, 1)};
  const auto results = make_external_crm(options())->gift_records().upsert(rows);
  EXPECT_EQ(results[0].kind, Kind::created);
  EXPECT_EQ(results[1].kind, Kind::rejected);
  EXPECT_THAT(results[1].reason, HasSubstr("triggers"));
}

// SYNC-46
TEST_P(ExternalCrm, ATaskWaitsUntilItsGiftRecordHasAnId) {
  sql("INSERT INTO contact (id, sfid) VALUES (1, '003A')");
  const auto crm = make_external_crm(options());
  const TaskUpsert task{{7}, false, false, "Not Started", "Other", "Gift", "003A", ""};
  EXPECT_EQ(crm->tasks().upsert(std::span(&task, 1)).front().kind, Kind::not_found);
  put(*crm, gift(7, 1));
  const RowResult waits = crm->tasks().upsert(std::span(&task, 1)).front();
  EXPECT_EQ(waits.kind, Kind::retry);
  EXPECT_THAT(waits.reason, HasSubstr("no Id yet"));
  sql("UPDATE ns__gift_record__c SET sfid = 'a0GA'");
  EXPECT_EQ(crm->tasks().upsert(std::span(&task, 1)).front().kind, Kind::created);
  EXPECT_EQ(crm->tasks().upsert(std::span(&task, 1)).front().kind, Kind::unchanged);
  const TaskUpsert done{{7}, true, true, "Completed", "Other", "Gift", "003A", ""};
  EXPECT_EQ(crm->tasks().upsert(std::span(&done, 1)).front().kind, Kind::updated);
  const auto tasks = crm->tasks().page({0}, 10);
  ASSERT_THAT(tasks, SizeIs(1));
  EXPECT_EQ(tasks[0].what_id, "a0GA");
  EXPECT_EQ(tasks[0].who_id, "003A");
  EXPECT_EQ(tasks[0].status, "Completed");
}

TEST_P(ExternalCrm, ARelinkOverwritesOnlyExpectedValues) {
  sql("INSERT INTO contact (id, sfid) VALUES (1, '003A'), (2, '003B')");
  const auto crm = make_external_crm(options());
  GiftUpsert row = gift(7, 1);
  row.record.set(GiftField::recipient_contact, std::string("003A"));
  put(*crm, row);
  const GiftRelink link{{7}, {"003A", "", "", ""}, {"003B", "", "", ""}};
  EXPECT_EQ(crm->gift_records().relink(std::span(&link, 1)).front().kind, Kind::updated);
  EXPECT_EQ(crm->gift_records().relink(std::span(&link, 1)).front().kind, Kind::unchanged);
  EXPECT_EQ(scalar("SELECT ns__recipientcontactid__c FROM ns__gift_record__c"), "003B");
}

TEST_P(ExternalCrm, PermissionSetsAreUnknownUntilATableIsMapped) {
  sql("INSERT INTO \"user\" (id, sfid, name, email, isactive) VALUES (1, '005A', 'Ana', 'ana@example.com', "
      "true), "
      "(2, '005B', 'Bob', 'bob@example.com', false)");
  const std::vector<std::string> ids{"005B", "unknown", "005A", ""};
  {
    const auto crm = make_external_crm(options());
    EXPECT_FALSE(crm->directory().permission_sets(ids).has_value());
    const auto users = crm->directory().find_users_by_id(ids);
    ASSERT_THAT(users, SizeIs(4));
    EXPECT_FALSE(users[0]->active);
    EXPECT_FALSE(users[1].has_value());
    EXPECT_EQ(users[2]->email, "ana@example.com");
    EXPECT_FALSE(users[3].has_value());
  }
  sql("CREATE TABLE sender (sfid VARCHAR(18), assigneeid VARCHAR(18), permissionsetname VARCHAR(80), "
      "isactive "
      "BOOLEAN, expirationdate TIMESTAMP)");
  sql("INSERT INTO sender VALUES ('0P1', '005A', 'Standard_User', NULL, NULL), ('0P2', '005A', 'Admin', "
      "false, "
      "'2026-11-21 12:31:07')");
  ExternalCrmOptions given = options();
  given.names.tables = {{"permission_set_assignment", "sender"}};
  EXPECT_THAT(check_external_crm(given).faults, IsEmpty());
  auto sets = make_external_crm(given)->directory().permission_sets(ids);
  ASSERT_TRUE(sets.has_value());
  EXPECT_THAT((*sets)[0], IsEmpty());
  ASSERT_THAT((*sets)[2], SizeIs(2));
  const auto& admin = (*sets)[2][(*sets)[2][0].permission_set == "Admin" ? 0 : 1];
  EXPECT_FALSE(admin.active);
  EXPECT_EQ(admin.expires_at, (UtcMillis{1'795'264'267'000}));

  given.names.columns["permission_set_assignment.IsActive"] = "-";
  given.names.columns["permission_set_assignment.ExpirationDate"] = "-";
  EXPECT_THAT(check_external_crm(given).faults, IsEmpty());
  sets = make_external_crm(given)->directory().permission_sets(ids);
  EXPECT_TRUE((*sets)[2][0].active && (*sets)[2][1].active && !(*sets)[2][1].expires_at);
  sql("ALTER TABLE sender DROP COLUMN permissionsetname");
  EXPECT_THAT(check_external_crm(given).faults,
              ElementsAre(AllOf(HasSubstr("crm.columns.permission_set_assignment.PermissionSetName"),
                                HasSubstr("no column"))));
}

TEST_P(ExternalCrm, TwoFieldsMappedToOneColumnAreRejected) {
  ExternalCrmOptions given = options();
  given.names.columns["gift_record.Message"] = "NS__Description__c";
  given.names.columns["task.Subject"] = "type";
  EXPECT_THAT(check_external_crm(given).faults,
              testing::UnorderedElementsAre(
                  AllOf(HasSubstr("gift_record.Message"), HasSubstr("gift_record.Description"),
                        HasSubstr("already, and a column holds one field")),
                  AllOf(HasSubstr("task.Subject: task.type is the column of task.Type already"))));
  given.names.columns["gift_record.Description"] = "-";
  given.tasks = false;
  EXPECT_THAT(check_external_crm(given).faults, IsEmpty());
}

TEST_P(ExternalCrm, RecordsWithAnInvalidTransactionIdAreCountedAndNotRead) {
  sql("INSERT INTO ns__gift_record__c (ns__recipienttransactionid__c) VALUES (7.5), (NULL), (-3), (1e17), "
      "(8)");
  const auto crm = make_external_crm(options());
  const std::vector<GiftRecord> records = crm->gift_records().page({0}, 10);
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records.front().transaction().value, 8);
  EXPECT_THAT(crm->gift_records().transaction_ids_between({1}, {kMaxId}, 10), ElementsAre(TransactionId{8}));
  EXPECT_EQ(count_invalid_transaction_ids(options()), 4);
}

INSTANTIATE_TEST_SUITE_P(backends, ExternalCrm,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

}  // namespace
}  // namespace giftsync::crm::external
