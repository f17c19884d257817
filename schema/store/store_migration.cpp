#include "schema/store/store_migration.h"

#include <string>

#include "platform/digest.h"
#include "schema/sql/queries.h"
#include "schema/store/store.h"

namespace giftsync::schema::store {
namespace {

using soci::use;

bool has_table(soci::session& session, sql::Dialect dialect, const std::string& table) {
  return sql::select_value<std::int64_t>(
             session,
             dialect == sql::Dialect::sqlite
                 ? "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = :name"
                 : "SELECT count(*) FROM pg_class WHERE oid = to_regclass(:name)",
             use(table)) > 0;
}

/// Of the statements only: an edited comment does not invalidate a store.
std::string fingerprint(sql::Dialect dialect, MigrationScripts scripts) {
  std::string statements;
  for (const std::string_view script : scripts) {
    for (const std::string& statement : sql::statements_of(dialect, script)) statements += statement + ";;\n";
  }
  return platform::sha256_hex(statements);
}

int checked_version(soci::session& session, sql::Dialect dialect, MigrationScripts scripts) {
  const auto reject = [] {
    throw IncompatibleStoreError(
        "the store was made by a development version; start with an empty store (nothing was changed)");
  };
  if (has_table(session, dialect, "store_fact"))
    reject();  // the table's name before it became store_metadata
  if (!has_table(session, dialect, "store_metadata")) return 0;
  const std::string recorded = read_metadata(session, "version").value_or("");
  const int version = recorded.empty() ? 0 : std::stoi(recorded);
  if (version > static_cast<int>(scripts.size())) return version;
  const MigrationScripts applied = scripts.first(static_cast<std::size_t>(version));
  if (read_metadata(session, "schema_fingerprint").value_or("") != fingerprint(dialect, applied)) reject();
  return version;
}

/// One process migrates at a time: on SQLite BEGIN IMMEDIATE ensures it, on PostgreSQL this lock.
void lock_migration(soci::session& session, sql::Dialect dialect) {
  constexpr std::string_view kLock = "SELECT count(*) FROM (SELECT pg_advisory_xact_lock(7208291)) locked";
  if (dialect != sql::Dialect::postgresql) return;
  session << "SET LOCAL lock_timeout TO 0";  // another process may take long
  sql::select_value<std::int64_t>(session, kLock);
}

}  // namespace

std::optional<std::string> read_metadata(soci::session& session, const std::string& name) {
  return sql::select_value<std::optional<std::string>>(
      session, "SELECT max(value) FROM store_metadata WHERE name = :name", use(name));
}

void write_metadata(soci::session& session, const std::string& name, const std::string& value) {
  session
      << "INSERT INTO store_metadata (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET "
         "value = excluded.value",
      use(name), use(value);
}

int read_store_version(const sql::Dsn& dsn, MigrationScripts scripts) {
  sql::Database database(dsn);
  return database.read(
      [&](soci::session& session) { return checked_version(session, dsn.dialect, scripts); });
}

void run_migration(const sql::Dsn& dsn, MigrationScripts scripts) {
  const int newest = static_cast<int>(scripts.size());
  sql::Database database(dsn);
  const int found =
      database.read([&](soci::session& session) { return checked_version(session, dsn.dialect, scripts); });
  if (found == newest) return;
  database.write([&](soci::session& session) {
    lock_migration(session, dsn.dialect);
    const int version = checked_version(session, dsn.dialect, scripts);
    if (version > newest) {
      throw IncompatibleStoreError(
          "the store has version " + std::to_string(version) + ", this program knows versions up to " +
          std::to_string(newest) +
          "; install the newer giftsync again, or restore the backup from before it");
    }
    if (version == newest) return;  // another process was first
    for (const std::string_view script : scripts.subspan(static_cast<std::size_t>(version)))
      sql::run_script(session, dsn.dialect, script);
    write_metadata(session, "version", std::to_string(newest));
    write_metadata(session, "schema_fingerprint", fingerprint(dsn.dialect, scripts));
  });
}

}  // namespace giftsync::schema::store
