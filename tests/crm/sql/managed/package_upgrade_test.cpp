// Upgrades of the managed CRM from every package version (SYNC-40), over every back end.
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/crm/crm_conformance.h"
#include "tests/crm/sql/managed/old_package_fixtures.h"

namespace giftsync::crm::managed {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = RowResult::Kind;

class PackageUpgrade : public tests::DatabaseFixture<> {
 protected:
  std::unique_ptr<Crm> crm() const {
    const PersonMatchFields person{{"Email"}, {"Phone", "MobilePhone"}, {"LastModifiedDate", true}};
    return make_managed_crm({address(), "giftsync", {person, person, "US"}});
  }
  /// Every cell of a table, the columns in order.
  std::string dump(const std::string& table, const std::string& columns) {
    return scalar(
        "SELECT " + std::string(GetParam() == sql::Dialect::sqlite ? "group_concat" : "string_agg") +
        "(line, ';') FROM (SELECT " + columns + " AS line FROM " + table + " ORDER BY id) AS lines");
  }
  std::string log_rows() {
    return dump("crm_status_log",
                "id || ' ' || recipienttransactionid || ' ' || status || ' ' || createddate");
  }
  static RowResult update(Crm& port, std::int64_t transaction, std::int64_t version) {
    GiftUpsert row;
    row.record.set(GiftField::transaction_id, transaction);
    row.record.set(GiftField::status, std::string("redeemed"));
    row.record.set(GiftField::redeemed_time, UtcMillis{1'795'264'267'042});
    row.record.version = version;
    row.exists = true;
    return port.gift_records().upsert(std::span(&row, 1)).front();
  }
};

TEST_P(PackageUpgrade, From11AddsLookupsAndTimestampsAndKeepsTheLog) {
  create_old_package(OldPackage::v1_1, address());
  EXPECT_EQ(managed_crm_version(address()), "1.1");
  const std::string log = log_rows();
  const ManagedCrmUpgradePlan plan = plan_managed_crm_upgrade(address());
  EXPECT_FALSE(plan.recorded);
  EXPECT_THAT(plan.steps,
              Contains(HasSubstr("1.3: crm_gift_record gets account, opportunity, delivered_date")));
  EXPECT_THAT(plan.steps, Contains(HasSubstr("crm_status_log is no longer written; its rows stay")));
  EXPECT_EQ(managed_crm_version(address()), "1.1") << "a plan changed something";

  migrate_managed_crm(address());
  EXPECT_EQ(managed_crm_version(address()), "1.8");
  EXPECT_THAT(plan_managed_crm_upgrade(address()).steps, IsEmpty());
  EXPECT_EQ(log_rows(), log);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_setting"), "0");
  const auto port = crm();
  auto records = port->gift_records().page({0}, 10);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].get(GiftField::name), FieldValue(std::string("Coffee for Alma")));
  EXPECT_EQ(records[0].get(GiftField::total_price), FieldValue(Money{550}));
  EXPECT_EQ(records[0].get(GiftField::opened_time), FieldValue());
  EXPECT_EQ(records[0].get(GiftField::opened), FieldValue(false));
  EXPECT_EQ(update(*port, 41, 1).kind, Kind::updated);
  records = port->gift_records().page({0}, 10);
  EXPECT_EQ(records[0].get(GiftField::redeemed), FieldValue(true));
  EXPECT_EQ(log_rows(), log) << "the status log was written";
}

TEST_P(PackageUpgrade, UpgradedTablesWorkLikeNewOnes) {
  for (const OldPackage package : {OldPackage::v1_1, OldPackage::v1_3}) {
    recreate();
    create_old_package(package, address());
    migrate_managed_crm(address());
    EXPECT_EQ(scalar("SELECT favourite_colour FROM crm_contact"), "green");
    EXPECT_EQ(scalar("SELECT subject FROM crm_task"), "Call Alma");
    const auto port = crm();
    const RecipientMatchKeys alma{"alma@example.com", ""};
    const auto found = port->directory().find_candidates(PersonObject::contact, std::span(&alma, 1));
    ASSERT_EQ(found.front().by_email.size(), 1U);
    EXPECT_EQ(found.front().by_email.front().name, "Alma Ruiz");
    sql("UPDATE crm_contact SET email = 'new@example.com'");
    EXPECT_THAT(
        port->directory().find_candidates(PersonObject::contact, std::span(&alma, 1)).front().by_email,
        IsEmpty());
    GiftUpsert row;
    row.record.set(GiftField::transaction_id, std::int64_t{50});
    row.record.set(GiftField::recipient_contact, std::string("003A"));
    row.record.version = 1;
    EXPECT_EQ(port->gift_records().upsert(std::span(&row, 1)).front().kind, Kind::created);
    TaskUpsert task{{50}, false, false, "Open", "Other", "Gift", "003A", ""};
    EXPECT_EQ(port->tasks().upsert(std::span(&task, 1)).front().kind, Kind::created);
    EXPECT_EQ(port->tasks().upsert(std::span(&task, 1)).front().kind, Kind::unchanged);
  }
}

// SYNC-39
TEST_P(PackageUpgrade, From13KeepsEveryValue) {
  create_old_package(OldPackage::v1_3, address());
  EXPECT_EQ(managed_crm_version(address()), "1.3");
  const std::string columns =
      "id || name || recipienttransactionid || recipienttransactionstatus || recipienttransactioncreatedat "
      "|| "
      "recipientcontactid || account || opportunity || deal_stage || item_cost || opened_date_time || "
      "our_own_note";
  const std::string before = dump("crm_gift_record", columns);
  ASSERT_NE(before, "null");
  EXPECT_THAT(plan_managed_crm_upgrade(address()).steps, testing::Not(Contains(HasSubstr("1.3:"))));
  migrate_managed_crm(address());
  EXPECT_EQ(managed_crm_version(address()), "1.8");
  EXPECT_TRUE(plan_managed_crm_upgrade(address()).recorded);
  EXPECT_EQ(dump("crm_gift_record", columns), before);
  EXPECT_EQ(crm()->gift_records().page({0}, 10).front().get(GiftField::opened), FieldValue(true));
}

TEST_P(PackageUpgrade, AFailedStepKeepsEarlierStepsAndIsRetried) {
  create_old_package(OldPackage::v1_1, address());
  sql("CREATE TABLE crm_match_key_row (id TEXT)");  // where an index of the last step wants to be
  if (GetParam() == sql::Dialect::postgresql) sql("CREATE VIEW crm_setting AS SELECT 1 AS nothing");
  EXPECT_THROW(migrate_managed_crm(address()), DependencyError);
  EXPECT_EQ(managed_crm_version(address()), "1.3");
  EXPECT_TRUE(plan_managed_crm_upgrade(address()).recorded);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "2");
  if (GetParam() == sql::Dialect::postgresql) sql("DROP VIEW crm_setting");
  sql("DROP TABLE crm_match_key_row");
  migrate_managed_crm(address());
  EXPECT_EQ(managed_crm_version(address()), "1.8");
  EXPECT_EQ(update(*crm(), 41, 1).kind, Kind::updated);
}

TEST_P(PackageUpgrade, AnUpgradeKilledAtAnyMomentIsResumed) {
  for (long micros = 200; micros < 40'000; micros = micros * 3 / 2) {
    recreate();
    create_old_package(OldPackage::v1_1, address());
    plain_sql_.reset();
    const pid_t child = ::fork();
    if (child == 0) {
      migrate_managed_crm(address());
      ::_exit(0);
    }
    const timespec pause{0, micros * 1000};
    ::nanosleep(&pause, nullptr);  // the fault itself, not a wait for something
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    plain_sql_ = std::make_unique<sql::Database>(address());
    EXPECT_THAT(*managed_crm_version(address()), testing::AnyOf("1.1", "1.3", "1.8"));
    migrate_managed_crm(address());
    EXPECT_EQ(managed_crm_version(address()), "1.8") << micros;
    EXPECT_EQ(scalar("SELECT count(*) FROM crm_status_log"), "4");
    EXPECT_EQ(update(*crm(), 41, 1).kind, Kind::updated);
  }
}

TEST_P(PackageUpgrade, AnUnrelatedTableOfTheSameNameIsRejected) {
  sql("CREATE TABLE crm_gift_record (id TEXT)");
  EXPECT_THROW(migrate_managed_crm(address()), DependencyError);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "0");
}

// SYNC-41
TEST_P(PackageUpgrade, PublishedSettingsReplaceEarlierOnes) {
  migrate_managed_crm(address());
  publish_crm_settings(address(), {{"a", "1"}, {"b", "it's"}});
  publish_crm_settings(address(), {{"b", "two"}});
  EXPECT_EQ(scalar("SELECT name || value FROM crm_setting"), "btwo");
}

INSTANTIATE_TEST_SUITE_P(backends, PackageUpgrade,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

}  // namespace
}  // namespace giftsync::crm::managed
