// daemon/settings: what a settings file gave, key by key: the first of the two steps of reading. The second
// (whole_settings.h) looks at the keys together.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/settings/settings.h"
#include "daemon/settings/settings_fault.h"
#include "daemon/settings/settings_keys.h"
#include "daemon/settings/yaml_tree.h"

namespace giftsync::daemon {

struct SettingsWarning {
  int line = 0;
  std::string key;
  std::string text;
};

struct GivenSettings {
  Settings settings;                 ///< defaults where the file gave nothing or something faulty
  std::map<std::string, int> lines;  ///< of each key and section that the file has
  std::map<std::string, std::string> references;  ///< of keys whose value is a reference to a secret
  std::set<std::string> faulty;                   ///< keys and sections whose value was refused
  std::vector<SettingsFault> faults;
  std::vector<SettingsWarning> warnings;

  bool has(const std::string& path) const { return lines.contains(path); }
};

/// Walks the tree along the table of keys. `folder` (absolute) anchors relative paths; reads the files and
/// variables that secrets refer to.
class SettingsWalk {
 public:
  explicit SettingsWalk(std::filesystem::path folder) : folder_(std::move(folder)) {}

  GivenSettings walk(const YamlNode& root);

 private:
  void section(const std::string& path, const YamlNode& node);
  void list(const SettingsList& list, const YamlNode& node);
  /// Joins what one element of a list gave into the whole; `number` counts from 1.
  void join(const SettingsList& list, GivenSettings one, std::size_t number);
  void entry(const std::string& section_path, const YamlEntry& entry);
  void unknown(const std::string& section_path, const YamlEntry& entry);
  void refuse(const SettingsKey& key, int line, std::string found, std::string next_step = {});
  /// The node's text; a fault and null when it is none or empty.
  const std::string* text_of(const SettingsKey& key, const YamlNode& node);

  void take(const SettingsKey& key, const WholeNumber& rule, const YamlNode& node);
  void take(const SettingsKey& key, const YesNo& rule, const YamlNode& node);
  void take(const SettingsKey& key, const Choice& rule, const YamlNode& node);
  void take(const SettingsKey& key, const Text& rule, const YamlNode& node);
  void take(const SettingsKey& key, const TextList& rule, const YamlNode& node);
  void take(const SettingsKey& key, const FilePath& rule, const YamlNode& node);
  void take(const SettingsKey& key, const SecretReference& rule, const YamlNode& node);
  void take(const SettingsKey& key, const SecretList& rule, const YamlNode& node);
  void take(const SettingsKey& key, const WordMap& rule, const YamlNode& node);
  void take(const SettingsKey& key, const SecretMap& rule, const YamlNode& node);
  void take(const SettingsKey& key, const NameMap& rule, const YamlNode& node);
  /// `place`: where in the key's value the secret stands, such as "[2]"; empty: it is the value.
  std::optional<Secret> secret_of(const SettingsKey& key, const YamlNode& node,
                                  const std::string& place = {});
  /// The entries of a map of the admin's own names; each name once, at most `most`.
  std::vector<const YamlEntry*> entries_of(const SettingsKey& key, const YamlNode& node, std::size_t most);

  std::filesystem::path folder_;
  GivenSettings given_;
};

}  // namespace giftsync::daemon
