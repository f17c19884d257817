// daemon/cli: the installation that a command works on: its settings, store and CRM, opened directly, beside
// a daemon that may be running (design 5).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "daemon/cli/console.h"
#include "daemon/settings/settings.h"
#include "schema/broken_world.h"
#include "schema/crm.h"
#include "schema/sql_crm/sql_crm.h"
#include "schema/store/store.h"

namespace giftsync::daemon {

/// Why a command cannot begin.
struct Refusal {
  int exit_code = 0;
  std::vector<std::string> lines;
};

/// Says it and gives its exit code.
int refuse(const Console& console, const Refusal& refusal);

struct Installation {
  Settings settings;
  schema::Store store;
  std::unique_ptr<schema::Crm> crm;
};

/// The settings of a file, or all that is wrong with them (exit 78).
std::variant<Settings, Refusal> read_installation_settings(const std::string& path);

/// What is done with a store of an older version: an older daemon that runs with it would not start again.
enum class OlderStore { refuse, migrate };

/// Makes the tables of store and CRM when they are missing, so that a new admin's first command just works;
/// says so when the store is new. The CRM's older tables are brought up to date. Refuses a store that is
/// newer than this program. Throws schema::BrokenWorld when the database does not answer.
std::variant<std::unique_ptr<Installation>, Refusal> open_installation(Settings settings,
                                                                       const Console& console,
                                                                       OlderStore older = OlderStore::refuse);

/// Why tables of a newer program are not touched (exit 78); nothing when they are of this or an older one.
std::optional<Refusal> refuse_newer_tables(const Settings& settings, int store,
                                           const schema::ManagedCrmPlan& crm);

/// What a check of the settings has found (exit 78), each with their file.
Refusal refuse_faults(const Settings& settings, const std::vector<std::string>& faults);

/// Why the CRM's fields, tables or columns do not suit the settings (exit 78), all of it.
std::optional<Refusal> refuse_unusable_crm(const Settings& settings);

/// The sentence for a database that fails while a command runs: what, where, what to do.
std::string database_failure(const Settings& settings, const schema::BrokenWorld& fault);

}  // namespace giftsync::daemon
