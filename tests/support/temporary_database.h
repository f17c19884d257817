// Tests of the store and the SQL CRM run over every back end: SQLite always, PostgreSQL when GIFTSYNC_TEST_PG
// holds a connection string (scripts/with-postgresql sets it). Each test has a database of its own, and plain
// SQL in it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "schema/sql/dsn.h"

namespace giftsync::sql {
class Database;
}

namespace giftsync::tests {

class TemporaryDatabase {
 public:
  explicit TemporaryDatabase(sql::Dialect dialect);
  ~TemporaryDatabase();
  TemporaryDatabase(const TemporaryDatabase&) = delete;
  TemporaryDatabase& operator=(const TemporaryDatabase&) = delete;

  const sql::Dsn& address() const { return address_; }
  static bool available(sql::Dialect dialect);

 private:
  void administer(const std::string& statement);

  const sql::Dialect dialect_;
  std::filesystem::path folder_;
  std::string server_;
  std::string name_;
  sql::Dsn address_;
};

std::shared_ptr<sql::Database> open_database(const sql::Dsn& address);
/// One statement in a transaction, as an admin would write it.
void run_sql(sql::Database& database, const std::string& statement);
void run_sql(const sql::Dsn& address, const std::string& statement);
/// The first column of the one row that the query has, as text; "null" when it is null or there is no row.
std::string scalar(sql::Database& database, const std::string& query);

inline sql::Dialect dialect_of(sql::Dialect dialect) {
  return dialect;
}

/// The fixture of tests over the back ends: an empty database and plain SQL in it. The parameter is the back
/// end, or something that has one (dialect_of).
template <class Parameter = sql::Dialect>
class DatabaseFixture : public testing::TestWithParam<Parameter> {
 protected:
  void SetUp() override {
    if (!TemporaryDatabase::available(dialect()))
      GTEST_SKIP() << "GIFTSYNC_TEST_PG is not set: no PostgreSQL to test on";
    recreate();
  }
  void TearDown() override {
    plain_sql_.reset();
    database_.reset();
  }
  void recreate() {
    plain_sql_.reset();
    database_ = std::make_unique<TemporaryDatabase>(dialect());
    plain_sql_ = open_database(address());
  }

  static sql::Dialect dialect() { return dialect_of(testing::TestWithParam<Parameter>::GetParam()); }
  const sql::Dsn& address() const { return database_->address(); }
  void sql(const std::string& statement) { run_sql(*plain_sql_, statement); }
  std::string scalar(const std::string& query) { return tests::scalar(*plain_sql_, query); }

  std::unique_ptr<TemporaryDatabase> database_;
  std::shared_ptr<sql::Database> plain_sql_;
};

inline std::string name_of_dialect(const testing::TestParamInfo<sql::Dialect>& info) {
  return info.param == sql::Dialect::sqlite ? "sqlite" : "postgresql";
}

}  // namespace giftsync::tests
