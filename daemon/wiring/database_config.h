// wiring: converts the settings of store, CRM and matching into the options of the libraries below, for the
// daemon and for giftsyncctl. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crm/crm.h"
#include "crm/sql/external/external_crm.h"
#include "crm/sql/managed/managed_crm.h"
#include "daemon/config/settings.h"
#include "schema/sql/dsn.h"
#include "sync/crm/sync_step.h"

namespace giftsync::wiring {

/// The store's address with store.password: a secret, never printed.
sql::Dsn store_dsn(const config::StoreSettings& store);

/// The store's location for messages: its file, or "the PostgreSQL database of store.connection".
std::string store_location(const config::Settings& settings);
/// The same for the CRM, which may be in the store's database.
std::string crm_location(const config::Settings& settings);

/// Why this program does not use the tables of a newer version, and what to do; nullopt for tables of this or
/// an older version.
std::optional<std::string> newer_tables_fault(const config::Settings& settings, int store,
                                              const crm::managed::ManagedCrmUpgradePlan& crm);

/// The compared fields and the order of candidates, for contacts and leads (MATCH-3).
crm::MatchFields match_fields(const config::MatchingSettings& matching);

/// The options of the sync step; the caller, who has the secret, sets link_of.
sync::SyncRules sync_rules(const config::Settings& settings);

/// The settings that the package's settings tab shows, by key (SYNC-59). No secrets.
std::vector<std::pair<std::string, std::string>> published_settings(const config::Settings& settings);

/// The fields of tasks that only some settings fill: Description, ActivityDate.
std::vector<std::string> task_fields_of(const config::TaskSettings& tasks);

/// The external CRM (crm.connection); the caller, who has the store, sets `newest_versions`.
crm::external::ExternalCrmOptions external_crm_options(const config::Settings& settings);

/// The managed CRM, whose tables are in the store's database (ARCH-32).
crm::managed::ManagedCrmOptions managed_crm_options(const config::Settings& settings);

}  // namespace giftsync::wiring
