#include <fmt/format.h>

#include <algorithm>

#include "daemon/config/connection_urls.h"
#include "daemon/config/settings_keys.h"
#include "schema/contact_normalization.h"

namespace giftsync::daemon::config {
namespace {

struct AllowedText {
  std::string operator()(const WholeNumber& rule) const {
    return fmt::format("a whole number from {} to {} ({})", rule.minimum, rule.maximum, rule.unit);
  }
  std::string operator()(const BooleanValue&) const { return "true, false"; }
  std::string operator()(const Choice& rule) const { return fmt::format("{}", fmt::join(rule.values, ", ")); }
  std::string operator()(const Text& rule) const { return rule.allowed; }
  std::string operator()(const TextList& rule) const {
    return fmt::format("a list of {} to {} different texts, each {}", rule.minimum, rule.maximum,
                       rule.allowed);
  }
  std::string operator()(const FilePath& rule) const { return rule.allowed; }
  std::string operator()(const SecretReference&) const {
    return "file:PATH, env:NAME, credential:NAME or the secret itself";
  }
  std::string operator()(const SecretList& rule) const {
    return fmt::format(
        "file:PATH, env:NAME, credential:NAME or the secret itself, or a list of up to {} of them",
        rule.maximum);
  }
  std::string operator()(const ChoiceMap& rule) const {
    return fmt::format("up to {} keys, each {}, with one of: {}", rule.maximum, rule.allowed,
                       fmt::join(rule.values, ", "));
  }
  std::string operator()(const SecretMap& rule) const {
    return fmt::format(
        "up to {} keys, each {}, with file:PATH, env:NAME, credential:NAME or the secret itself",
        rule.maximum, rule.allowed);
  }
  std::string operator()(const NameMap& rule) const {
    return fmt::format("up to {} keys, each {}", rule.maximum, rule.allowed);
  }
};

}  // namespace

const std::vector<SettingsList>& settings_lists() {
  static const std::vector<SettingsList> lists{
      {"sources", 50, "a list of sources, each with its keys",
       [](Settings& settings) { settings.sources.emplace_back(); },
       [](Settings& all, Settings& one) { all.sources.push_back(std::move(one.sources.back())); },
       [](const Settings& settings) -> const std::string& { return settings.sources.back().name; },
       [](const Settings& settings) { return settings.sources.size(); },
       [](const Settings& settings, std::size_t at) {
         Settings one = settings;
         one.sources = {settings.sources[at]};
         return one;
       }},
      {"pages.charities", 20, "a list of charities, each with its keys",
       [](Settings& settings) { settings.pages.charities.emplace_back(); },
       [](Settings& all, Settings& one) {
         all.pages.charities.push_back(std::move(one.pages.charities.back()));
       },
       [](const Settings& settings) -> const std::string& { return settings.pages.charities.back().name; },
       [](const Settings& settings) { return settings.pages.charities.size(); },
       [](const Settings& settings, std::size_t at) {
         Settings one = settings;
         one.pages.charities = {settings.pages.charities[at]};
         return one;
       }},
      {"sso.connections", 200, "a list of connections, each with its keys",
       [](Settings& settings) { settings.sso.connections.emplace_back(); },
       [](Settings& all, Settings& one) {
         all.sso.connections.push_back(std::move(one.sso.connections.back()));
       },
       [](const Settings& settings) -> const std::string& { return settings.sso.connections.back().name; },
       [](const Settings& settings) { return settings.sso.connections.size(); },
       [](const Settings& settings, std::size_t at) {
         Settings one = settings;
         one.sso.connections = {settings.sso.connections[at]};
         return one;
       },
       [](const Settings& settings) {
         const SsoConnectionSettings& connection = settings.sso.connections.back();
         std::vector<std::pair<std::string, std::string>> values;
         for (const std::string& domain : connection.domains)
           values.emplace_back("sso.connections.domains", domain);
         // A directory may list its own domain among its domains.
         if (!connection.domain.empty() && all_domains(connection).size() > connection.domains.size())
           values.emplace_back("sso.connections.domain", connection.domain);
         return values;
       }}};
  return lists;
}

const SettingsList* enclosing_list(std::string_view path) {
  for (const SettingsList& list : settings_lists()) {
    if (path.starts_with(list.path + ".")) return &list;
  }
  return nullptr;
}

const SettingsKey* find_settings_key(std::string_view path) {
  const std::vector<SettingsKey>& keys = settings_keys();
  const auto found =
      std::find_if(keys.begin(), keys.end(), [path](const SettingsKey& key) { return key.path == path; });
  return found == keys.end() ? nullptr : &*found;
}

std::vector<std::string> names_in_section(std::string_view section) {
  const std::string prefix = section.empty() ? "" : std::string(section) + ".";
  std::vector<std::string> names;
  for (const SettingsKey& key : settings_keys()) {
    if (!key.path.starts_with(prefix)) continue;
    std::string name = key.path.substr(prefix.size());
    name.resize(std::min(name.find('.'), name.size()));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::string allowed_by(const ValueRule& rule) {
  return std::visit(AllowedText{}, rule);
}

}  // namespace giftsync::daemon::config
