// Tests of the store and the SQL CRM run over every back end: SQLite always, PostgreSQL when GIFTSYNC_TEST_PG
// holds a connection string (scripts/with-postgresql sets it). Each test has a database of its own, and plain
// SQL in it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "schema/sql/database.h"
#include "schema/sql/dsn.h"

namespace giftsync::tests {

/// SOCI creates a table at its first description of a column and guards it in code that ThreadSanitizer
/// cannot see: create it before a test starts its threads.
inline void initialize_soci_tables() {
  static const bool done = [] {
    sql::Database in_memory({sql::Dialect::sqlite, ":memory:"});
    in_memory.read([](soci::session& session) {
      soci::row row;
      session << "SELECT 1 AS one", soci::into(row);
    });
    return true;
  }();
  (void)done;
}

class TemporaryDatabase {
 public:
  explicit TemporaryDatabase(sql::Dialect dialect) : dialect_(dialect) {
    initialize_soci_tables();
    static std::atomic<int> counter{0};
    const std::string name = "giftsync_test_" + std::to_string(::getpid()) + "_" + std::to_string(counter++);
    if (dialect == sql::Dialect::sqlite) {
      folder_ = std::filesystem::temp_directory_path() / name;
      std::filesystem::remove_all(folder_);  // of a killed test that had this process number
      std::filesystem::create_directories(folder_);
      address_ = {dialect, (folder_ / "store.db").string()};
      return;
    }
    server_ = std::getenv("GIFTSYNC_TEST_PG");
    name_ = name;
    administer("CREATE SCHEMA " + name_);
    address_ = {dialect, server_ + " options='-c search_path=" + name_ + "'"};
  }
  ~TemporaryDatabase() {
    std::error_code ignored;
    if (dialect_ == sql::Dialect::sqlite) {
      std::filesystem::remove_all(folder_, ignored);
    } else {
      administer("DROP SCHEMA " + name_ + " CASCADE");
    }
  }
  TemporaryDatabase(const TemporaryDatabase&) = delete;
  TemporaryDatabase& operator=(const TemporaryDatabase&) = delete;

  const sql::Dsn& address() const { return address_; }
  static bool available(sql::Dialect dialect) {
    return dialect == sql::Dialect::sqlite || std::getenv("GIFTSYNC_TEST_PG");
  }

 private:
  void administer(const std::string& statement) {
    sql::Database server({sql::Dialect::postgresql, server_});
    server.read([&](soci::session& session) { session << statement; });
  }

  const sql::Dialect dialect_;
  std::filesystem::path folder_;
  std::string server_;
  std::string name_;
  sql::Dsn address_;
};

/// One statement in a transaction, as an admin would write it.
inline void run_sql(sql::Database& database, const std::string& statement) {
  database.write([&](soci::session& session) { session << statement; });
}
inline void run_sql(const sql::Dsn& address, const std::string& statement) {
  sql::Database database(address);
  run_sql(database, statement);
}
/// The first column of the one row that the query has, as text; "null" when it is null or there is no row.
inline std::string scalar(sql::Database& database, const std::string& query) {
  return database.read([&](soci::session& session) {
    std::optional<std::string> value;
    soci::statement statement = (session.prepare << query, soci::into(value));
    sql::each_row(statement, [] {});
    return value.value_or("null");
  });
}

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
    plain_sql_ = std::make_unique<sql::Database>(address());
  }

  static sql::Dialect dialect() { return dialect_of(testing::TestWithParam<Parameter>::GetParam()); }
  const sql::Dsn& address() const { return database_->address(); }
  void sql(const std::string& statement) { run_sql(*plain_sql_, statement); }
  std::string scalar(const std::string& query) { return tests::scalar(*plain_sql_, query); }

  std::unique_ptr<TemporaryDatabase> database_;
  std::unique_ptr<sql::Database> plain_sql_;
};

inline std::string name_of_dialect(const testing::TestParamInfo<sql::Dialect>& info) {
  return info.param == sql::Dialect::sqlite ? "sqlite" : "postgresql";
}

}  // namespace giftsync::tests
