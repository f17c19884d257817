#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <memory>

#include "cli/commands.h"
#include "cli/json_array_writer.h"
#include "cli/text_table.h"
#include "daemon/config/settings_keys.h"

namespace giftsync::cli {
namespace {

constexpr const char* kRedacted = "********";

/// The effective value of a setting; null if it has none.
class EffectiveValue {
 public:
  explicit EffectiveValue(daemon::config::Settings& settings) : settings_(settings) {}

  Json operator()(const daemon::config::WholeNumber& rule) const { return rule.accessor(settings_); }
  Json operator()(const daemon::config::BooleanValue& rule) const { return rule.accessor(settings_); }
  Json operator()(const daemon::config::Choice& rule) const { return rule.values.at(rule.chosen(settings_)); }
  Json operator()(const daemon::config::Text& rule) const { return text(rule.accessor(settings_)); }
  Json operator()(const daemon::config::TextList& rule) const { return rule.accessor(settings_); }
  Json operator()(const daemon::config::FilePath& rule) const { return text(rule.accessor(settings_)); }
  Json operator()(const daemon::config::SecretReference& rule) const {
    return rule.accessor(settings_).empty() ? Json(nullptr) : Json(kRedacted);
  }
  Json operator()(const daemon::config::SecretList& rule) const {
    return rule.accessor(settings_).empty() ? Json(nullptr) : Json(kRedacted);
  }
  Json operator()(const daemon::config::ChoiceMap& rule) const {
    Json map = Json::object();
    for (const auto& [name, word] : rule.accessor(settings_)) map[name] = word;
    return map;
  }
  Json operator()(const daemon::config::NameMap& rule) const {
    Json map = Json::object();
    for (const auto& [name, value] : rule.accessor(settings_)) map[name] = value;
    return map;
  }
  Json operator()(const daemon::config::SecretMap& rule) const {
    Json map = Json::object();
    for (const auto& [name, secret] : rule.accessor(settings_)) map[name] = kRedacted;
    return map;
  }

 private:
  static Json text(const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); }
  daemon::config::Settings& settings_;
};

Json value_of(const daemon::config::SettingsKey& key, daemon::config::Settings& settings) {
  const bool hides_password =
      (key.path == "store.connection" && daemon::config::has_password(settings.store.connection)) ||
      (key.path == "crm.connection" && daemon::config::has_password(settings.crm.connection));
  return hides_password ? Json(kRedacted) : std::visit(EffectiveValue(settings), key.rule);
}

void set_at(Json& json, const std::string& path, Json value) {
  std::string pointer = "/" + path;
  std::replace(pointer.begin(), pointer.end(), '.', '/');
  json[Json::json_pointer(pointer)] = std::move(value);
}

/// The accessors of the key table read the last element of a list: extract each element as the only one.
template <class Show>
void each_element(const daemon::config::SettingsList& list, const daemon::config::Settings& settings,
                  Show show) {
  for (std::size_t i = 0; i < list.count(settings); ++i) {
    daemon::config::Settings one = list.extract(settings, i);
    show(i + 1, one);
  }
}

/// `show` gets the key and its name within the list.
template <class Show>
void each_key_of(const daemon::config::SettingsList& list, Show show) {
  const std::string prefix = list.path + ".";
  for (const daemon::config::SettingsKey& key : daemon::config::settings_keys()) {
    if (key.path.starts_with(prefix)) show(key, key.path.substr(prefix.size()));
  }
}

/// "default", "/etc/giftsync/giftsyncd.yaml:12" or, of a secret, "...:12 (credential:relay)".
std::string provenance_of(const daemon::config::Settings& settings, const std::string& path) {
  const auto found = settings.provenance.find(path);
  if (found == settings.provenance.end()) return "default";
  const daemon::config::ValueProvenance& origin = found->second;
  const std::string line = fmt::format("{}:{}", settings.file, origin.line);
  return origin.reference.empty() ? line : fmt::format("{} ({})", line, origin.reference);
}

/// The settings, nested as in the file: {"server": {"listen": ...}}, and the provenance of each value by
/// dotted key in "provenance" (SET-7).
Json nested(daemon::config::Settings& settings) {
  Json all = Json::object();
  Json provenance = Json::object();
  for (const daemon::config::SettingsKey& key : daemon::config::settings_keys()) {
    if (daemon::config::enclosing_list(key.path) != nullptr) continue;
    set_at(all, key.path, value_of(key, settings));
    provenance[key.path] = provenance_of(settings, key.path);
  }
  for (const daemon::config::SettingsList& list : daemon::config::settings_lists()) {
    Json elements = Json::array();
    each_element(list, settings, [&](std::size_t number, daemon::config::Settings& one) {
      Json element = Json::object();
      each_key_of(list, [&](const daemon::config::SettingsKey& key, const std::string& name) {
        set_at(element, name, value_of(key, one));
        const std::string path = fmt::format("{}[{}].{}", list.path, number, name);
        provenance[path] = provenance_of(settings, path);
      });
      elements.push_back(std::move(element));
    });
    set_at(all, list.path, std::move(elements));
  }
  all["provenance"] = std::move(provenance);
  return all;
}

int show_settings(const Console& console, daemon::config::Settings settings, bool json) {
  for (const std::string& warning : settings.warnings) console.info(warning);
  if (json) {
    console.out << json_text(nested(settings), 2) << '\n';
    return EX_OK;
  }
  const auto print = [&](const std::string& path, const Json& value) {
    fmt::print(console.out, "{}: {}  # {}\n", path, value.is_null() ? "" : printable(json_text(value)),
               printable(provenance_of(settings, path)));
  };
  for (const daemon::config::SettingsKey& key : daemon::config::settings_keys()) {
    if (daemon::config::enclosing_list(key.path) == nullptr) print(key.path, value_of(key, settings));
  }
  for (const daemon::config::SettingsList& list : daemon::config::settings_lists()) {
    each_element(list, settings, [&](std::size_t number, daemon::config::Settings& one) {
      each_key_of(list, [&](const daemon::config::SettingsKey& key, const std::string& name) {
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
      "Show every setting with its effective value, defaults included, and its provenance: default, or the "
      "line of the file, and the reference of a secret. Secrets are shown as ********. Lists all faults of a "
      "faulty file.",
      {"settings show", "settings show --config giftsyncd.yaml --json"});
  verb->add_flag("--json", *json, "Print JSON, nested as the file, and the provenance of each value");
  commands.run_with_settings(verb, [json](const Console& console, const daemon::config::Settings& settings) {
    return show_settings(console, settings, *json);
  });
}

}  // namespace giftsync::cli
