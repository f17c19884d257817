// cli: what a command works on: the settings, the store and the CRM, opened directly. A daemon may run at the
// same time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "cli/console.h"
#include "crm/crm.h"
#include "daemon/config/settings.h"
#include "daemon/wiring/crm_config.h"
#include "platform/dependency_error.h"
#include "schema/store/store.h"

namespace giftsync::cli {

struct CliContext {
  config::Settings settings;
  store::Store store;
  std::unique_ptr<crm::Crm> crm;
};

/// The settings of a file, or all their faults (exit 78).
tl::expected<config::Settings, Refusal> read_cli_settings(const std::string& path);

/// What a command may do to the store before it works on it (OPS-17). After an upgrade an older daemon cannot
/// start on it any more.
enum class StoreAccess { existing, create, create_or_upgrade };

/// Refuses a missing store (exit 66) unless `access` allows to create it, which is reported, and a store that
/// is newer than this program. Creates or upgrades the CRM's tables. Throws DependencyError when
/// the database does not respond.
tl::expected<std::unique_ptr<CliContext>, Refusal> open_cli_context(
    config::Settings settings, const Console& console, StoreAccess access = StoreAccess::existing);

/// The store alone, for a faulty settings file: no table is made or upgraded, because the section `crm` may
/// not be what is meant. Refuses and throws as above.
tl::expected<std::unique_ptr<store::Store>, Refusal> open_store_alone(const config::Settings& settings);

/// The refusal of tables that a newer program made (exit 78); nothing for tables of this version or an older
/// one.
std::optional<Refusal> refuse_newer_tables(const config::Settings& settings, int store,
                                           const wiring::CrmUpgradePlan& crm);

/// The refusal of a store that is older than `supported` (exit 78); nothing for a new one or when it may be
/// upgraded.
std::optional<Refusal> refuse_older_store(const config::Settings& settings, StoreAccess access, int version,
                                          int supported = store::kStoreVersion);

/// The faults that a check of the settings found (exit 78), each with the settings file.
Refusal refuse_faults(const config::Settings& settings, const std::vector<std::string>& faults);

/// All fields, tables and columns that the settings name and the CRM does not have (exit 78).
std::optional<Refusal> refuse_unusable_crm(const config::Settings& settings);

/// Gifts that a command makes or asks about have the terms and count in the budgets of those that the daemon
/// makes. The budgets are read once, and counted by daemons. `console` must outlive the store.
void prepare_sending(const Console& console, CliContext& ctx);

/// The refusal while the do-not-send list has entries of erased people that cannot be compared (exit 78).
std::optional<Refusal> refuse_unknown_erased_entries(CliContext& ctx);

/// The message for a database or a CRM that fails while a command runs: which one, the error, what to do. An
/// org's own refusals and rests say what to do; only where nothing answers the address is to be checked.
std::string database_failure(const config::Settings& settings, const DependencyError& fault);

// The SQLite store's file: checks that it can be opened, and gives a file that root creates to the
// service's user (OPS-17).

/// Creates an empty file if there is none. A file that root creates gets the owner of its folder; SQLite
/// gives its journal files the same owner. Refuses a missing folder, and a folder or file that this user may
/// not write.
std::optional<Refusal> prepare_store_file(const std::string& path);

}  // namespace giftsync::cli
