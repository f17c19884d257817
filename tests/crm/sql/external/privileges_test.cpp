// Rights in an external CRM: a missing right is reported with the GRANT that adds it, and a refused row
// blocks no other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/crm/sql/external/replicated_crm_fixture.h"

namespace giftsync::crm::external {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Kind = RowResult::Kind;

/// The tables' owner, whose own rights can be revoked.
class ExternalCrmPrivileges : public ReplicatedCrmFixture {
 protected:
  void SetUp() override {
    ReplicatedCrmFixture::SetUp();
    if (IsSkipped()) return;
    if (GetParam() == sql::Dialect::sqlite) GTEST_SKIP() << "its rights are those of the file";
    if (scalar("SELECT rolsuper FROM pg_roles WHERE rolname = current_user") != "f")
      GTEST_SKIP() << "who may do everything lacks nothing";
    schema_ = scalar("SELECT cast(current_schema() as text)");
    user_ = scalar("SELECT quote_ident(current_user)");
  }
  /// Runs the GRANT that a fault or warning requests.
  void apply_grant(const std::string& fault) { sql(fault.substr(fault.find("GRANT "))); }

  std::string schema_;
  std::string user_;
};

TEST_P(ExternalCrmPrivileges, MissingPrivilegesAreReportedWithTheirGrant) {
  sql("REVOKE INSERT, UPDATE ON ns__gift_record__c FROM " + user_);
  sql("REVOKE SELECT ON contact FROM " + user_);
  sql("GRANT SELECT (sfid, name, email, phone, mobile, accountid) ON contact TO " + user_);
  sql("REVOKE SELECT ON \"user\" FROM " + user_);
  sql("REVOKE ALL ON SEQUENCE task_id_seq FROM " + user_);
  const std::vector<std::string> faults = check_external_crm(options()).faults;
  EXPECT_THAT(faults,
              testing::UnorderedElementsAre(
                  AllOf(HasSubstr("crm.tables.gift_record: "), HasSubstr(user_),
                        HasSubstr("GRANT INSERT, UPDATE ON " + schema_ + ".ns__gift_record__c TO " + user_)),
                  HasSubstr("GRANT SELECT (lastmodifieddate) ON " + schema_ + ".contact TO " + user_),
                  HasSubstr("GRANT SELECT ON " + schema_ + ".\"user\" TO " + user_),
                  AllOf(HasSubstr("crm.tables.task: "),
                        HasSubstr("GRANT USAGE ON SEQUENCE " + schema_ + ".task_id_seq TO " + user_))));
  for (const std::string& fault : faults) apply_grant(fault);
  EXPECT_THAT(check_external_crm(options()).faults, IsEmpty());
}

TEST_P(ExternalCrmPrivileges, UnusedStatementsNeedNoPrivilege) {
  sql("REVOKE ALL ON task FROM " + user_);
  sql("REVOKE DELETE, TRUNCATE ON ns__gift_record__c FROM " + user_);
  sql("REVOKE INSERT, UPDATE ON contact FROM " + user_);
  ExternalCrmOptions given = options();
  given.tasks = false;
  EXPECT_THAT(check_external_crm(given).faults, IsEmpty());
}

TEST_P(ExternalCrmPrivileges, AnInaccessibleSchemaIsReported) {
  sql("REVOKE USAGE ON SCHEMA " + schema_ + " FROM " + user_);
  ExternalCrmOptions given = options();
  given.names.schema = schema_;
  const std::vector<std::string> faults = check_external_crm(given).faults;
  EXPECT_THAT(faults, ElementsAre(AllOf(HasSubstr("crm.schema: "),
                                        HasSubstr("GRANT USAGE ON SCHEMA " + schema_ + " TO " + user_))));
  for (const std::string& fault : faults) apply_grant(fault);
  EXPECT_THAT(check_external_crm(given).faults, IsEmpty());
}

TEST_P(ExternalCrmPrivileges, PrivilegesOfRematchOnlyAreAWarning) {
  std::string columns;
  for (const FieldDescriptor& field : kGiftFields) {
    if (field.owner == FieldOwner::giftsync)
      columns += (columns.empty() ? "" : ", ") + ascii_lower(api_name(field, "ns"));
  }
  sql("REVOKE UPDATE ON ns__gift_record__c FROM " + user_);
  sql("GRANT UPDATE (" + columns + ") ON ns__gift_record__c TO " + user_);
  const ExternalCrmReport report = check_external_crm(options());
  EXPECT_THAT(report.faults, IsEmpty());
  EXPECT_THAT(report.command_warnings,
              Contains(AllOf(HasSubstr("rematch"), HasSubstr("GRANT UPDATE ("),
                             HasSubstr("recipientcontactid"), HasSubstr("deal_stage"))));
}

TEST_P(ExternalCrmPrivileges, RelinkingNeedsNoPrivilegeForAnUnchangedStage) {
  const auto crm = make_external_crm(options());
  ASSERT_EQ(put(*crm, gift(1, 1)).kind, Kind::created);
  std::string links;
  for (const GiftField field :
       {GiftField::recipient_contact, GiftField::account, GiftField::recipient_lead, GiftField::opportunity})
    links += (links.empty() ? "" : ", ") + ascii_lower(api_name(descriptor_of(field), "ns"));
  sql("REVOKE UPDATE ON ns__gift_record__c FROM " + user_);
  sql("GRANT UPDATE (" + links + ") ON ns__gift_record__c TO " + user_);
  GiftRelink link{{1}, {}, {}};
  EXPECT_EQ(crm->gift_records().relink(std::span(&link, 1)).front().kind, Kind::updated);
  link.stage_to = "Won";
  EXPECT_ANY_THROW(crm->gift_records().relink(std::span(&link, 1)));
  sql("GRANT UPDATE (ns__deal_stage__c) ON ns__gift_record__c TO " + user_);
  EXPECT_EQ(crm->gift_records().relink(std::span(&link, 1)).front().kind, Kind::updated);
  EXPECT_EQ(scalar("SELECT ns__deal_stage__c FROM ns__gift_record__c"), "Won");
}

TEST_P(ExternalCrmPrivileges, AnUnreadableStatusLogIsAWarning) {
  sql("CREATE TABLE old_log (transaction_id BIGINT, status TEXT, at TIMESTAMP)");
  ExternalCrmOptions given = options();
  given.status_log = {"old_log", "transaction_id", "status", "at"};
  EXPECT_THAT(check_external_crm(given).command_warnings, Not(Contains(HasSubstr("old_log"))));
  sql("REVOKE SELECT ON old_log FROM " + user_);
  const ExternalCrmReport report = check_external_crm(given);
  EXPECT_THAT(report.faults, IsEmpty());
  EXPECT_THAT(report.command_warnings, Contains(AllOf(HasSubstr("backfill status-timestamps"),
                                                      HasSubstr("GRANT SELECT ON " + schema_ + ".old_log"))));
}

TEST_P(ExternalCrmPrivileges, AReadOnlyUserIsReported) {
  ExternalCrmOptions given = options();
  std::string& connection = given.database.connection;
  const std::size_t end = connection.rfind('\'');
  ASSERT_NE(end, std::string::npos);
  connection.insert(end, " -c default_transaction_read_only=on");
  EXPECT_THAT(check_external_crm(given).faults,
              ElementsAre(HasSubstr("default_transaction_read_only is on")));
}

TEST_P(ExternalCrmPrivileges, ARowRejectedByAPolicyDoesNotAffectOthersAndIsNotLogged) {
  sql("ALTER TABLE ns__gift_record__c ENABLE ROW LEVEL SECURITY");
  sql("ALTER TABLE ns__gift_record__c FORCE ROW LEVEL SECURITY");
  sql("CREATE POLICY all_but_one ON ns__gift_record__c USING (true) WITH CHECK "
      "(ns__recipienttransactionid__c <> 2)");
  sql("ALTER TABLE ns__gift_record__c ADD CHECK (ns__recipienttransactionid__c <> 3)");
  std::vector<GiftUpsert> rows;
  for (const std::int64_t id : {1, 2, 3, 4}) rows.push_back(gift(id, 1));
  const std::vector<RowResult> results = make_external_crm(options())->gift_records().upsert(rows);
  EXPECT_EQ(results[0].kind, Kind::created) << results[0].reason;
  EXPECT_EQ(results[1].kind, Kind::rejected);
  EXPECT_THAT(results[1].reason, HasSubstr("row-level security policy"));
  EXPECT_EQ(results[2].kind, Kind::rejected);
  EXPECT_THAT(results[2].reason, AllOf(HasSubstr("check constraint"), Not(HasSubstr("Failing row"))));
  EXPECT_EQ(results[3].kind, Kind::created) << results[3].reason;
}

// SYNC-49
TEST_P(ExternalCrmPrivileges, ARowRejectedByATriggerWithACustomSqlstateDoesNotAffectOthers) {
  for (const std::string state : {"45000", "GS001", "42501"}) {
    sql("CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF NEW.ns__recipienttransactionid__c = 2 THEN RAISE EXCEPTION 'no gifts on Sundays' USING ERRCODE = "
        "'" +
        state + "'; END IF; RETURN NEW; END $$");
    sql("DROP TRIGGER IF EXISTS refuse ON ns__gift_record__c");
    sql("DELETE FROM ns__gift_record__c");
    sql("CREATE TRIGGER refuse BEFORE INSERT ON ns__gift_record__c FOR EACH ROW EXECUTE FUNCTION refuse()");
    std::vector<GiftUpsert> rows;
    for (const std::int64_t id : {1, 2, 3}) rows.push_back(gift(id, 1));
    const std::vector<RowResult> results = make_external_crm(options())->gift_records().upsert(rows);
    EXPECT_EQ(results[0].kind, Kind::created) << state << results[0].reason;
    EXPECT_EQ(results[1].kind, Kind::rejected) << state;
    EXPECT_THAT(results[1].reason, AllOf(HasSubstr("no gifts on Sundays"), Not(HasSubstr("PL/pgSQL"))));
    EXPECT_EQ(results[2].kind, Kind::created) << state << results[2].reason;
  }
}

INSTANTIATE_TEST_SUITE_P(backends, ExternalCrmPrivileges,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

}  // namespace
}  // namespace giftsync::crm::external
