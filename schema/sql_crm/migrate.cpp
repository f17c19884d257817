// schema/sql_crm: how the managed CRM's tables come to be and follow the package's versions.
#include "schema/sql/database.h"
#include "schema/sql_crm/gift_table.h"
#include "schema/sql_crm/package_steps.h"
#include "schema/sql_crm/sql_crm.h"

namespace giftsync::schema {
namespace {

using sql::Database;
using namespace sql_crm;

/// Two processes that migrate at once do so one after the other.
void take_turns(soci::session& session, Dialect dialect) {
  constexpr std::string_view kLock = "SELECT pg_advisory_xact_lock(hashtext('giftsync managed crm'))";
  if (dialect != Dialect::postgresql) return;  // SQLite: BEGIN IMMEDIATE does it
  session << "SET LOCAL lock_timeout TO 0";    // however long the other one takes
  session << std::string(kLock);
}

bool is_newer(const FoundVersion& found) {
  return found.version > package_steps().back().version;
}

void refuse_newer(const FoundVersion& found) {
  if (!is_newer(found)) return;
  throw BrokenWorld(false, "the CRM's tables are at package version " + to_text(found.version) +
                               ", made by a newer giftsync; this one knows versions up to " +
                               to_text(package_steps().back().version) +
                               ": install the newer giftsync again");
}

void run_step(soci::session& session, Dialect dialect, const PackageStep& step) {
  take_turns(session, dialect);
  const std::optional<FoundVersion> found = find_version(session, dialect);
  if (found) refuse_newer(*found);
  if (found && found->version >= step.version) return;
  const bool is_last = step.version == package_steps().back().version;
  if (!found && !is_last) return;  // new tables are made by the last step at once
  session << "CREATE TABLE IF NOT EXISTS crm_meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)";
  step.run(session, dialect);
  session << "DELETE FROM crm_meta WHERE name = 'package_version'";
  session << "INSERT INTO crm_meta (name, value) VALUES ('package_version', '" + to_text(step.version) + "')";
}

}  // namespace

void migrate_managed_crm(const DatabaseAddress& address) {
  Database database(address);
  for (const PackageStep& step : package_steps()) {
    database.write([&](soci::session& session) { run_step(session, address.dialect, step); });
  }
  database.write([&](soci::session& session) {
    take_turns(session, address.dialect);
    ensure_gift_table(session, address.dialect);
  });
}

std::optional<std::string> managed_crm_version(const DatabaseAddress& address) {
  Database database(address);
  return database.read([&](soci::session& session) -> std::optional<std::string> {
    const auto found = find_version(session, address.dialect);
    return found ? std::optional(to_text(found->version)) : std::nullopt;
  });
}

ManagedCrmPlan plan_managed_crm(const DatabaseAddress& address) {
  Database database(address);
  return database.snapshot([&](soci::session& session) {
    ManagedCrmPlan plan;
    const auto found = find_version(session, address.dialect);
    if (found) {
      plan.version = to_text(found->version);
      plan.recorded = found->recorded;
      plan.newer = is_newer(*found);
    }
    for (const PackageStep& step : package_steps()) {
      if (found && found->version >= step.version) continue;
      for (const std::string& sentence : step.tell(session, address.dialect))
        plan.steps.push_back(to_text(step.version) + ": " + sentence);
    }
    return plan;
  });
}

void publish_settings(const DatabaseAddress& address,
                      const std::vector<std::pair<std::string, std::string>>& settings) {
  Database database(address);
  database.write([&](soci::session& session) {
    take_turns(session, address.dialect);
    session << "DELETE FROM crm_setting";
    for (const auto& [name, value] : settings) {
      session << "INSERT INTO crm_setting (name, value) VALUES (:name, :value)", soci::use(name),
          soci::use(value);
    }
  });
}

}  // namespace giftsync::schema
