// The ground that the tests of both backfills stand on: a real store and a CRM in SQL, managed or somebody
// else's, on each back end, and the admin's hand, which is plain SQL.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/sql_crm/sql_crm.h"
#include "sync/record_backfill.h"
#include "sync/status_log_backfill.h"
#include "sync/sync_step.h"
#include "tests/schema/crm_under_test.h"
#include "tests/schema/owners_crm.h"
#include "tests/schema/temporary_database.h"

namespace giftsync::sync {

inline constexpr schema::UtcMillis kNow{1'800'000'000'000};  // 2027-01-15T08:00:00Z

class BackfillGround : public schema::DatabaseGround<schema::CrmUnderTest> {
 protected:
  void SetUp() override {
    DatabaseGround::SetUp();
    if (IsSkipped()) return;
    schema::migrate_store(database_->address());
    if (is_managed())
      schema::migrate_managed_crm(database_->address());
    else
      schema::make_owners_crm(database_->address());
    store_ = std::make_unique<schema::Store>(database_->address());
    const schema::PersonMatchFields person{{"Email"}, {"Phone", "MobilePhone"}, {"LastModifiedDate", true}};
    rules_.match_fields = {person, person, "US"};
    rules_.link_of = [](const schema::RecipientTransaction& gift) {
      return gift.origin.empty() ? "https://gifts.test/g/x" : "";
    };
    crm_ = make_crm(schema::owners_names());
    sql("INSERT INTO crm_user (id, email) VALUES ('u1', 'sam@example.com')");
  }
  void TearDown() override {
    crm_.reset();
    store_.reset();
    DatabaseGround::TearDown();
  }

  static bool is_managed() { return schema::is_managed(GetParam()); }
  /// The names are of a CRM that somebody else owns; the managed one has its own.
  std::unique_ptr<schema::Crm> make_crm(const schema::ForeignNames& names,
                                        const schema::StatusLogPlace& log = {}) {
    if (is_managed())
      return schema::make_sql_crm({database_->address(), "giftsync", rules_.match_fields, log});
    schema::ForeignCrmOptions options{database_->address(), names, rules_.match_fields, false, {}, log};
    options.newest = [this](std::span<const schema::TransactionId> ids) {
      std::vector<std::pair<schema::TransactionId, std::int64_t>> versions;
      for (const schema::Gift& gift : store_->gifts.gifts(ids))
        versions.emplace_back(gift.transaction.id, gift.transaction.version);
      return versions;
    };
    return schema::make_foreign_crm(options);
  }

  /// A column of the gift's record; times as RFC 3339 on both back ends.
  std::string record(std::int64_t gift, const std::string& column) {
    const bool is_time = dialect() == schema::Dialect::postgresql &&
                         (column.ends_with("_time") || column.ends_with("createdat"));
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
  /// A record as the package of old would have left it, with further columns and their values.
  void old_record(std::int64_t gift, const std::string& columns = "", const std::string& values = "") {
    const std::string id = std::to_string(gift);
    sql("INSERT INTO crm_gift_record (id, recipienttransactionid, recipient_email, "
        "recipienttransactioncreatedat" +
        columns + ") VALUES ('old" + id + "', " + id + ", 'old" + id +
        "@example.com', '2020-01-01T00:00:00.000Z'" + values + ")");
  }

  schema::TransactionId send(const std::string& email) {
    schema::NewGiftRequest asked;
    asked.request.account = {1};
    asked.request.gift = {7};
    asked.request.item_name = "Coffee";
    asked.request.costs = {schema::Money{500}, schema::Money{0}, schema::Money{10}, schema::Money{40}};
    asked.request.sender_email = "sam@example.com";
    asked.request.created_at = kNow;
    asked.recipients.push_back({email, "Ada", "", "Thank you"});
    return store_->gifts.create(std::span(&asked, 1)).front().recipients.front().id;
  }
  void report(std::int64_t gift, schema::Status status, std::int64_t after_millis,
              const std::string& origin = "") {
    schema::StatusChange change{{}, "test", {gift}, status, kNow + after_millis, kNow, {}};
    change.origin = origin;
    outcome_ = store_->changes.accept(std::span(&change, 1)).front();
  }
  void sync() {
    while (sync_step(*store_, *crm_, rules_, {"one", 60'000}, kNow + 1).claimed > 0) {
    }
  }

  std::unique_ptr<schema::Store> store_;
  std::unique_ptr<schema::Crm> crm_;
  SyncRules rules_;
  schema::AcceptOutcome outcome_ = schema::AcceptOutcome::held;
};

}  // namespace giftsync::sync
