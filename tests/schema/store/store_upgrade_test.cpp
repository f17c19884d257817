// How a store gets its tables: the migration mechanism with scripts of its own, and the stores that the
// program refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "embedded/giftsync_schema_store.h"
#include "schema/store/store.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::HasSubstr;

constexpr std::string_view kFirst =
    "-- A comment.\n"
    "CREATE TABLE store_metadata (name TEXT PRIMARY KEY, value TEXT NOT NULL);;\n"
    "CREATE TABLE sample (id @key@, name TEXT NOT NULL);;\n";
constexpr std::string_view kFirstWithOtherComment =
    "CREATE TABLE store_metadata (name TEXT PRIMARY KEY, value TEXT NOT NULL);;\n"
    "-- Another comment.\n"
    "CREATE TABLE sample (id @key@, name TEXT NOT NULL);;\n";
constexpr std::string_view kFirstEdited =
    "CREATE TABLE store_metadata (name TEXT PRIMARY KEY, value TEXT NOT NULL);;\n"
    "CREATE TABLE sample (id @key@, name TEXT);;\n";
constexpr std::string_view kSecond =
    "ALTER TABLE sample ADD COLUMN length BIGINT NOT NULL DEFAULT 0;;\n"
    "UPDATE sample SET length = length(name);;\n";
constexpr std::string_view kFailingSecond =
    "ALTER TABLE sample ADD COLUMN length BIGINT NOT NULL DEFAULT 0;;\n"
    "UPDATE missing_table SET length = 1;;\n";

using Scripts = std::vector<std::string_view>;

class StoreUpgrade : public tests::DatabaseFixture<> {
 protected:
  void run(const Scripts& scripts) { run_migration(address(), scripts); }
  int version(const Scripts& scripts) { return read_store_version(address(), scripts); }

  /// The message of the refusal; it must not be transient.
  template <class Function>
  static std::string refusal_of(const Function& function) {
    try {
      function();
    } catch (const IncompatibleStoreError& fault) {
      EXPECT_FALSE(fault.transient());
      return fault.what();
    }
    ADD_FAILURE() << "the store was accepted";
    return {};
  }
  void expect_development_store_refused() {
    constexpr const char* kText = "made by a development version; start with an empty store";
    EXPECT_THAT(refusal_of([&] { migrate_store(address()); }), HasSubstr(kText));
    EXPECT_THAT(refusal_of([&] { store_version(address()); }), HasSubstr(kText));
  }
  std::string count_tables(const std::string& name) {
    return scalar(dialect() == sql::Dialect::sqlite
                      ? "SELECT cast(count(*) AS TEXT) FROM sqlite_master WHERE name = '" + name + "'"
                      : "SELECT cast(count(*) AS TEXT) FROM pg_class WHERE oid = to_regclass('" + name +
                            "')");
  }
};
INSTANTIATE_TEST_SUITE_P(BackEnds, StoreUpgrade,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(StoreUpgrade, RunsOnlyTheMissingScripts) {
  EXPECT_EQ(version({kFirst, kSecond}), 0);
  run({kFirst});
  EXPECT_EQ(version({kFirst, kSecond}), 1);
  sql("INSERT INTO sample (id, name) VALUES (1, 'coffee')");
  run({kFirst, kSecond});
  EXPECT_EQ(version({kFirst, kSecond}), 2);
  EXPECT_EQ(scalar("SELECT cast(length AS TEXT) FROM sample"), "6");
  sql("UPDATE sample SET length = 1");
  run({kFirst, kSecond});
  EXPECT_EQ(scalar("SELECT cast(length AS TEXT) FROM sample"), "1")
      << "a current store is not migrated again";
}

TEST_P(StoreUpgrade, ANewStoreGetsAllScripts) {
  run({kFirst, kSecond});
  EXPECT_EQ(version({kFirst, kSecond}), 2);
  sql("INSERT INTO sample (id, name, length) VALUES (1, 'coffee', 6)");
}

TEST_P(StoreUpgrade, AFailingScriptChangesNothing) {
  run({kFirst});
  EXPECT_THROW(run({kFirst, kFailingSecond}), DependencyError);
  EXPECT_EQ(version({kFirst, kSecond}), 1);
  run({kFirst, kSecond});
  EXPECT_EQ(version({kFirst, kSecond}), 2);
}

TEST_P(StoreUpgrade, ConcurrentMigrationsRunEachScriptOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { run({kFirst, kSecond}); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(version({kFirst, kSecond}), 2);
}

TEST_P(StoreUpgrade, RefusesAStoreNewerThanTheScripts) {
  run({kFirst, kSecond});
  EXPECT_EQ(version({kFirst}), 2);
  EXPECT_THAT(refusal_of([&] { run({kFirst}); }),
              HasSubstr("the store has version 2, this program knows versions up to 1"));
  EXPECT_EQ(version({kFirst, kSecond}), 2);
}

TEST_P(StoreUpgrade, RefusesEditedScriptsButNotEditedComments) {
  run({kFirst});
  EXPECT_EQ(version({kFirstWithOtherComment}), 1);
  EXPECT_THAT(refusal_of([&] { version({kFirstEdited}); }), HasSubstr("development version"));
  EXPECT_THAT(refusal_of([&] { run({kFirstEdited, kSecond}); }), HasSubstr("development version"));
  EXPECT_EQ(version({kFirst, kSecond}), 1) << "nothing was changed";
  EXPECT_THROW(sql("SELECT length FROM sample"), DependencyError);
}

// MATCH-1
TEST_P(StoreUpgrade, AStoreOfVersion1GetsAnIndexOfAddressesByBytes) {
  run({embedded::schema_sql_store_001_sql});
  EXPECT_EQ(store_version(address()), 1);
  migrate_store(address());
  EXPECT_EQ(store_version(address()), kStoreVersion);
  if (dialect() == sql::Dialect::sqlite) return;  // lower() folds A to Z alone there
  EXPECT_THAT(scalar("SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() AND indexname = "
                     "'recipient_transaction_email'"),
              HasSubstr("COLLATE \"C\""));
}

TEST_P(StoreUpgrade, AStoreOfVersion2GetsTheTablesOfNotices) {
  run({embedded::schema_sql_store_001_sql, embedded::schema_sql_store_002_sql});
  EXPECT_EQ(count_tables("sender_notice"), "0");
  migrate_store(address());
  EXPECT_EQ(count_tables("sender_notice"), "1");
}

// covers: GUARD-14
TEST_P(StoreUpgrade, WhatWasReportedOfABudgetStaysReported) {
  run({embedded::schema_sql_store_001_sql, embedded::schema_sql_store_002_sql,
       embedded::schema_sql_store_003_sql, embedded::schema_sql_store_004_sql,
       embedded::schema_sql_store_005_sql});
  sql("INSERT INTO sending_usage (id, gifts, amount, warned) VALUES ('2026-11 all', 8, 500, 80), ('2026-10 "
      "all', "
      "7, 300, 0)");
  migrate_store(address());
  const std::string reported = "SELECT warned_gifts || ' ' || warned_amount FROM sending_usage WHERE id = ";
  EXPECT_EQ(scalar(reported + "'2026-11 all'"), "8 500");
  EXPECT_EQ(scalar(reported + "'2026-10 all'"), "0 0");
}

// A script that installations have run is never edited: a change is a script of its own.
TEST_P(StoreUpgrade, FormerScriptsAreAsTheyWere) {
  const bool is_sqlite = dialect() == sql::Dialect::sqlite;
  const std::string fingerprint = "SELECT value FROM store_metadata WHERE name = 'schema_fingerprint'";
  run({embedded::schema_sql_store_001_sql});
  EXPECT_EQ(scalar(fingerprint), is_sqlite
                                     ? "4c45ba4d9d78511b2dc5c3817274ccfa5cc6d82e8b8b001ccc22f271fdf059b8"
                                     : "c0f0c85affd94fccfecca2a1ace93e71f70298aa90e88d5728dd183b33434253");
  run({embedded::schema_sql_store_001_sql, embedded::schema_sql_store_002_sql});
  EXPECT_EQ(scalar(fingerprint), is_sqlite
                                     ? "46e1a514a40ce1b9e7f4bf483795ce165b9c3f63bb12d120c7ed1b3d3e44a641"
                                     : "1519cee954ff6dce28260f3bd707e031ab751a2281472a82ea601c5466077cc7");
}

// ARCH-12
TEST_P(StoreUpgrade, RefusesARealStoreWithAnotherFingerprint) {
  migrate_store(address());
  EXPECT_EQ(store_version(address()), kStoreVersion);
  sql("UPDATE store_metadata SET value = 'other' WHERE name = 'schema_fingerprint'");
  expect_development_store_refused();
  sql("DELETE FROM store_metadata WHERE name = 'schema_fingerprint'");
  expect_development_store_refused();
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM store_metadata WHERE name = 'schema_fingerprint'"),
            "0");
}

TEST_P(StoreUpgrade, RefusesAStoreWithTheOldTablesAndLeavesItUntouched) {
  sql("CREATE TABLE store_fact (name TEXT PRIMARY KEY, value TEXT NOT NULL)");
  sql("INSERT INTO store_fact (name, value) VALUES ('version', '3')");
  expect_development_store_refused();
  EXPECT_EQ(count_tables("store_metadata"), "0");
  EXPECT_EQ(scalar("SELECT value FROM store_fact"), "3");
}

}  // namespace
}  // namespace giftsync::store
