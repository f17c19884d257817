#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <memory>

#include "cli/cli_context.h"
#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "daemon/wiring/crm_config.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/server_secret.h"
#include "daemon/wiring/store_preflight.h"
#include "platform/text.h"
#include "schema/store/background_work.h"
#include "schema/store/server_check.h"
#include "schema/store/store.h"

namespace giftsync::cli {
namespace {

struct Versions {
  int store = 0;  ///< 0: no tables
  wiring::CrmUpgradePlan crm;
  bool has_package = true;  ///< of the CRM; without one it has no version
  std::string address_key;  ///< of a CRM without a package
  std::string crm_version_text() const {
    return has_package ? crm.version.value_or("none") : "of " + address_key;
  }
};

/// Creates nothing, not even a missing SQLite file.
Versions versions_of(const config::Settings& settings) {
  const bool has_package = wiring::crm_capabilities(settings).has_package;
  if (settings.store.backend == config::StoreBackend::sqlite &&
      !wiring::store_file_exists(settings.store.connection))
    return {0, {}, has_package, wiring::crm_address_key(settings)};
  return {store::store_version(wiring::store_dsn(settings.store)), wiring::crm_upgrade_plan(settings),
          has_package, wiring::crm_address_key(settings)};
}

std::string version_lines(const Versions& versions) {
  return fmt::format("store {}\ncrm {}\n", versions.store, versions.crm_version_text());
}

int show_versions(const Console& console, const config::Settings& settings, bool json) {
  const Versions versions = versions_of(settings);
  if (json) {
    console.out << json_text({{"location", wiring::store_location(settings)},
                              {"store", versions.store},
                              {"store_supported", store::kStoreVersion},
                              {"crm", versions.crm.version ? Json(*versions.crm.version) : Json(nullptr)},
                              {"crm_external", !versions.has_package},
                              {"crm_supported", wiring::kCrmPackageVersion},
                              {"crm_recorded", versions.crm.recorded}},
                             2)
                << '\n';
  } else {
    console.out << version_lines(versions);
  }
  // No advice to run db migrate: this program is older than the tables, so its db migrate refuses too.
  if (const auto refusal = refuse_newer_tables(settings, versions.store, versions.crm))
    return console.fail(*refusal);
  if (json) return EX_OK;
  if (versions.crm.version && !versions.crm.recorded)
    console.info("The CRM's tables carry no record of their version; it is detected by their columns.");
  const bool is_crm_current = !versions.has_package || versions.crm.version == wiring::kCrmPackageVersion;
  if (versions.store != store::kStoreVersion || !is_crm_current) {
    console.info(
        fmt::format("This program works on store version {} and version {} of the built-in CRM's tables; run "
                    "\"giftsyncctl db migrate\" to create or upgrade them.",
                    store::kStoreVersion, wiring::kCrmPackageVersion));
  }
  return EX_OK;
}

std::string crm_line(const wiring::CrmUpgradePlan& crm) {
  if (!crm.version)
    return fmt::format("crm tables would be created, at version {}\n", wiring::kCrmPackageVersion);
  if (crm.version == wiring::kCrmPackageVersion) return fmt::format("crm {} stays unchanged\n", *crm.version);
  return fmt::format("crm {} would become {}\n", *crm.version, wiring::kCrmPackageVersion);
}

int show_migration_plan(const Console& console, const config::Settings& settings) {
  const Versions versions = versions_of(settings);
  if (auto refusal = refuse_newer_tables(settings, versions.store, versions.crm))
    return console.fail(*refusal);
  if (versions.store == 0) {
    if (auto fault = wiring::secret_without_store_fault(settings))
      return console.fail(Refusal{EX_CONFIG, {std::move(*fault)}});
  }
  if (versions.store == store::kStoreVersion)
    console.out << fmt::format("store {} stays unchanged\n", versions.store);
  else
    console.out << fmt::format("store {} would become {}\n", versions.store, store::kStoreVersion);
  console.out << (versions.has_package
                      ? crm_line(versions.crm)
                      : fmt::format("crm of {}: giftsync never changes its tables\n", versions.address_key));
  for (const std::string& step : versions.crm.steps) console.out << "  to " << step << '\n';
  console.info("Nothing was changed.");
  return EX_OK;
}

void add_version(Commands& commands, Command& noun) {
  Command* verb =
      commands.verb(noun, "version", "Show the versions of the tables of store and CRM; 0: not created yet.",
                    {"db version", "db version --json"});
  commands.run(verb, json_flag(verb), show_versions);
}

int migrate(const Console& console, const config::Settings& settings, bool dry_run) {
  if (dry_run) return show_migration_plan(console, settings);
  const std::string before = version_lines(versions_of(settings));
  const auto opened = open_cli_context(settings, console, StoreAccess::create_or_upgrade);
  if (!opened) return console.fail(opened.error());
  const std::string after = version_lines(versions_of(settings));
  if (after != before) {
    store::AuditEvent event = command_event(console, "db.migrate", {});
    event.object_kind = "store";
    event.detail = fmt::format("{}; before: {}", trimmed(after), trimmed(before));
    std::replace(event.detail.begin(), event.detail.end(), '\n', ' ');
    (*opened)->store.audit.add(event);
  }
  console.out << after;
  const store::BackgroundWork work = store::background_work(wiring::store_dsn(settings.store));
  if (work.remaining > 0)
    console.info(fmt::format("Left for giftsyncd, beside the calls: {}, first {}.",
                             pluralize(work.remaining, "statement"), work.present));
  return EX_OK;
}

void add_migrate(Commands& commands, Command& noun) {
  const auto dry_run = std::make_shared<bool>(false);
  Command* verb = commands.verb(
      noun, "migrate",
      "Create the tables of store and CRM, or upgrade older ones. Repeating it changes nothing.",
      {"db migrate", "db migrate --dry-run"});
  verb->add_flag("--dry-run", *dry_run, "Show what would be done and change nothing");
  commands.run(verb, dry_run, migrate);
}

int accept_server(const Console& console, const config::Settings& settings) {
  const std::optional<std::string> accepted = store::accept_server(wiring::store_dsn(settings.store));
  if (!accepted)
    return console.fail({EX_CONFIG,
                         {wiring::store_location(settings) +
                          ": there is no server to accept: the store is a file, or the server does not "
                          "tell who it is, and then every server is used"}});
  if (const auto store = open_store_alone(settings)) {
    store::AuditEvent event = command_event(console, "db.accept-server", {}, *accepted);
    event.object_kind = "store";
    (*store)->audit.add(event);
  }
  console.out << fmt::format("accepted: {}\n", *accepted);
  console.info("Each giftsyncd of this store goes on by itself.");
  return EX_OK;
}

void add_accept_server(Commands& commands, Command& noun) {
  Command* verb = commands.verb(
      noun, "accept-server",
      "Use the store on the PostgreSQL server that store.connection leads to, although giftsyncd refuses it: "
      "after a restore into another cluster, a pg_upgrade, or the return to an old primary. Before that, "
      "make "
      "sure that no giftsyncd uses the other server.",
      {"db accept-server"});
  commands.run_with_settings(verb, accept_server);
}

int restored(const Console& console, const config::Settings& settings) {
  const auto store = open_store_alone(settings);
  if (!store) return console.fail(store.error());
  if (!(*store)->feed.begin_epoch()) {
    console.info("The feed was never on: there is nothing to do.");
    return EX_OK;
  }
  store::AuditEvent event = command_event(console, "db.restored", {});
  event.object_kind = "store";
  (*store)->audit.add(event);
  console.out << fmt::format("the feed begins again: epoch {}\n", (*store)->feed.state().epoch);
  console.info("Readers of an older epoch get 410 and list all gifts first.");
  return EX_OK;
}

void add_restored(Commands& commands, Command& noun) {
  Command* verb = commands.verb(noun, "restored",
                                "Say that the store was restored from a backup, or lost its last commits: "
                                "readers of the feed of events "
                                "begin again. Before giftsyncd starts.",
                                {"db restored"});
  commands.run_with_settings(verb, restored);
}

struct CheckOptions {
  bool repair = false;
  bool json = false;
};

/// A line for each number that differs.
void list_difference(Listing& list, const store::RollupDifference& difference) {
  using Kind = TextTable::Kind;
  for (std::size_t i = 0; i < kMeasureColumns.size(); ++i) {
    const std::int64_t counted = difference.counted.values[i];
    const std::int64_t gifts = difference.gifts.values[i];
    if (counted == gifts) continue;
    list.add([&](ListedRow& row) {
      row.add("day", {"DAY"}, utc_day_text(difference.day));
      row.add("organization", {"ORGANIZATION", Kind::number},
              difference.organization == 0 ? Json(nullptr) : Json(difference.organization),
              difference.organization == 0 ? std::string() : std::to_string(difference.organization));
      row.add("by", {"BY"}, store::to_word(difference.dimension));
      row.add("key", {"KEY", Kind::elastic}, difference.key);
      row.add("number", {"NUMBER"}, kMeasureColumns[i]);
      row.add("counted", {"COUNTED", Kind::number}, counted);
      row.add("gifts", {"GIFTS", Kind::number}, gifts);
    });
  }
}

/// Day by day, the latest first: memory holds what one day is counted by.
int check_counts(const Console& console, store::Store& store, const CheckOptions& options) {
  store::Rollups& rollups = store.rollups;
  const store::RollupProgress progress = rollups.progress();
  Listing list(console.out, options.json);
  std::size_t days = 0;
  std::size_t differing = 0;
  const auto is_counted = [&](std::int64_t day) {
    return progress.is_whole || (progress.from_day && day >= *progress.from_day);
  };
  for (auto day = rollups.previous_day({}); day && is_counted(*day); day = rollups.previous_day(*day)) {
    ++days;
    for (const store::RollupDifference& difference :
         options.repair ? rollups.repair(*day) : rollups.check(*day)) {
      ++differing;
      list_difference(list, difference);
    }
  }
  list.finish();
  if (!progress.is_whole)
    console.info("Gifts from before the upgrade are not all counted yet, and those days are left out.");
  if (differing == 0) {
    console.info(
        fmt::format("No difference: the counts of {} are what the gifts say.", pluralize(days, "day")));
    return EX_OK;
  }
  if (!options.repair) {
    console.info(fmt::format(
        "{}: what is counted is not what the gifts say. \"giftsyncctl db check --repair\" corrects "
        "the counts; it changes no gift.",
        pluralize(differing, "row")));
    return 1;
  }
  store::AuditEvent event =
      command_event(console, "db.check", {}, fmt::format("{} corrected", pluralize(differing, "row")));
  event.object_kind = "store";
  store.audit.add(event);
  console.info(fmt::format("{} corrected.", pluralize(differing, "row")));
  return EX_OK;
}

void add_check(Commands& commands, Command& noun) {
  const auto options = std::make_shared<CheckOptions>();
  Command* verb =
      commands.verb(noun, "check",
                    "Compare the counts of reports with all gifts, day by day. Lists each number that "
                    "differs and then ends with 1. giftsyncd may run meanwhile.",
                    {"db check", "db check --repair"});
  verb->add_flag("--repair", options->repair, "Correct the counts that differ");
  verb->add_flag("--json", options->json, "Print a JSON array of the numbers that differ");
  commands.run_with_store_alone(verb, options, check_counts);
}

}  // namespace

void add_db_commands(Commands& commands) {
  Command* noun = commands.noun("db", "The tables of store and CRM");
  add_migrate(commands, *noun);
  add_version(commands, *noun);
  add_accept_server(commands, *noun);
  add_restored(commands, *noun);
  add_check(commands, *noun);
}

}  // namespace giftsync::cli
