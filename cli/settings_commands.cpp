#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "cli/commands.h"
#include "cli/daemon_report.h"
#include "cli/listing.h"
#include "daemon/config/effective_settings.h"
#include "daemon/config/settings_keys.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/store_preflight.h"
#include "platform/dependency_error.h"

namespace giftsync::cli {
namespace {

using config::EffectiveSetting;
using config::SettingDifference;
using Rows = std::vector<store::SeenDaemonInstance>;

/// "sources[0].url" is /sources/0/url.
void set_at(Json& json, const std::string& key, Json value) {
  std::string path = key;
  const std::size_t open = path.find('[');
  if (open != std::string::npos) {
    const std::size_t close = path.find(']', open);
    path.replace(open, close - open + 1, "/" + path.substr(open + 1, close - open - 1));
  }
  std::replace(path.begin(), path.end(), '.', '/');
  json[Json::json_pointer("/" + path)] = std::move(value);
}

/// What is printed: the settings in force, or those of the file when no daemon runs with it.
struct ShownSettings {
  std::vector<EffectiveSetting> settings;
  std::string file;
  std::optional<store::DaemonInstance> daemon;
  std::vector<SettingDifference> differences;
};

bool holds_element_of(const config::SettingsList& list, const std::vector<EffectiveSetting>& settings) {
  return std::any_of(settings.begin(), settings.end(), [&](const EffectiveSetting& setting) {
    return setting.key.starts_with(list.path + "[");
  });
}

/// The settings, nested as in the file: {"server": {"listen": ...}}, and the provenance of each value by
/// dotted key in "provenance" (SET-7); what runs with them in "daemon" (SET-8).
Json nested(const ShownSettings& shown) {
  Json all = Json::object();
  Json provenance = Json::object();
  for (const EffectiveSetting& setting : shown.settings) {
    set_at(all, setting.key, Json::parse(setting.value));
    provenance[setting.key] = provenance_text(setting, shown.file);
  }
  for (const config::SettingsList& list : config::settings_lists()) {
    if (!holds_element_of(list, shown.settings)) set_at(all, list.path, Json::array());
  }
  all["provenance"] = std::move(provenance);
  return all;
}

Json value_json(const std::optional<EffectiveSetting>& setting) {
  return setting ? Json::parse(setting->value) : Json(nullptr);
}

Json daemon_json(const ShownSettings& shown) {
  if (!shown.daemon) return nullptr;
  Json differences = Json::array();
  for (const SettingDifference& difference : shown.differences)
    differences.push_back(
        {{"key", difference.key},
         {"in_force", value_json(difference.in_force)},
         {"in_file", value_json(difference.in_file)},
         {"provenance",
          difference.in_file ? Json(provenance_text(*difference.in_file, shown.file)) : Json(nullptr)}});
  const store::DaemonInstance& daemon = *shown.daemon;
  Json reload = nullptr;
  if (daemon.last_reload_at)
    reload = {{"at", json_time(daemon.last_reload_at)},
              {"refused", !daemon.reload_faults.empty()},
              {"reasons", reload_fault_lines(daemon)}};
  return {{"instance", daemon.id},
          {"version", daemon.version},
          {"settings_loaded_at", json_time(daemon.loaded_at)},
          {"last_reload", std::move(reload)},
          {"differences", std::move(differences)}};
}

/// "10 (giftsyncd.yaml:3)".
std::string value_text(const std::optional<EffectiveSetting>& setting, const std::string& file) {
  if (!setting) return "absent";
  return fmt::format("{} ({})", printable(setting->value == "null" ? "no value" : setting->value),
                     printable(provenance_text(*setting, file)));
}

void print_settings(std::ostream& out, const ShownSettings& shown) {
  for (const EffectiveSetting& setting : shown.settings)
    fmt::print(out, "{}: {}  # {}\n", setting.key, setting.value == "null" ? "" : printable(setting.value),
               printable(provenance_text(setting, shown.file)));
  for (const SettingDifference& difference : shown.differences)
    fmt::print(out, "# the file differs: {}: {} in force, {} in the file\n", difference.key,
               value_text(difference.in_force, shown.file), value_text(difference.in_file, shown.file));
}

void tell_refused_reload(const Console& console, const store::DaemonInstance& daemon) {
  if (daemon.reload_faults.empty() || !daemon.last_reload_at) return;
  console.info(fmt::format("The reload at {} UTC was refused, and the settings of {} UTC stay in force:",
                           minute_text(daemon.last_reload_at), minute_text(daemon.loaded_at)));
  for (const std::string& line : reload_fault_lines(daemon)) console.info(printable(line));
}

/// The daemons that the store knows; a store that cannot be read is reported.
Rows known_daemons(const Console& console, const config::Settings& settings) {
  try {
    const bool is_file = settings.store.backend == config::StoreBackend::sqlite;
    if (is_file && !wiring::store_file_exists(settings.store.connection)) return {};
    const sql::Dsn dsn = wiring::store_dsn(settings.store);
    if (store::store_version(dsn) != store::kStoreVersion) return {};
    return store::DaemonInstances(dsn).list();
  } catch (const DependencyError& fault) {
    console.info(fmt::format("The store does not say what runs: {}", fault.what()));
    return {};
  }
}

ShownSettings shown_settings(const Console& console, const config::SettingsReading& file, bool file_alone) {
  ShownSettings shown{config::effective_settings(file.settings), file.settings.file, {}, {}};
  if (file_alone) return shown;
  const auto row =
      find_own_daemon(known_daemons(console, file.settings), place_of(file.settings), probe_daemon);
  auto in_force = row ? config::effective_settings_from(row->instance.settings) : std::nullopt;
  if (!in_force) {
    console.info(fmt::format("No giftsyncd runs with {}{}", file.settings.file,
                             file.faults.empty() ? ": this is what the file says." : "."));
    return shown;
  }
  if (file.faults.empty()) shown.differences = config::differences(*in_force, shown.settings);
  shown.settings = std::move(*in_force);
  shown.daemon = row->instance;
  return shown;
}

int show_settings(const Console& console, const config::SettingsReading& file, bool json, bool file_alone) {
  const ShownSettings shown =
      file.faults.empty() || !file_alone ? shown_settings(console, file, file_alone) : ShownSettings{};
  for (const std::string& warning : file.settings.warnings) console.info(warning);
  // A faulty file alone has no settings to show.
  const bool has_settings = file.faults.empty() || shown.daemon;
  if (has_settings && json) {
    Json all = nested(shown);
    all["daemon"] = daemon_json(shown);
    console.out << json_text(all, 2) << '\n';
  } else if (has_settings) {
    print_settings(console.out, shown);
  }
  if (shown.daemon) tell_refused_reload(console, *shown.daemon);
  return file.faults.empty() ? EX_OK : console.fail({EX_CONFIG, file.faults});
}

}  // namespace

void add_settings_commands(Commands& commands) {
  Command* noun = commands.noun("settings", "The settings in force");
  const auto json = std::make_shared<bool>(false);
  const auto file_alone = std::make_shared<bool>(false);
  Command* verb = commands.verb(
      *noun, "show",
      "Show every setting that the running daemon has, with its value, defaults included, and its "
      "provenance: "
      "default, or the line of the file, and the reference of a secret. Secrets are shown as ********. Then "
      "each key that differs in the file, and why the last reload was refused. Without a running daemon, and "
      "with --file, the file's settings. Lists all faults of a faulty file.",
      {"settings show", "settings show --file --config giftsyncd.yaml --json"});
  verb->add_flag("--json", *json, "Print JSON, nested as the file, and the provenance of each value");
  verb->add_flag("--file", *file_alone, "Show the settings file alone, whatever runs");
  commands.run_despite_faults(
      verb, [json, file_alone](const Console& console, const config::SettingsReading& file) {
        return show_settings(console, file, *json, *file_alone);
      });
}

}  // namespace giftsync::cli
