// wiring: makes the CRM adapter that the settings name: managed or external. The only place that chooses
// between the adapters. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/config/settings.h"
#include "schema/crm/crm.h"
#include "schema/crm/managed/managed_crm.h"
#include "schema/crm/row_import.h"

namespace giftsync::wiring {

/// What the settings' CRM can do besides the port.
struct CrmCapabilities {
  bool has_own_database = false;  ///< not the store's: it has a location and faults of its own
  bool has_package = false;       ///< giftsync makes and upgrades its tables and publishes settings in them
  bool imports_rows = false;      ///< of CSV files
};
CrmCapabilities crm_capabilities(const daemon::config::Settings& settings);

/// Whether a lookup may take as long as it needs, or must wait for others (LookupNotReady) beyond some tenths
/// of a second.
enum class LookupDuration { unlimited, bounded };
/// The adapter connects on its first call.
std::unique_ptr<schema::crm::Crm> make_crm(const daemon::config::Settings& settings,
                                           LookupDuration lookups = LookupDuration::unlimited);

/// False when the settings say that the external CRM has no table of users.
bool crm_has_users(const daemon::config::Settings& settings);

struct CrmCheck {
  std::vector<std::string> faults;                ///< a sentence each, with its settings key
  std::vector<std::string> command_warnings;      ///< limits of some commands, with the remedy
  std::vector<std::string> performance_warnings;  ///< slow queries, with the remedy
  std::vector<std::string> order_warnings = {};   ///< numbers that are ordered as text, with the remedy

  /// Non-fatal findings.
  std::vector<std::string> warnings() const;
};
/// Checks that the settings' fields, tables and columns exist and that this program's database user has the
/// required privileges. Throws platform::DependencyError when the database is unreachable.
CrmCheck check_crm(const daemon::config::Settings& settings);

/// Number of rows in an external CRM's gift-record table with an invalid Transaction Id; 0 in the managed
/// CRM.
std::int64_t count_invalid_transaction_ids(const daemon::config::Settings& settings);

/// Brings the tables of a CRM with a package up to date.
void migrate_crm(const daemon::config::Settings& settings);

/// What migrate_crm() would do; empty for a CRM without a package.
using CrmUpgradePlan = schema::crm::managed::ManagedCrmUpgradePlan;
CrmUpgradePlan crm_upgrade_plan(const daemon::config::Settings& settings);

/// The package version that migrate_crm() leads to, for example "1.8".
inline constexpr const char* kCrmPackageVersion = schema::crm::managed::kCrmPackageVersion;

/// Writes the settings that CRM users may read into a CRM with a package.
void publish_crm_settings(const daemon::config::Settings& settings);

/// The import of rows into the CRM; null unless crm_capabilities() has imports_rows. `header` has no faults.
std::unique_ptr<schema::crm::RowImport> open_row_import(const daemon::config::Settings& settings,
                                                        schema::crm::ImportObject object,
                                                        const std::vector<std::string>& header,
                                                        schema::crm::ImportMode mode);

}  // namespace giftsync::wiring
