#include "daemon/ready_database.h"

#include <spdlog/spdlog.h>

#include "daemon/crm_of_settings.h"
#include "daemon/store_address.h"
#include "daemon/unusable_settings.h"
#include "schema/sql_crm/sql_crm.h"
#include "schema/store/store.h"

namespace giftsync::daemon {
namespace {

void tell_upgrade(const schema::ManagedCrmPlan& plan) {
  if (!plan.version) return;
  for (const std::string& step : plan.steps)
    spdlog::info("upgrading the CRM's tables to package version {}", step);
}

void ready_crm(const Settings& settings, const schema::DatabaseAddress& store) {
  migrate_crm(settings);
  if (!settings.crm.is_foreign()) schema::publish_settings(store, published_settings(settings));
  const CrmCheck check = check_crm(settings);
  for (const std::string& warning : check.warnings()) spdlog::warn("{}", warning);
  std::string faults;
  for (const std::string& fault : check.faults) faults += (faults.empty() ? "" : "; ") + fault;
  if (!faults.empty()) throw UnusableSettings(settings.file + ": " + faults);
}

}  // namespace

schema::DatabaseAddress ready_database(const Settings& settings) {
  schema::DatabaseAddress address = store_address(settings.store);
  const schema::ManagedCrmPlan plan =
      settings.crm.is_foreign() ? schema::ManagedCrmPlan() : schema::plan_managed_crm(address);
  if (const auto fault = newer_tables_fault(settings, schema::store_version(address), plan))
    throw UnusableSettings(*fault);
  tell_upgrade(plan);
  schema::migrate_store(address);
  ready_crm(settings, address);
  return address;
}

std::string sync_fault_words(const Settings& settings, const schema::BrokenWorld& fault) {
  std::string words = fault.what();
  if (!fault.of_foreign_crm() || fault.transient()) return words;
  try {
    for (const std::string& found : check_crm(settings).faults) words += "; " + found;
  } catch (const schema::BrokenWorld&) {
    // It cannot be checked: the fault itself is told.
  }
  return words;
}

}  // namespace giftsync::daemon
