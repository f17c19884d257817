#include "tests/support/temporary_database.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <optional>

#include "schema/sql/database.h"

namespace giftsync::tests {
namespace {

/// SOCI creates a table at its first description of a column and guards it in code that ThreadSanitizer
/// cannot see: create it before a test starts its threads.
void initialize_soci_tables() {
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

}  // namespace

TemporaryDatabase::TemporaryDatabase(sql::Dialect dialect) : dialect_(dialect) {
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

TemporaryDatabase::~TemporaryDatabase() {
  std::error_code ignored;
  if (dialect_ == sql::Dialect::sqlite) {
    std::filesystem::remove_all(folder_, ignored);
  } else {
    administer("DROP SCHEMA " + name_ + " CASCADE");
  }
}

bool TemporaryDatabase::available(sql::Dialect dialect) {
  return dialect == sql::Dialect::sqlite || std::getenv("GIFTSYNC_TEST_PG");
}

void TemporaryDatabase::administer(const std::string& statement) {
  sql::Database server({sql::Dialect::postgresql, server_});
  server.read([&](soci::session& session) { session << statement; });
}

std::shared_ptr<sql::Database> open_database(const sql::Dsn& address) {
  return std::make_shared<sql::Database>(address);
}

void run_sql(sql::Database& database, const std::string& statement) {
  database.write([&](soci::session& session) { session << statement; });
}

void run_sql(const sql::Dsn& address, const std::string& statement) {
  sql::Database database(address);
  run_sql(database, statement);
}

std::string scalar(sql::Database& database, const std::string& query) {
  return database.read([&](soci::session& session) {
    std::optional<std::string> value;
    soci::statement statement = (session.prepare << query, soci::into(value));
    sql::each_row(statement, [] {});
    return value.value_or("null");
  });
}

}  // namespace giftsync::tests
