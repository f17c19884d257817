// Fixture of the backfill tests: a real store and a CRM, managed or external on each back end, or an org of
// Salesforce beside a store of SQLite. An admin's edits are plain SQL.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "crm/sql/managed/managed_crm.h"
#include "sync/crm/crm_reconciliation.h"
#include "sync/crm/status_log_backfill.h"
#include "sync/crm/sync_step.h"
#include "tests/crm/crm_under_test.h"
#include "tests/crm/external_crm_tables.h"
#include "tests/crm/salesforce_exceptions.h"
#include "tests/salesforce/org_under_test.h"
#include "tests/support/temporary_database.h"

namespace giftsync::tests {

inline constexpr UtcMillis kNow{1'800'000'000'000};  // 2027-01-15T08:00:00Z

class BackfillFixture : public DatabaseFixture<crm::CrmUnderTest> {
 protected:
  void SetUp() override {
    if (GetParam() == crm::CrmUnderTest::salesforce_bare)
      GTEST_SKIP() << "a backfill reads and repairs an org alike in both modes";
    if (const char* reason = is_salesforce() ? crm::reason_of_exception(false) : nullptr)
      GTEST_SKIP() << reason;
    DatabaseFixture::SetUp();
    if (IsSkipped()) return;
    store::migrate_store(database_->address());
    if (is_salesforce())
      org_ = std::make_unique<OrgUnderTest>();
    else if (is_managed())
      crm::managed::migrate_managed_crm(database_->address());
    else
      crm::create_external_crm(database_->address());
    store_ = std::make_unique<store::Store>(database_->address());
    const crm::PersonMatchFields person{{"Email"}, {"Phone", "MobilePhone"}, {"LastModifiedDate", true}};
    rules_.match_fields = {person, person, "US"};
    rules_.link_of = [](const store::RecipientTransaction& gift) {
      return gift.gift_source.empty() ? "https://gifts.test/g/x" : "";
    };
    crm_ = make_crm(crm::external_crm_names());
    sql("INSERT INTO crm_user (id, email) VALUES ('u1', 'sam@example.com')");
  }
  void TearDown() override {
    crm_.reset();
    org_.reset();
    store_.reset();
    DatabaseFixture::TearDown();
  }

  static bool is_managed() { return crm::is_managed(GetParam()); }
  static bool is_salesforce() { return GetParam() == crm::CrmUnderTest::salesforce; }

  /// An org's tables are not in the store's database.
  static bool is_of_org(const std::string& statement) {
    static const std::regex kTable(R"(\bcrm_(gift_record|contact|lead|account|user|task|status_log)\b)");
    return is_salesforce() && std::regex_search(statement, kTable);
  }
  void sql(const std::string& statement) {
    is_of_org(statement) ? org_->sql(statement) : DatabaseFixture::sql(statement);
  }
  std::string scalar(const std::string& query) {
    return is_of_org(query) ? org_->scalar(query) : DatabaseFixture::scalar(query);
  }
  /// The names apply to an external CRM; the managed one has its own.
  std::unique_ptr<crm::Crm> make_crm(const crm::external::ExternalCrmNames& names,
                                     const crm::sql_crm::StatusLogLocation& log = {}) {
    if (is_salesforce()) return org_->crm(rules_.match_fields);
    if (is_managed())
      return crm::managed::make_managed_crm({database_->address(), "giftsync", rules_.match_fields, log});
    crm::external::ExternalCrmOptions options{
        database_->address(), names, rules_.match_fields, false, {}, log};
    options.newest_versions = [this](std::span<const TransactionId> ids) {
      std::vector<std::pair<TransactionId, std::int64_t>> versions;
      for (const store::Gift& gift : store_->gifts.find(ids))
        versions.emplace_back(gift.transaction.id, gift.transaction.version);
      return versions;
    };
    return crm::external::make_external_crm(options);
  }

  /// A column of the gift's record; times as RFC 3339 on both back ends.
  std::string record(std::int64_t gift, const std::string& column) {
    const bool is_time =
        dialect() == sql::Dialect::postgresql && (column.ends_with("_time") || column.ends_with("createdat"));
    const std::string value =
        is_time ? "to_char(" + column + " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
                : "cast(" + column + " as text)";
    return scalar("SELECT " + value +
                  " FROM crm_gift_record WHERE recipienttransactionid = " + std::to_string(gift));
  }
  void set(std::int64_t gift, const std::string& assignment) {
    sql("UPDATE crm_gift_record SET " + assignment +
        " WHERE recipienttransactionid = " + std::to_string(gift));
  }
  /// A record as the old package would have left it, with further columns and their values.
  void old_record(std::int64_t gift, const std::string& columns = "", const std::string& values = "") {
    const std::string id = std::to_string(gift);
    sql("INSERT INTO crm_gift_record (id, recipienttransactionid, recipient_email, "
        "recipienttransactioncreatedat" +
        columns + ") VALUES ('old" + id + "', " + id + ", 'old" + id +
        "@example.com', '2020-01-01T00:00:00.000Z'" + values + ")");
  }

  TransactionId send(const std::string& email) {
    store::NewGiftRequest new_request;
    new_request.request.account = {1};
    new_request.request.gift = {7};
    new_request.request.item_name = "Coffee";
    new_request.request.costs = {Money{500}, Money{0}, Money{10}, Money{40}};
    new_request.request.sender_email = "sam@example.com";
    new_request.request.created_at = kNow;
    new_request.recipients.push_back({email, "Ada", "", "Thank you"});
    return store_->gifts.create(std::span(&new_request, 1)).front().recipients.front().id;
  }
  void report(std::int64_t gift, Status status, std::int64_t after_millis, const std::string& origin = "") {
    store::StatusChange change{{}, "test", {gift}, status, kNow + after_millis, kNow, {}};
    change.gift_source = origin;
    outcome_ = store_->changes.accept(std::span(&change, 1)).front();
  }
  void sync() {
    while (sync::sync_step(*store_, *crm_, rules_, {"one", 60'000}, kNow + 1).claimed > 0) {
    }
  }

  std::unique_ptr<OrgUnderTest> org_;  ///< of Salesforce
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<crm::Crm> crm_;
  sync::SyncRules rules_;
  store::AcceptOutcome outcome_ = store::AcceptOutcome::orphaned;
};

}  // namespace giftsync::tests
