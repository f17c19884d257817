// schema/crm/managed: how the managed CRM's tables come to be and follow the package's versions.
#include "schema/crm/managed/gift_table.h"
#include "schema/crm/managed/managed_crm.h"
#include "schema/crm/managed/upgrade_steps.h"
#include "schema/sql/database.h"

namespace giftsync::schema::crm::managed {
namespace {

/// Two processes that migrate at once do so one after the other.
void lock_for_migration(soci::session& session, sql::Dialect dialect) {
  constexpr std::string_view kLock = "SELECT pg_advisory_xact_lock(hashtext('giftsync managed crm'))";
  if (dialect != sql::Dialect::postgresql) return;  // SQLite: BEGIN IMMEDIATE does it
  session << "SET LOCAL lock_timeout TO 0";         // another process may take long
  session << std::string(kLock);
}

bool is_newer(const DetectedVersion& found) {
  return found.version > upgrade_steps().back().version;
}

void reject_newer(const DetectedVersion& found) {
  if (!is_newer(found)) return;
  throw platform::DependencyError(false, "the CRM's tables are at package version " + to_text(found.version) +
                                             ", made by a newer giftsync; this one knows versions up to " +
                                             to_text(upgrade_steps().back().version) +
                                             ": install the newer giftsync again");
}

void run_step(soci::session& session, sql::Dialect dialect, const UpgradeStep& step) {
  lock_for_migration(session, dialect);
  const std::optional<DetectedVersion> found = detect_version(session, dialect);
  if (found) reject_newer(*found);
  if (found && found->version >= step.version) return;
  const bool is_last = step.version == upgrade_steps().back().version;
  if (!found && !is_last) return;  // the last step creates new tables at once
  session << "CREATE TABLE IF NOT EXISTS crm_meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)";
  step.run(session, dialect);
  session << "DELETE FROM crm_meta WHERE name = 'package_version'";
  session << "INSERT INTO crm_meta (name, value) VALUES ('package_version', '" + to_text(step.version) + "')";
}

}  // namespace

void migrate_managed_crm(const sql::Dsn& address) {
  sql::Database database(address);
  for (const UpgradeStep& step : upgrade_steps()) {
    database.write([&](soci::session& session) { run_step(session, address.dialect, step); });
  }
  database.write([&](soci::session& session) {
    lock_for_migration(session, address.dialect);
    ensure_gift_table(session, address.dialect);
  });
}

std::optional<std::string> managed_crm_version(const sql::Dsn& address) {
  sql::Database database(address);
  return database.read([&](soci::session& session) -> std::optional<std::string> {
    const auto found = detect_version(session, address.dialect);
    return found ? std::optional(to_text(found->version)) : std::nullopt;
  });
}

ManagedCrmUpgradePlan plan_managed_crm_upgrade(const sql::Dsn& address) {
  sql::Database database(address);
  return database.snapshot([&](soci::session& session) {
    ManagedCrmUpgradePlan plan;
    const auto found = detect_version(session, address.dialect);
    if (found) {
      plan.version = to_text(found->version);
      plan.recorded = found->recorded;
      plan.newer = is_newer(*found);
    }
    for (const UpgradeStep& step : upgrade_steps()) {
      if (found && found->version >= step.version) continue;
      for (const std::string& sentence : step.describe(session, address.dialect))
        plan.steps.push_back(to_text(step.version) + ": " + sentence);
    }
    return plan;
  });
}

void publish_crm_settings(const sql::Dsn& address,
                          const std::vector<std::pair<std::string, std::string>>& settings) {
  sql::Database database(address);
  database.write([&](soci::session& session) {
    lock_for_migration(session, address.dialect);
    session << "DELETE FROM crm_setting";
    for (const auto& [name, value] : settings) {
      session << "INSERT INTO crm_setting (name, value) VALUES (:name, :value)", soci::use(name),
          soci::use(value);
    }
  });
}

}  // namespace giftsync::schema::crm::managed
