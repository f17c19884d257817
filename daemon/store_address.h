// daemon: where the store and the CRM are, and how recipients are matched, as the rooms below take it: the
// one place that turns settings into their terms, for the daemon and for giftsyncctl. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/settings/settings.h"
#include "schema/crm.h"
#include "schema/database_address.h"
#include "schema/foreign_crm/foreign_crm.h"
#include "schema/sql_crm/sql_crm.h"
#include "sync/sync_step.h"

namespace giftsync::daemon {

/// The store's address, store.password included: it is a secret from here on and never printed.
schema::DatabaseAddress store_address(const StoreSettings& store);

/// The store as a person knows it: its file, or "the PostgreSQL database of store.connection".
std::string store_place(const Settings& settings);
/// The same of the CRM, which may be in the store's database.
std::string crm_place(const Settings& settings);

/// Why tables of a newer program are not touched, and what to do; nothing when they are of this or an older
/// one.
std::optional<std::string> newer_tables_fault(const Settings& settings, int store,
                                              const schema::ManagedCrmPlan& crm);

/// The fields that are compared and who wins, for contacts and leads (Spec 6.4).
schema::MatchFields match_fields(const MatchingSettings& matching);

/// What the sync step goes by; link_of is left to the caller, who has the secret.
sync::SyncRules sync_rules(const Settings& settings);

/// What the CRM's people may want to know of the settings, by their keys: the package's settings tab
/// (Spec 9.2). No secrets.
std::vector<std::pair<std::string, std::string>> published_settings(const Settings& settings);

/// The CRM that someone else owns (crm.connection); `newest` is left to the caller, who has the store.
schema::ForeignCrmOptions foreign_crm_options(const Settings& settings);

/// The managed CRM, whose tables live in the store's database (design 2).
schema::SqlCrmOptions sql_crm_options(const Settings& settings);

}  // namespace giftsync::daemon
