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

void set_at(Json& json, const std::string& path, Json value) {
  std::string pointer = "/" + path;
  std::replace(pointer.begin(), pointer.end(), '.', '/');
  json[Json::json_pointer(pointer)] = std::move(value);
}

/// The table's places lead to the last element of a list, so each one is shown as the only one.
template <class Show>
void each_element(const SettingsList& list, const Settings& settings, Show show) {
  for (std::size_t i = 0; i < list.count(settings); ++i) {
    Settings one = list.only(settings, i);
    show(i + 1, one);
  }
}

/// `show` gets the key and its name within the list.
template <class Show>
void each_key_of(const SettingsList& list, Show show) {
  const std::string prefix = list.path + ".";
  for (const SettingsKey& key : settings_keys()) {
    if (key.path.starts_with(prefix)) show(key, key.path.substr(prefix.size()));
  }
}

/// "default", "/etc/giftsync/giftsyncd.yaml:12" or, of a secret, "...:12 (credential:relay)".
std::string origin_of(const Settings& settings, const std::string& path) {
  const auto found = settings.origins.find(path);
  if (found == settings.origins.end()) return "default";
  const ValueOrigin& origin = found->second;
  const std::string line = fmt::format("{}:{}", settings.file, origin.line);
  return origin.reference.empty() ? line : fmt::format("{} ({})", line, origin.reference);
}

/// Nested as in the file: {"server": {"listen": ...}}; beside it, in "origins", where each value came from.
Json nested(Settings& settings) {
  Json all = Json::object();
  Json origins = Json::object();
  for (const SettingsKey& key : settings_keys()) {
    if (list_around(key.path) != nullptr) continue;
    set_at(all, key.path, value_of(key, settings));
    origins[key.path] = origin_of(settings, key.path);
  }
  for (const SettingsList& list : settings_lists()) {
    Json elements = Json::array();
    each_element(list, settings, [&](std::size_t number, Settings& one) {
      Json element = Json::object();
      each_key_of(list, [&](const SettingsKey& key, const std::string& name) {
        set_at(element, name, value_of(key, one));
        const std::string path = fmt::format("{}[{}].{}", list.path, number, name);
        origins[path] = origin_of(settings, path);
      });
      elements.push_back(std::move(element));
    });
    set_at(all, list.path, std::move(elements));
  }
  all["origins"] = std::move(origins);
  return all;
}

int show_settings(const Console& console, Settings settings, bool json) {
  for (const std::string& warning : settings.warnings) console.note(warning);
  if (json) {
    console.out << json_text(nested(settings), 2) << '\n';
    return EX_OK;
  }
  const auto print = [&](const std::string& path, const Json& value) {
    fmt::print(console.out, "{}: {}  # {}\n", path, value.is_null() ? "" : printable(json_text(value)),
               printable(origin_of(settings, path)));
  };
  for (const SettingsKey& key : settings_keys()) {
    if (list_around(key.path) == nullptr) print(key.path, value_of(key, settings));
  }
  for (const SettingsList& list : settings_lists()) {
    each_element(list, settings, [&](std::size_t number, Settings& one) {
      each_key_of(list, [&](const SettingsKey& key, const std::string& name) {
        print(fmt::format("{}[{}].{}", list.path, number, name), value_of(key, one));
      });
    });
  }
  return EX_OK;
}

}  // namespace

void add_settings_commands(Commands& commands) {
  CLI::App* noun = commands.noun("settings", "The settings in force");
  const auto json = std::make_shared<bool>(false);
  CLI::App* verb = commands.verb(
      *noun, "show",
      "Every setting with its effective value, defaults included, and where it came from: default, the "
      "file's line, and for a secret what that line refers to. Secrets are ********. All faults of the file "
      "when it has some.",
      {"settings show", "settings show --config giftsyncd.yaml --json"});
  verb->add_flag("--json", *json, "Print JSON, nested as the file is, with the origins beside");
  commands.run_with_settings(verb, [json](const Console& console, const Settings& settings) {
    return show_settings(console, settings, *json);
  });
}

}  // namespace giftsync::daemon
