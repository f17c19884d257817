#include <fmt/format.h>

#include <algorithm>

#include "daemon/config/connection_urls.h"
#include "daemon/config/settings_table.h"
#include "platform/text.h"

namespace giftsync::config {
namespace {

constexpr const char* kSecretAllowed = "file:PATH, env:NAME, credential:NAME or the secret itself";

std::string allowed(const WholeNumber& rule) {
  return fmt::format("a whole number from {} to {} ({})", rule.minimum, rule.maximum, rule.unit);
}
std::string allowed(const BooleanValue&) {
  return "true, false";
}
std::string allowed(const Choice& rule) {
  return fmt::format("{}", fmt::join(rule.values, ", "));
}
std::string allowed(const Text& rule) {
  return rule.form.allowed;
}
std::string allowed(const TextList& rule) {
  return fmt::format("a list of {} to {} different texts, each {}", rule.minimum, rule.maximum,
                     rule.form.allowed);
}
std::string allowed(const FilePath& rule) {
  return rule.allowed;
}
std::string allowed(const SecretReference&) {
  return kSecretAllowed;
}
std::string allowed(const SecretList& rule) {
  return fmt::format("{}, or a list of up to {} of them", kSecretAllowed, rule.maximum);
}
std::string allowed(const ChoiceMap& rule) {
  return fmt::format("up to {} keys, each {}, with one of: {}", rule.maximum, rule.allowed,
                     fmt::join(rule.values, ", "));
}
std::string allowed(const SecretMap& rule) {
  return fmt::format("up to {} keys, each {}, with {}", rule.maximum, rule.name.allowed, kSecretAllowed);
}
std::string allowed(const NameMap& rule) {
  return fmt::format("up to {}, each {}", pluralize(rule.maximum, "key"), rule.allowed);
}

template <class... Members>
SettingsList list_at(std::string path, std::size_t maximum, std::string allowed, Members... members) {
  const auto elements = [members...](auto& settings) -> auto& {
    return member_of(settings, members...);
  };
  return {
      std::move(path),
      maximum,
      std::move(allowed),
      [elements](Settings& settings) { elements(settings).emplace_back(); },
      [elements](Settings& all, Settings& one) { elements(all).push_back(std::move(elements(one).back())); },
      [elements](const Settings& settings) -> const std::string& { return elements(settings).back().name; },
      [elements](const Settings& settings) { return elements(settings).size(); },
      [elements](const Settings& settings, std::size_t at) {
        Settings one = settings;
        elements(one) = {elements(settings)[at]};
        return one;
      }};
}

/// The domains of the last connection, each with its key.
std::vector<std::pair<std::string, std::string>> connection_domains(const Settings& settings) {
  const SsoConnectionSettings& connection = settings.sso.connections.back();
  std::vector<std::pair<std::string, std::string>> values;
  for (const std::string& domain : connection.domains) values.emplace_back("sso.connections.domains", domain);
  // A directory may list its own domain among its domains.
  if (!connection.domain.empty() && all_domains(connection).size() > connection.domains.size())
    values.emplace_back("sso.connections.domain", connection.domain);
  return values;
}

/// The element whose `path` is this; null when there is none.
template <class Table>
const typename Table::value_type* find_path(const Table& table, std::string_view path) {
  const auto found =
      std::find_if(table.begin(), table.end(), [path](const auto& entry) { return entry.path == path; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

const std::vector<SettingsList>& settings_lists() {
  static const std::vector<SettingsList> lists = [] {
    std::vector<SettingsList> all{
        list_at("sources", 50, "a list of sources, each with its keys", &Settings::sources),
        list_at("sending.approval.rules", 50, "a list of rules, each with its keys", &Settings::sending,
                &SendingSettings::approval, &SendingApprovalSettings::rules),
        list_at("pages.charities", 20, "a list of charities, each with its keys", &Settings::pages,
                &PageSettings::charities),
        list_at("sso.connections", 200, "a list of connections, each with its keys", &Settings::sso,
                &SsoSettings::connections)};
    all.back().unique = connection_domains;
    return all;
  }();
  return lists;
}

const SettingsList* find_settings_list(std::string_view path) {
  return find_path(settings_lists(), path);
}

const SettingsList* enclosing_list(std::string_view path) {
  for (const SettingsList& list : settings_lists()) {
    if (path.starts_with(list.path + ".")) return &list;
  }
  return nullptr;
}

const SettingsKey* find_settings_key(std::string_view path) {
  return find_path(settings_keys(), path);
}

std::string section_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? "" : std::string(path.substr(0, dot));
}

std::string name_in_section(std::string_view path) {
  return std::string(path.substr(path.rfind('.') + 1));
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
  return std::visit([](const auto& kind) { return allowed(kind); }, rule);
}

}  // namespace giftsync::config
