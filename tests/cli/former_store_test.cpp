// A store that the programs of the first release made, with rows in every table, upgraded and read by the
// present program on both back ends (ARCH-12, ARCH-13). tests/schema/fixtures/make made it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <soci/postgresql/soci-postgresql.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include <fstream>
#include <map>
#include <sstream>

#include "schema/sql/queries.h"
#include "tests/cli/cli_fixture.h"
#include "tests/source_folder.h"
#include "tests/support/json.h"
#include "tests/support/temporary_database.h"

namespace giftsync::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class FormerStore : public tests::DatabaseFixture<> {
 protected:
  void SetUp() override {
    DatabaseFixture::SetUp();
    if (IsSkipped()) return;
    load();
    const bool is_sqlite = dialect() == sql::Dialect::sqlite;
    cli_.write("giftsyncd.yaml",
               "server: { base_url: \"http://127.0.0.1:8480\", admin_url: \"http://127.0.0.1:8480\" }\n"
               "email: { directory: outbox, from: gifts@example.com }\nstore: { backend: " +
                   std::string(is_sqlite ? "sqlite" : "postgresql") + ", connection: \"" +
                   address().connection + "\" }\n");
  }

  /// All statements at once, as an admin's restore does it.
  void load() {
    const std::string back_end = dialect() == sql::Dialect::sqlite ? "sqlite" : "postgresql";
    std::ifstream file(std::string(kSourceFolder) + "/tests/schema/fixtures/store_006_" + back_end + ".sql");
    std::ostringstream text;
    text << file.rdbuf();
    ASSERT_GT(text.str().size(), 10'000U);
    plain_sql_->read([&](soci::session& session) {
      if (dialect() == sql::Dialect::sqlite) {
        auto* backend = static_cast<soci::sqlite3_session_backend*>(session.get_backend());
        char* fault = nullptr;
        sqlite_api::sqlite3_exec(backend->conn_, text.str().c_str(), nullptr, nullptr, &fault);
        EXPECT_EQ(fault, nullptr) << fault;
        return;
      }
      auto* backend = static_cast<soci::postgresql_session_backend*>(session.get_backend());
      PGresult* result = PQexec(backend->conn_, text.str().c_str());
      EXPECT_EQ(PQresultStatus(result), PGRES_COMMAND_OK) << PQresultErrorMessage(result);
      PQclear(result);
    });
    sql("DELETE FROM store_metadata WHERE name = 'server'");  // as a restore in another cluster does
  }

  std::map<std::string, std::int64_t> counts() {
    std::map<std::string, std::int64_t> counts;
    plain_sql_->read([&](soci::session& session) {
      const auto tables = sql::select_column<std::string>(
          session, dialect() == sql::Dialect::sqlite
                       ? "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
                       : "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()");
      for (const std::string& table : tables)
        counts[table] = sql::select_value<std::int64_t>(session, "SELECT count(*) FROM " + table);
    });
    return counts;
  }

  CliFixture cli_{false};
};
INSTANTIATE_TEST_SUITE_P(BackEnds, FormerStore,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// ARCH-12, ARCH-13
TEST_P(FormerStore, IsUpgradedWithEachRowAndRead) {
  const std::map<std::string, std::int64_t> before = counts();
  EXPECT_GT(before.size(), 60U);
  for (const auto& [table, count] : before) EXPECT_GT(count, 0) << table << " is not tried";
  EXPECT_EQ(store::store_version(address()), 6);
  EXPECT_EQ(cli_.run({"gift", "list"}).code, 78) << "not without an upgrade";
  const std::string number = std::to_string(store::kStoreVersion);
  EXPECT_EQ(cli_.run({"db", "migrate", "--dry-run"}).out.find("store 6 would become " + number), 0U);
  EXPECT_EQ(counts(), before);
  const auto migrated = cli_.run({"db", "migrate"});
  ASSERT_EQ(migrated.code, 0) << migrated.err;
  EXPECT_EQ(store::store_version(address()), store::kStoreVersion);

  std::map<std::string, std::int64_t> after = counts();
  for (const auto& [table, count] : before) {
    // The upgrade itself is an event, the settings are published again, and new tables number their rows.
    if (table == "audit_event" || table == "store_metadata" || table == "crm_setting" || table == "id_block")
      EXPECT_GE(after[table], count) << table;
    else
      EXPECT_EQ(after[table], count) << table;
  }

  struct Case {
    std::vector<std::string> command;
    std::vector<std::string> parts;
  };
  // Each command opens store and CRM again, which takes a second: those that read most tables.
  const std::vector<Case> cases{
      {{"gift", "show", "1"}, {"ada@example.com", "Coffee", "Thank you!", "reported for the wrong gift"}},
      {{"gift", "show", "2"}, {"kim@example.com", "same person", "003A"}},
      {{"gift", "list"}, {"ada@example.com", "kim@example.com", "sent@example.com"}},
      {{"gift", "list", "--test"}, {"tess@example.com"}},
      {{"key", "list"}, {"ana@example.com", "gsk_live_", "gsk_test_"}},
      {{"held", "list"}, {"mugs"}},
      {{"request", "list"}, {"waits"}},
      {{"source", "quarantine", "vendor"}, {"unknown_status"}},
      {{"do-not-send", "list"}, {"eve@example.com", "asked by phone"}},
      {{"budget", "list"}, {"ana@example.com"}},
      {{"user", "list"}, {"ana@example.com", "operator"}},
      {{"audit", "list"}, {"organization.create", "db.migrate"}},
      {{"person", "export", "ada@example.com"}, {"Thank you!"}}};
  for (const Case& one : cases) {
    std::vector<std::string> command = one.command;
    if (command[0] != "person") command.emplace_back("--json");
    const auto result = cli_.run(command);
    EXPECT_EQ(result.code, 0) << command[0] << " " << command[1] << ": " << result.err;
    for (const std::string& part : one.parts)
      EXPECT_THAT(result.out, HasSubstr(part)) << command[0] << " " << command[1];
  }
  const auto status = tests::parse_json(cli_.run({"status", "--json"}).out);
  EXPECT_EQ(status["store"]["version"], store::kStoreVersion);
  EXPECT_EQ(status["mail"]["accepted"], 3);
  EXPECT_EQ(status["sources"][0]["quarantined"], 1);
  EXPECT_EQ(status["backfills"].size(), 0U);

  // The new columns and tables are written.
  const auto backfill = cli_.run({"backfill", "gift-records"});
  EXPECT_EQ(backfill.code, 0) << backfill.err;
  EXPECT_THAT(backfill.err, HasSubstr("Resumes after gift 2"));
  EXPECT_EQ(tests::parse_json(cli_.run({"status", "--json"}).out)["backfills"][0]["state"], "finished");
}

// ARCH-13: a daemon of version 6 that goes on beside a newer one writes rows with the columns that it knows.
TEST_P(FormerStore, TakesRowsWithTheColumnsOfBeforeAfterTheUpgrade) {
  const bool is_sqlite = dialect() == sql::Dialect::sqlite;
  const std::map<std::string, std::int64_t> before = counts();
  std::map<std::string, std::string> columns;
  for (const auto& [table, count] : before) {
    columns[table] = scalar(
        is_sqlite ? "SELECT group_concat('\"' || name || '\"') FROM pragma_table_info('" + table + "')"
                  : "SELECT string_agg(quote_ident(column_name), ',') FROM information_schema.columns WHERE "
                    "table_schema = current_schema() AND is_generated = 'NEVER' AND table_name = '" +
                        table + "'");
    ASSERT_GT(columns[table].size(), 5U) << table;
    sql("CREATE TABLE former_" + table + " AS SELECT * FROM " + table);
  }
  ASSERT_EQ(cli_.run({"db", "migrate"}).code, 0);
  // Foreign keys and triggers have seen these rows already.
  if (!is_sqlite) {
    const auto changes = plain_sql_->read([&](soci::session& session) {
      return sql::select_column<std::string>(
          session,
          "SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', cast(conrelid AS regclass), conname) FROM "
          "pg_constraint WHERE contype = 'f' UNION ALL SELECT format('ALTER TABLE %I DISABLE TRIGGER USER', "
          "tablename) FROM pg_tables WHERE schemaname = current_schema()");
    });
    for (const std::string& change : changes) sql(change);
  }
  const std::string overriding = is_sqlite ? "" : "OVERRIDING SYSTEM VALUE ";  // these rows have ids
  plain_sql_->read([&](soci::session& session) {
    if (is_sqlite) session << "PRAGMA foreign_keys = OFF";
    for (const auto& [table, names] : columns) {
      session << "DELETE FROM " + table;
      EXPECT_EQ(sql::change_rows(session, "INSERT INTO " + table + " (" + names + ") " + overriding +
                                              "SELECT " + names + " FROM former_" + table),
                before.at(table))
          << table;
    }
    if (is_sqlite) session << "PRAGMA foreign_keys = ON";
  });
}

}  // namespace
}  // namespace giftsync::cli
