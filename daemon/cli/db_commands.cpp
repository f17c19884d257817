#include <fmt/format.h>
#include <sysexits.h>

#include <memory>
#include <optional>

#include "daemon/cli/commands.h"
#include "daemon/cli/json_list.h"
#include "daemon/cli/store_file.h"
#include "daemon/store_address.h"
#include "schema/sql_crm/sql_crm.h"
#include "schema/store/store.h"

namespace giftsync::daemon {
namespace {

struct Versions {
  int store = 0;                   ///< 0: no tables
  std::optional<std::string> crm;  ///< nullopt: no tables
};

/// Looks without making anything: a SQLite file that is not there is not made.
Versions versions_of(const Settings& settings) {
  if (settings.store.backend == StoreBackend::sqlite && !store_file_exists(settings.store.connection))
    return {};
  const schema::DatabaseAddress address = store_address(settings.store);
  return {schema::store_version(address), schema::managed_crm_version(address)};
}

std::string crm_words(const Versions& versions) {
  return versions.crm.value_or("none");
}

int show_versions(const Console& console, const Settings& settings, bool json) {
  const Versions versions = versions_of(settings);
  if (json) {
    console.out << json_text({{"place", store_place(settings)},
                              {"store", versions.store},
                              {"store_known", schema::kStoreVersion},
                              {"crm", versions.crm ? Json(*versions.crm) : Json(nullptr)}},
                             2)
                << '\n';
    return EX_OK;
  }
  console.out << fmt::format("store {}\ncrm {}\n", versions.store, crm_words(versions));
  if (versions.store != schema::kStoreVersion) {
    console.note(
        fmt::format("This program writes store version {}; \"giftsyncctl db migrate\" makes or upgrades it.",
                    schema::kStoreVersion));
  }
  return EX_OK;
}

int show_plan(const Console& console, const Settings& settings) {
  const Versions versions = versions_of(settings);
  if (versions.store > schema::kStoreVersion) {
    return console.fail(EX_CONFIG,
                        fmt::format("{}: the store has version {}, this program knows versions up to {}; "
                                    "install the newer giftsync again",
                                    store_place(settings), versions.store, schema::kStoreVersion));
  }
  if (versions.store == schema::kStoreVersion) {
    console.out << fmt::format("store {} stays as it is\n", versions.store);
  } else {
    console.out << fmt::format("store {} would become {}\n", versions.store, schema::kStoreVersion);
  }
  console.out << (versions.crm
                      ? fmt::format("crm {} would be brought up to date where it is older\n", *versions.crm)
                      : "crm tables would be made\n");
  console.note("Nothing was changed.");
  return EX_OK;
}

void add_version(Commands& commands, CLI::App& noun) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* verb =
      commands.verb(noun, "version", "The versions of the tables of store and CRM; 0: not made yet.",
                    {"db version", "db version --json"});
  verb->add_flag("--json", *json, "Print JSON");
  commands.run_with_settings(verb, [json](const Console& console, const Settings& settings) {
    return show_versions(console, settings, *json);
  });
}

void add_migrate(Commands& commands, CLI::App& noun) {
  const auto dry_run = std::make_shared<bool>(false);
  CLI::App* verb =
      commands.verb(noun, "migrate",
                    "Make the tables of store and CRM, or bring older ones up to date. Harmless to repeat.",
                    {"db migrate", "db migrate --dry-run"});
  verb->add_flag("--dry-run", *dry_run, "Only say what would be done");
  commands.run_with_settings(verb, [dry_run](const Console& console, const Settings& settings) {
    if (*dry_run) return show_plan(console, settings);
    const auto opened = open_installation(settings, console);
    if (const auto* refusal = std::get_if<Refusal>(&opened))
      return console.fail(refusal->exit_code, refusal->lines.front());
    const Versions versions = versions_of(settings);
    console.out << fmt::format("store {}\ncrm {}\n", versions.store, crm_words(versions));
    return EX_OK;
  });
}

}  // namespace

void add_db_commands(Commands& commands) {
  CLI::App* noun = commands.noun("db", "The tables of store and CRM");
  add_migrate(commands, *noun);
  add_version(commands, *noun);
}

}  // namespace giftsync::daemon
