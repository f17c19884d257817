// schema/sql_crm: how the managed CRM's tables come to be and follow the package's versions.
#include <array>
#include <cstdio>

#include "embedded/giftsync_schema.h"
#include "schema/sql/database.h"
#include "schema/sql_crm/columns.h"
#include "schema/sql_crm/gift_table.h"
#include "schema/sql_crm/sql_crm.h"

namespace giftsync::schema {
namespace {

using sql::Database;

struct PackageVersion {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const PackageVersion&, const PackageVersion&) = default;
};

std::string to_text(PackageVersion version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

PackageVersion version_from(const std::string& text) {
  PackageVersion version;
  char rest = '\0';
  if (std::sscanf(text.c_str(), "%d.%d%c", &version.major, &version.minor, &rest) == 2) return version;
  throw BrokenWorld(false, "crm_meta says that the CRM's tables are at package version \"" + text +
                               "\", which is no version such as 1.8; restore the database from a backup");
}

/// A step leads from the one before it to its version. Steps are never changed once released.
struct Step {
  PackageVersion version;
  void (*run)(soci::session& session, Dialect dialect);
};

void make_tables(soci::session& session, Dialect dialect) {
  sql::run_script(session, dialect, embedded::schema_sql_crm_crm_001_sql);
}

constexpr std::array<Step, 1> kSteps{{{{1, 8}, make_tables}}};

/// Two processes that migrate at once do so one after the other.
void take_turns(soci::session& session, Dialect dialect) {
  constexpr std::string_view kLock = "SELECT pg_advisory_xact_lock(hashtext('giftsync managed crm'))";
  if (dialect == Dialect::postgresql) session << std::string(kLock);  // SQLite: BEGIN IMMEDIATE does it
}

std::optional<std::string> stored_version(soci::session& session, Dialect dialect) {
  if (sql_crm::columns_of(session, dialect, "crm_meta").empty()) return std::nullopt;
  std::optional<std::string> stored;
  std::string value;
  soci::statement statement =
      (session.prepare << "SELECT value FROM crm_meta WHERE name = 'package_version'", soci::into(value));
  sql::each_row(statement, [&] { stored = value; });
  return stored;
}

void refuse_newer(const std::string& stored) {
  const PackageVersion newest = kSteps.back().version;
  if (version_from(stored) <= newest) return;
  throw BrokenWorld(false, "the CRM's tables are at package version " + stored +
                               ", made by a newer giftsync; this one" + " knows versions up to " +
                               to_text(newest) + ": install the newer giftsync again");
}

void run_step(soci::session& session, Dialect dialect, const Step& step) {
  take_turns(session, dialect);
  const std::optional<std::string> stored = stored_version(session, dialect);
  if (stored) refuse_newer(*stored);
  if (stored && version_from(*stored) >= step.version) return;
  session << "CREATE TABLE IF NOT EXISTS crm_meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)";
  step.run(session, dialect);
  session << "DELETE FROM crm_meta WHERE name = 'package_version'";
  session << "INSERT INTO crm_meta (name, value) VALUES ('package_version', '" + to_text(step.version) + "')";
}

}  // namespace

void migrate_managed_crm(const DatabaseAddress& address) {
  Database database(address);
  for (const Step& step : kSteps) {
    database.write([&](soci::session& session) { run_step(session, address.dialect, step); });
  }
  database.write([&](soci::session& session) {
    take_turns(session, address.dialect);
    sql_crm::ensure_gift_table(session, address.dialect);
  });
}

std::optional<std::string> managed_crm_version(const DatabaseAddress& address) {
  Database database(address);
  return database.read([&](soci::session& session) { return stored_version(session, address.dialect); });
}

}  // namespace giftsync::schema
