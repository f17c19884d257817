// wiring: makes the CRM adapter that the settings name: managed, external or Salesforce. The only place that
// chooses between the adapters. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crm/crm.h"
#include "crm/row_import.h"
#include "crm/sql/managed/managed_crm.h"
#include "daemon/config/settings.h"
#include "platform/http_client.h"

namespace giftsync::wiring {

/// What the settings' CRM can do besides the port.
struct CrmCapabilities {
  bool has_own_database = false;  ///< a SQL database that is not the store's
  bool has_package = false;       ///< giftsync makes and upgrades its tables and publishes settings in them
  bool imports_rows = false;      ///< of CSV files
  /// Reached through the internet, and each call counts: giftsync starts and sends gifts without it, and asks
  /// it nothing at short intervals.
  bool is_remote = false;
};
CrmCapabilities crm_capabilities(const config::Settings& settings);

/// Whether a lookup of the managed CRM may take as long as it needs, or must wait for others (LookupNotReady)
/// beyond some tenths of a second. Other CRMs have no such lookups.
enum class LookupDuration { unlimited, bounded };
/// The adapter connects on its first call. `keep_going`: false ends running calls of a remote CRM; may be
/// null.
std::unique_ptr<crm::Crm> make_crm(const config::Settings& settings,
                                   LookupDuration lookups = LookupDuration::unlimited,
                                   KeepGoing keep_going = nullptr);

/// Why giftsync makes no tables in this CRM and has none of what they would hold, as a clause; for a CRM
/// without a package.
std::string no_package_clause(const config::Settings& settings);

/// Why this CRM has no request records and where there are some, as a clause; for a CRM without them.
std::string no_request_records_clause(const config::Settings& settings);

/// The settings key that leads to a CRM outside of the store.
std::string crm_address_key(const config::Settings& settings);

/// False when the settings say that the external CRM has no table of users.
bool crm_has_users(const config::Settings& settings);

struct CrmCheck {
  std::vector<std::string> faults;                ///< a sentence each, with its settings key
  std::vector<std::string> command_warnings;      ///< limits of some commands, with the remedy
  std::vector<std::string> performance_warnings;  ///< slow queries, with the remedy
  std::vector<std::string> order_warnings = {};   ///< numbers that are ordered as text, with the remedy
  std::vector<std::string> deletion_marks = {};   ///< of an external CRM: which rows count as deleted

  /// Non-fatal findings.
  std::vector<std::string> warnings() const;
};
/// Checks that the settings' fields, tables and columns exist and that this program's database user has the
/// required privileges. Throws DependencyError when the database is unreachable. An org of
/// Salesforce is not called: giftsync starts without it.
CrmCheck check_crm(const config::Settings& settings);

/// What the CRM says against crm.fallback_owner and crm.sender_aliases, a sentence each (SYNC-78). Asks only
/// where one is set: users come and go, so a start does not. A CRM that does not say it is a fault too, so
/// that what a check has found before is not lost.
std::vector<std::string> crm_user_faults(const config::Settings& settings);

/// Number of rows in an external CRM's gift-record table with an invalid Transaction Id; 0 in the managed
/// CRM.
std::int64_t count_invalid_transaction_ids(const config::Settings& settings);

/// Brings the tables of a CRM with a package up to date.
void migrate_crm(const config::Settings& settings);

/// What migrate_crm() would do; empty for a CRM without a package.
using CrmUpgradePlan = crm::managed::ManagedCrmUpgradePlan;
CrmUpgradePlan crm_upgrade_plan(const config::Settings& settings);

/// The package version that migrate_crm() leads to, for example "1.8".
inline constexpr const char* kCrmPackageVersion = crm::managed::kCrmPackageVersion;

/// Writes the settings that CRM users may read into a CRM with a package.
void publish_crm_settings(const config::Settings& settings);

/// The import of rows into the CRM; null unless crm_capabilities() has imports_rows. `header` has no faults.
std::unique_ptr<crm::RowImport> open_row_import(const config::Settings& settings, crm::ImportObject object,
                                                const std::vector<std::string>& header, crm::ImportMode mode);

}  // namespace giftsync::wiring
