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
  Json operator()(const SecretList& rule) const {
    return rule.place(settings_).empty() ? Json(nullptr) : Json(kHidden);
  }
  Json operator()(const WordMap& rule) const {
    Json map = Json::object();
    for (const auto& [name, word] : rule.place(settings_)) map[name] = word;
    return map;
  }
  Json operator()(const NameMap& rule) const {
    Json map = Json::object();
    for (const auto& [name, value] : rule.place(settings_)) map[name] = value;
    return map;
  }
  Json operator()(const SecretMap& rule) const {
    Json map = Json::object();
    for (const auto& [name, secret] : rule.place(settings_)) map[name] = kHidden;
    return map;
  }

 private:
  static Json text(const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); }
  Settings& settings_;
};

Json value_of(const SettingsKey& key, Settings& settings) {
  const bool hides_password = (key.path == "store.connection" && names_password(settings.store.connection)) ||
                              (key.path == "crm.connection" && names_password(settings.crm.connection));
  return hides_password ? Json(kHidden) : std::visit(EffectiveValue(settings), key.rule);
}

constexpr std::string_view kSources = "sources.";

void set_at(Json& json, const std::string& path, Json value) {
  std::string pointer = "/" + path;
  std::replace(pointer.begin(), pointer.end(), '.', '/');
  json[Json::json_pointer(pointer)] = std::move(value);
}

/// The table's places lead to the last source, so each one is shown as the only one.
template <class Show>
void each_source(const Settings& settings, Show show) {
  for (std::size_t i = 0; i < settings.sources.size(); ++i) {
    Settings one = settings;
    one.sources = {settings.sources[i]};
    show(i + 1, one);
  }
}

/// Nested as in the file: {"server": {"listen": ...}}.
Json nested(Settings& settings) {
  Json all = Json::object();
  for (const SettingsKey& key : settings_keys()) {
    if (list_around(key.path) == nullptr) set_at(all, key.path, value_of(key, settings));
  }
  all["sources"] = Json::array();
  each_source(settings, [&](std::size_t, Settings& one) {
    Json source = Json::object();
    for (const SettingsKey& key : settings_keys()) {
      if (key.path.starts_with(kSources))
        set_at(source, key.path.substr(kSources.size()), value_of(key, one));
    }
    all["sources"].push_back(std::move(source));
  });
  return all;
}

int show_settings(const Console& console, Settings settings, bool json) {
  for (const std::string& warning : settings.warnings) console.note(warning);
  if (json) {
    console.out << json_text(nested(settings), 2) << '\n';
    return EX_OK;
  }
  const auto print = [&](const std::string& path, const Json& value) {
    fmt::print(console.out, "{}: {}\n", path, value.is_null() ? "" : printable(json_text(value)));
  };
  for (const SettingsKey& key : settings_keys()) {
    if (list_around(key.path) == nullptr) print(key.path, value_of(key, settings));
  }
  each_source(settings, [&](std::size_t number, Settings& one) {
    for (const SettingsKey& key : settings_keys()) {
      if (key.path.starts_with(kSources))
        print(fmt::format("sources[{}].{}", number, key.path.substr(kSources.size())), value_of(key, one));
    }
  });
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
