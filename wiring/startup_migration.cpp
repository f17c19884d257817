#include "wiring/startup_migration.h"

#include <spdlog/spdlog.h>

#include "schema/store/store.h"
#include "wiring/config_error.h"
#include "wiring/crm_config.h"
#include "wiring/database_config.h"
#include "wiring/server_secret_config.h"
#include "wiring/store_preflight.h"

namespace giftsync::wiring {
namespace {

void log_upgrade(const CrmUpgradePlan& plan) {
  if (!plan.version) return;
  for (const std::string& step : plan.steps)
    spdlog::info("upgrading the built-in CRM's tables to version {}", step);
}

void migrate_and_check_crm(const daemon::config::Settings& settings) {
  migrate_crm(settings);
  publish_crm_settings(settings);
  const CrmCheck check = check_crm(settings);
  for (const std::string& warning : check.warnings()) spdlog::warn("{}", warning);
  std::string faults;
  for (const std::string& fault : check.faults) faults += (faults.empty() ? "" : "; ") + fault;
  if (!faults.empty()) throw ConfigError(settings.file + ": " + faults);
}

int checked_store_version(const daemon::config::Settings& settings) {
  try {
    return existing_store_version(settings);
  } catch (const schema::store::IncompatibleStoreError& fault) {
    throw ConfigError(store_location(settings) + ": " + fault.what());
  }
}

}  // namespace

schema::sql::Dsn migrate_and_check_databases(const daemon::config::Settings& settings) {
  schema::sql::Dsn address = store_dsn(settings.store);
  if (const auto faults = connection_faults(settings); !faults.empty()) throw ConfigError(faults.front());
  if (settings.store.backend == daemon::config::StoreBackend::postgresql) {
    for (const std::string& warning : server_warnings(settings)) spdlog::warn("{}", warning);
  }
  const int store = checked_store_version(settings);
  if (const auto fault = store == 0 ? secret_without_store_fault(settings) : std::nullopt)
    throw ConfigError(*fault);
  const CrmUpgradePlan plan = crm_upgrade_plan(settings);
  if (const auto fault = newer_tables_fault(settings, store, plan)) throw ConfigError(*fault);
  log_upgrade(plan);
  schema::store::migrate_store(address);
  if (store == 0) spdlog::info("the store is new: {}", store_location(settings));
  migrate_and_check_crm(settings);
  return address;
}

std::string describe_sync_fault(const daemon::config::Settings& settings,
                                const platform::DependencyError& fault) {
  std::string description = fault.what();
  if (!fault.of_external_crm() || fault.transient()) return description;
  try {
    for (const std::string& found : check_crm(settings).faults) description += "; " + found;
  } catch (const platform::DependencyError&) {
    // The check failed too: report the original fault.
  }
  return description;
}

}  // namespace giftsync::wiring
