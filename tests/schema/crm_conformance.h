// The ground that every test of the SQL CRM stands on: a fresh managed CRM on each back end, and plain SQL
// beside it, as an admin would use it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "schema/address.h"
#include "schema/sql_crm/sql_crm.h"
#include "tests/schema/temporary_database.h"

namespace giftsync::schema {

class CrmConformance : public testing::TestWithParam<Dialect> {
 protected:
  void SetUp() override {
    if (!TemporaryDatabase::available(GetParam())) {
      GTEST_SKIP() << "GIFTSYNC_TEST_PG is not set: no PostgreSQL to test on";
    }
    database_ = std::make_unique<TemporaryDatabase>(GetParam());
    migrate_managed_crm(address());
    plain_ = std::make_unique<sql::Database>(address());
  }
  void TearDown() override {
    plain_.reset();
    database_.reset();
  }

  const DatabaseAddress& address() const { return database_->address(); }

  /// The settings' defaults (design 4).
  static MatchFields default_fields() {
    const PersonMatchFields person{{"Email"}, {"Phone", "MobilePhone"}, {"LastModifiedDate", true}};
    return {person, person, "US"};
  }
  std::unique_ptr<Crm> crm(const MatchFields& fields = default_fields()) const {
    return make_sql_crm({address(), "giftsync", fields});
  }

  void sql(const std::string& statement) {
    plain_->write([&](soci::session& session) { session << statement; });
  }
  /// The first column of the first row as text; "null" when it is null or there is no row.
  std::string scalar(const std::string& query) {
    return plain_->read([&](soci::session& session) {
      std::optional<std::string> value;
      soci::statement statement = (session.prepare << query, soci::into(value));
      sql::each_row(statement, [] {});
      return value.value_or("null");
    });
  }

  static RecipientKeys recipient(const std::string& email, const std::string& phone = "") {
    return {email_key(email), phone_key(phone, "US")};
  }
  static Candidates find(Crm& crm, PersonObject object, const RecipientKeys& keys) {
    return crm.find_candidates(object, std::span(&keys, 1)).front();
  }
  static std::vector<std::string> ids(const std::vector<Candidate>& people) {
    std::vector<std::string> all;
    for (const Candidate& person : people) all.push_back(person.id);
    return all;
  }
  static std::vector<std::string> by_email(Crm& crm, PersonObject object, const std::string& email) {
    return ids(find(crm, object, recipient(email)).by_email);
  }
  static std::vector<std::string> by_phone(Crm& crm, PersonObject object, const std::string& phone) {
    return ids(find(crm, object, recipient("", phone)).by_phone);
  }

 private:
  std::unique_ptr<TemporaryDatabase> database_;
  std::unique_ptr<sql::Database> plain_;
};

}  // namespace giftsync::schema
