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

#include "schema/database_address.h"
#include "schema/sql/database.h"

namespace giftsync::schema {

/// SOCI makes a table at its first description of a column, and guards it in code that ThreadSanitizer does
/// not see into: it is made before a test starts its threads.
inline void describe_a_column() {
  static const bool done = [] {
    sql::Database nowhere({Dialect::sqlite, ":memory:"});
    nowhere.read([](soci::session& session) {
      soci::row row;
      session << "SELECT 1 AS one", soci::into(row);
    });
    return true;
  }();
  (void)done;
}

class TemporaryDatabase {
 public:
  explicit TemporaryDatabase(Dialect dialect) : dialect_(dialect) {
    describe_a_column();
    static std::atomic<int> counter{0};
    const std::string name = "giftsync_test_" + std::to_string(::getpid()) + "_" + std::to_string(counter++);
    if (dialect == Dialect::sqlite) {
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
    if (dialect_ == Dialect::sqlite) {
      std::filesystem::remove_all(folder_, ignored);
    } else {
      administer("DROP SCHEMA " + name_ + " CASCADE");
    }
  }
  TemporaryDatabase(const TemporaryDatabase&) = delete;
  TemporaryDatabase& operator=(const TemporaryDatabase&) = delete;

  const DatabaseAddress& address() const { return address_; }
  static bool available(Dialect dialect) {
    return dialect == Dialect::sqlite || std::getenv("GIFTSYNC_TEST_PG");
  }

 private:
  void administer(const std::string& statement) {
    sql::Database server({Dialect::postgresql, server_});
    server.read([&](soci::session& session) { session << statement; });
  }

  const Dialect dialect_;
  std::filesystem::path folder_;
  std::string server_;
  std::string name_;
  DatabaseAddress address_;
};

/// One statement in a transaction, as an admin would write it.
inline void run_sql(sql::Database& database, const std::string& statement) {
  database.write([&](soci::session& session) { session << statement; });
}
inline void run_sql(const DatabaseAddress& address, const std::string& statement) {
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

inline Dialect dialect_of(Dialect dialect) {
  return dialect;
}

/// What a test over the back ends stands on: an empty database, and the admin's hand in it, which is plain
/// SQL. Its parameter is the back end, or what has one (dialect_of).
template <class Parameter = Dialect>
class DatabaseGround : public testing::TestWithParam<Parameter> {
 protected:
  void SetUp() override {
    if (!TemporaryDatabase::available(dialect()))
      GTEST_SKIP() << "GIFTSYNC_TEST_PG is not set: no PostgreSQL to test on";
    begin_anew();
  }
  void TearDown() override {
    plain_.reset();
    database_.reset();
  }
  void begin_anew() {
    plain_.reset();
    database_ = std::make_unique<TemporaryDatabase>(dialect());
    plain_ = std::make_unique<sql::Database>(address());
  }

  static Dialect dialect() { return dialect_of(testing::TestWithParam<Parameter>::GetParam()); }
  const DatabaseAddress& address() const { return database_->address(); }
  void sql(const std::string& statement) { run_sql(*plain_, statement); }
  std::string scalar(const std::string& query) { return schema::scalar(*plain_, query); }

  std::unique_ptr<TemporaryDatabase> database_;
  std::unique_ptr<sql::Database> plain_;
};

inline std::string name_of_dialect(const testing::TestParamInfo<Dialect>& info) {
  return info.param == Dialect::sqlite ? "sqlite" : "postgresql";
}

}  // namespace giftsync::schema
