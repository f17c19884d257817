#include <fmt/format.h>
#include <sysexits.h>

#include <memory>

#include "daemon/cli/commands.h"
#include "daemon/cli/installation.h"
#include "daemon/cli/json_list.h"
#include "daemon/cli/store_file.h"
#include "daemon/store_address.h"
#include "schema/sql_crm/sql_crm.h"
#include "schema/store/store.h"

namespace giftsync::daemon {
namespace {

struct Versions {
  int store = 0;  ///< 0: no tables
  schema::ManagedCrmPlan crm;
  bool foreign = false;  ///< somebody else's CRM has no version of ours
  std::string crm_words() const { return foreign ? "of crm.connection" : crm.version.value_or("none"); }
};

/// Looks without making anything: a SQLite file that is not there is not made.
Versions versions_of(const Settings& settings) {
  if (settings.store.backend == StoreBackend::sqlite && !store_file_exists(settings.store.connection))
    return {0, {}, settings.crm.is_foreign()};
  const schema::DatabaseAddress address = store_address(settings.store);
  if (settings.crm.is_foreign()) return {schema::store_version(address), {}, true};
  return {schema::store_version(address), schema::plan_managed_crm(address), false};
}

std::string version_lines(const Versions& versions) {
  return fmt::format("store {}\ncrm {}\n", versions.store, versions.crm_words());
}

int show_versions(const Console& console, const Settings& settings, bool json) {
  const Versions versions = versions_of(settings);
  if (json) {
    console.out << json_text({{"place", store_place(settings)},
                              {"store", versions.store},
                              {"store_known", schema::kStoreVersion},
                              {"crm", versions.crm.version ? Json(*versions.crm.version) : Json(nullptr)},
                              {"crm_foreign", versions.foreign},
                              {"crm_known", schema::kCrmPackageVersion},
                              {"crm_recorded", versions.crm.recorded}},
                             2)
                << '\n';
  } else {
    console.out << version_lines(versions);
  }
  // An older program has nothing to advise: its db migrate refuses too.
  if (const auto refusal = refuse_newer_tables(settings, versions.store, versions.crm))
    return refuse(console, *refusal);
  if (json) return EX_OK;
  if (versions.crm.version && !versions.crm.recorded)
    console.note("The CRM's tables carry no record of their version; it is told by their columns.");
  const bool crm_is_right = versions.foreign || versions.crm.version == schema::kCrmPackageVersion;
  if (versions.store != schema::kStoreVersion || !crm_is_right) {
    console.note(fmt::format(
        "This program works on store version {} and CRM package version {}; \"giftsyncctl db migrate\" makes "
        "or upgrades them.",
        schema::kStoreVersion, schema::kCrmPackageVersion));
  }
  return EX_OK;
}

std::string crm_line(const schema::ManagedCrmPlan& crm) {
  if (!crm.version)
    return fmt::format("crm tables would be made, at package version {}\n", schema::kCrmPackageVersion);
  if (crm.version == schema::kCrmPackageVersion) return fmt::format("crm {} stays as it is\n", *crm.version);
  return fmt::format("crm {} would become {}\n", *crm.version, schema::kCrmPackageVersion);
}

int show_plan(const Console& console, const Settings& settings) {
  const Versions versions = versions_of(settings);
  if (auto refusal = refuse_newer_tables(settings, versions.store, versions.crm))
    return console.fail(refusal->exit_code, refusal->lines.front());
  if (versions.store == schema::kStoreVersion) {
    console.out << fmt::format("store {} stays as it is\n", versions.store);
  } else {
    console.out << fmt::format("store {} would become {}\n", versions.store, schema::kStoreVersion);
  }
  console.out << (versions.foreign ? "crm of crm.connection: nothing is ever changed there\n"
                                   : crm_line(versions.crm));
  for (const std::string& step : versions.crm.steps) console.out << "  to " << step << '\n';
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
    const auto opened = open_installation(settings, console, OlderStore::migrate);
    if (const auto* refusal = std::get_if<Refusal>(&opened))
      return console.fail(refusal->exit_code, refusal->lines.front());
    console.out << version_lines(versions_of(settings));
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
