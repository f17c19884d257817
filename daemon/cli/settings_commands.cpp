#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <memory>

#include "daemon/cli/commands.h"
#include "daemon/cli/json_list.h"
#include "daemon/cli/text_table.h"
#include "daemon/settings/settings_keys.h"

namespace giftsync::daemon {
namespace {

constexpr const char* kHidden = "********";

/// A setting's effective value; null when it has none.
class EffectiveValue {
 public:
  explicit EffectiveValue(Settings& settings) : settings_(settings) {}

  Json operator()(const WholeNumber& rule) const { return rule.place(settings_); }
  Json operator()(const YesNo& rule) const { return rule.place(settings_); }
  Json operator()(const Choice& rule) const { return rule.words.at(rule.chosen(settings_)); }
  Json operator()(const Text& rule) const { return text(rule.place(settings_)); }
  Json operator()(const TextList& rule) const { return rule.place(settings_); }
  Json operator()(const FilePath& rule) const { return text(rule.place(settings_)); }
  Json operator()(const SecretReference& rule) const {
    return rule.place(settings_).empty() ? Json(nullptr) : Json(kHidden);
  }

 private:
  static Json text(const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); }
  Settings& settings_;
};

Json value_of(const SettingsKey& key, Settings& settings) {
  const bool hides_password = key.path == "store.connection" && names_password(settings.store.connection);
  return hides_password ? Json(kHidden) : std::visit(EffectiveValue(settings), key.rule);
}

/// Nested as in the file: {"server": {"listen": ...}}.
Json nested(Settings& settings) {
  Json all = Json::object();
  for (const SettingsKey& key : settings_keys()) {
    std::string pointer = "/" + key.path;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    all[Json::json_pointer(pointer)] = value_of(key, settings);
  }
  return all;
}

int show_settings(const Console& console, Settings settings, bool json) {
  for (const std::string& warning : settings.warnings) console.note(warning);
  if (json) {
    console.out << json_text(nested(settings), 2) << '\n';
    return EX_OK;
  }
  for (const SettingsKey& key : settings_keys()) {
    const Json value = value_of(key, settings);
    fmt::print(console.out, "{}: {}\n", key.path, value.is_null() ? "" : printable(json_text(value)));
  }
  return EX_OK;
}

}  // namespace

void add_settings_commands(Commands& commands) {
  CLI::App* noun = commands.noun("settings", "The settings in force");
  const auto json = std::make_shared<bool>(false);
  CLI::App* verb = commands.verb(
      *noun, "show",
      "Every setting with its effective value, defaults included; secrets as ********. All faults of "
      "the file when it has some.",
      {"settings show", "settings show --config giftsyncd.yaml --json"});
  verb->add_flag("--json", *json, "Print JSON, nested as the file is");
  commands.run_with_settings(verb, [json](const Console& console, const Settings& settings) {
    return show_settings(console, settings, *json);
  });
}

}  // namespace giftsync::daemon
