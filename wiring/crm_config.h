// wiring: makes the CRM adapter that the settings name: managed or external. The only place that chooses
// between the adapters. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/config/settings.h"
#include "schema/crm/crm.h"
#include "schema/crm/managed/csv_import.h"
#include "schema/crm/managed/managed_crm.h"

namespace giftsync::wiring {

/// The adapter connects on its first call.
std::unique_ptr<schema::crm::Crm> make_crm(const daemon::config::Settings& settings);

/// False when the settings say that the external CRM has no table of users.
bool crm_has_users(const daemon::config::Settings& settings);

struct CrmCheck {
  std::vector<std::string> faults;                ///< a sentence each, with its settings key
  std::vector<std::string> command_warnings;      ///< limits of some commands, with the remedy
  std::vector<std::string> performance_warnings;  ///< slow queries, with the remedy

  /// Non-fatal findings.
  std::vector<std::string> warnings() const;
};
/// Checks that the settings' fields, tables and columns exist and that this program's database user has the
/// required privileges. Throws schema::DependencyError when the database is unreachable.
CrmCheck check_crm(const daemon::config::Settings& settings);

/// Number of rows in an external CRM's gift-record table with an invalid Transaction Id; 0 in the managed
/// CRM.
std::int64_t count_invalid_transaction_ids(const daemon::config::Settings& settings);

/// Brings the managed CRM's tables up to date; in an external CRM giftsync creates nothing.
void migrate_crm(const daemon::config::Settings& settings);

/// What migrate_crm() would do to the managed CRM's tables; empty for an external CRM.
using CrmUpgradePlan = schema::crm::managed::ManagedCrmUpgradePlan;
CrmUpgradePlan crm_upgrade_plan(const daemon::config::Settings& settings);

/// The package version that migrate_crm() leads to, for example "1.8".
inline constexpr const char* kCrmPackageVersion = schema::crm::managed::kCrmPackageVersion;

/// Writes the settings that CRM users may read into the managed CRM; does nothing for an external CRM.
void publish_crm_settings(const daemon::config::Settings& settings);

/// The CSV import into the managed CRM (see schema/crm/managed/csv_import.h for the contracts).
using CrmCsvImport = schema::crm::managed::CsvImport;
using CrmImportObject = schema::crm::managed::ImportObject;
using CrmImportResult = schema::crm::managed::ImportResult;
using schema::crm::managed::import_header_faults;
using schema::crm::managed::parse_import_object;
using schema::crm::managed::standard_columns;
/// `header` has no faults.
std::unique_ptr<CrmCsvImport> open_crm_import(const daemon::config::Settings& settings,
                                              CrmImportObject object, const std::vector<std::string>& header);

}  // namespace giftsync::wiring
