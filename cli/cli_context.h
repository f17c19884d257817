// cli: what a command works on: the settings, the store and the CRM, opened directly. A daemon may run at the
// same time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "cli/console.h"
#include "daemon/config/settings.h"
#include "platform/dependency_error.h"
#include "schema/crm/crm.h"
#include "schema/store/store.h"
#include "wiring/crm_config.h"

namespace giftsync::cli {

/// Why a command cannot start.
struct Refusal {
  int exit_code = 0;
  std::vector<std::string> lines;
};

/// Prints the lines and returns the exit code.
int refuse(const Console& console, const Refusal& refusal);

struct CliContext {
  daemon::config::Settings settings;
  schema::store::Store store;
  std::unique_ptr<schema::crm::Crm> crm;
};

/// The settings of a file, or all their faults (exit 78).
tl::expected<daemon::config::Settings, Refusal> read_cli_settings(const std::string& path);

/// What to do with a store of an older version. After a migration an older daemon cannot start on it any
/// more.
enum class OlderStore { refuse, migrate };

/// Creates the tables of store and CRM when they are missing, so that the first command works without setup,
/// and reports a new store. Upgrades older CRM tables. Refuses a store that is newer than this program.
/// Throws platform::DependencyError when the database does not respond.
tl::expected<std::unique_ptr<CliContext>, Refusal> open_cli_context(daemon::config::Settings settings,
                                                                    const Console& console,
                                                                    OlderStore older = OlderStore::refuse);

/// The refusal of tables that a newer program made (exit 78); nothing for tables of this version or an older
/// one.
std::optional<Refusal> refuse_newer_tables(const daemon::config::Settings& settings, int store,
                                           const wiring::CrmUpgradePlan& crm);

/// The refusal of a store that is older than `supported` (exit 78); nothing for a new one or when it may be
/// migrated.
std::optional<Refusal> refuse_older_store(const daemon::config::Settings& settings, OlderStore older,
                                          int version, int supported = schema::store::kStoreVersion);

/// The faults that a check of the settings found (exit 78), each with the settings file.
Refusal refuse_faults(const daemon::config::Settings& settings, const std::vector<std::string>& faults);

/// All fields, tables and columns that the settings name and the CRM does not have (exit 78).
std::optional<Refusal> refuse_unusable_crm(const daemon::config::Settings& settings);

/// The message for a database that fails while a command runs: which database, the error, what to do.
std::string database_failure(const daemon::config::Settings& settings,
                             const platform::DependencyError& fault);

}  // namespace giftsync::cli
