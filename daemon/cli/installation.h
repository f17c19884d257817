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
#include "schema/crm.h"
#include "schema/sql_crm/sql_crm.h"
#include "schema/store/store.h"

namespace giftsync::daemon {

/// Why a command cannot begin.
struct Refusal {
  int exit_code = 0;
  std::vector<std::string> lines;
};

struct Installation {
  Settings settings;
  schema::Store store;
  std::unique_ptr<schema::Crm> crm;
};

/// The settings of a file, or all that is wrong with them (exit 78).
std::variant<Settings, Refusal> read_installation_settings(const std::string& path);

/// Makes the tables of store and CRM when they are missing or older, so that a new admin's first command just
/// works; says so when the store is new. Refuses a store that is newer than this program. Throws
/// schema::BrokenWorld when the database does not answer.
std::variant<std::unique_ptr<Installation>, Refusal> open_installation(Settings settings,
                                                                       const Console& console);

/// Why tables of a newer program are not touched (exit 78); nothing when they are of this or an older one.
std::optional<Refusal> refuse_newer_tables(const Settings& settings, int store,
                                           const schema::ManagedCrmPlan& crm);

/// The sentence for a store that fails while a command runs: what, where, what to do.
std::string store_failure(const Settings& settings, const std::string& what);

/// The store as a person knows it: its file, or "the PostgreSQL database of store.connection".
std::string store_place(const Settings& settings);

}  // namespace giftsync::daemon
