#include "daemon/config/effective_settings.h"

#include <fmt/format.h>

#include <map>

#include "daemon/config/settings_keys.h"
#include "platform/json.h"

namespace giftsync::config {
namespace {

constexpr const char* kRedacted = "********";

/// The effective value of a setting; null if it has none.
class EffectiveValue {
 public:
  explicit EffectiveValue(Settings& settings) : settings_(settings) {}

  Json operator()(const WholeNumber& rule) const {
    const std::int64_t value = rule.accessor(settings_);
    return value < rule.minimum ? Json(nullptr) : Json(value);  // not set
  }
  Json operator()(const BooleanValue& rule) const { return rule.accessor(settings_); }
  Json operator()(const Choice& rule) const { return rule.values.at(rule.chosen(settings_)); }
  Json operator()(const Text& rule) const { return text(rule.accessor(settings_)); }
  Json operator()(const TextList& rule) const { return rule.accessor(settings_); }
  Json operator()(const FilePath& rule) const { return text(rule.accessor(settings_)); }
  Json operator()(const SecretReference& rule) const {
    return rule.accessor(settings_).empty() ? Json(nullptr) : Json(kRedacted);
  }
  Json operator()(const SecretList& rule) const {
    return rule.accessor(settings_).empty() ? Json(nullptr) : Json(kRedacted);
  }
  Json operator()(const ChoiceMap& rule) const {
    Json map = Json::object();
    for (const auto& [name, word] : rule.accessor(settings_)) map[name] = word;
    return map;
  }
  Json operator()(const NameMap& rule) const {
    Json map = Json::object();
    for (const auto& [name, value] : rule.accessor(settings_)) map[name] = value;
    return map;
  }
  Json operator()(const SecretMap& rule) const {
    Json map = Json::object();
    for (const auto& [name, secret] : rule.accessor(settings_)) map[name] = kRedacted;
    return map;
  }

 private:
  static Json text(const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); }
  Settings& settings_;
};

/// A feed's query often has a token in it.
Json without_query(const std::string& url) {
  const std::size_t query = url.find('?');
  return query == std::string::npos ? url : url.substr(0, query + 1) + kRedacted;
}

Json value_of(const SettingsKey& key, Settings& settings) {
  if (key.path == "sources.url" && !settings.sources.back().url.empty())
    return without_query(settings.sources.back().url);
  const bool hides_password = (key.path == "store.connection" && has_password(settings.store.connection)) ||
                              (key.path == "crm.connection" && has_password(settings.crm.connection));
  return hides_password ? Json(kRedacted) : std::visit(EffectiveValue(settings), key.rule);
}

ValueProvenance provenance_of(const Settings& settings, const std::string& path) {
  const auto found = settings.provenance.find(path);
  return found == settings.provenance.end() ? ValueProvenance{} : found->second;
}

EffectiveSetting shown(const std::string& path, const Json& value, const Settings& settings) {
  return {path, value.dump(-1, ' ', false, Json::error_handler_t::replace), provenance_of(settings, path)};
}

}  // namespace

std::vector<EffectiveSetting> effective_settings(Settings settings) {
  std::vector<EffectiveSetting> all;
  for (const SettingsKey& key : settings_keys()) {
    if (enclosing_list(key.path) == nullptr)
      all.push_back(shown(key.path, value_of(key, settings), settings));
  }
  for (const SettingsList& list : settings_lists()) {
    const std::string prefix = list.path + ".";
    for (std::size_t i = 0; i < list.count(settings); ++i) {
      // The accessors read the last element of a list: extract each element as the only one.
      Settings one = list.extract(settings, i);
      for (const SettingsKey& key : settings_keys()) {
        if (!key.path.starts_with(prefix)) continue;
        const std::string path = fmt::format("{}[{}].{}", list.path, i, key.path.substr(prefix.size()));
        all.push_back(shown(path, value_of(key, one), settings));
      }
    }
  }
  return all;
}

std::string provenance_text(const EffectiveSetting& setting, const std::string& file) {
  if (setting.provenance.line == 0) return "default";
  const std::string line = fmt::format("{}:{}", file, setting.provenance.line);
  return setting.provenance.reference.empty() ? line
                                              : fmt::format("{} ({})", line, setting.provenance.reference);
}

std::string to_text(const std::vector<EffectiveSetting>& settings) {
  Json rows = Json::array();
  for (const EffectiveSetting& setting : settings)
    rows.push_back(
        Json::array({setting.key, setting.value, setting.provenance.line, setting.provenance.reference}));
  return rows.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<std::vector<EffectiveSetting>> effective_settings_from(const std::string& text) {
  const Json rows = Json::parse(text, nullptr, false);
  if (!rows.is_array()) return std::nullopt;
  std::vector<EffectiveSetting> settings;
  for (const Json& row : rows) {
    if (!row.is_array() || row.size() != 4 || !row[0].is_string() || !row[1].is_string() ||
        !row[2].is_number_integer() || !row[3].is_string() || !Json::accept(row[1].get<std::string>()))
      return std::nullopt;
    settings.push_back({row[0].get<std::string>(),
                        row[1].get<std::string>(),
                        {row[2].get<int>(), row[3].get<std::string>()}});
  }
  return settings;
}

std::vector<SettingDifference> differences(const std::vector<EffectiveSetting>& in_force,
                                           const std::vector<EffectiveSetting>& in_file) {
  std::map<std::string, EffectiveSetting> running;
  for (const EffectiveSetting& setting : in_force) running.emplace(setting.key, setting);
  std::vector<SettingDifference> found;
  for (const EffectiveSetting& effective_setting : in_file) {
    const auto former = running.find(effective_setting.key);
    if (former == running.end()) {
      found.push_back({effective_setting.key, std::nullopt, effective_setting});
      continue;
    }
    const EffectiveSetting& now = former->second;
    if (now.value != effective_setting.value ||
        now.provenance.reference != effective_setting.provenance.reference)
      found.push_back({effective_setting.key, now, effective_setting});
    running.erase(former);
  }
  for (const EffectiveSetting& one : in_force) {
    if (running.contains(one.key)) found.push_back({one.key, one, std::nullopt});
  }
  return found;
}

}  // namespace giftsync::config
