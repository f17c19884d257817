// daemon/config: parses a settings file key by key: the first of two steps. The second (cross_checks.h)
// checks the keys together.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/settings.h"
#include "daemon/config/settings_keys.h"
#include "platform/file_fault.h"
#include "platform/yaml_document.h"

namespace giftsync::daemon::config {

struct SettingsWarning {
  int line = 0;
  std::string key;
  std::string text;
};

struct ParsedConfig {
  Settings settings;                              ///< defaults where the file has no or a faulty value
  std::map<std::string, int> lines;               ///< line of each key and section that the file has
  std::map<std::string, std::string> references;  ///< of keys whose value is a reference to a secret
  std::set<std::string> faulty;                   ///< keys and sections whose value was refused
  std::vector<platform::FileFault> faults;
  std::vector<SettingsWarning> warnings;

  bool has(const std::string& path) const { return lines.contains(path); }
};

/// Walks the YAML tree by the table of keys. Relative paths begin at `folder` (absolute). Reads the files and
/// variables that secrets refer to.
class ConfigParser {
 public:
  explicit ConfigParser(std::filesystem::path folder) : folder_(std::move(folder)) {}

  ParsedConfig parse(const platform::YamlNode& root);

 private:
  void parse_section(const std::string& path, const platform::YamlNode& node);
  void parse_list(const SettingsList& list, const platform::YamlNode& node);
  /// Merges one parsed element of a list into the result; `number` counts from 1.
  void add_element(const SettingsList& list, ParsedConfig one, std::size_t number);
  void parse_entry(const std::string& section_path, const platform::YamlEntry& entry);
  void report_unknown_key(const std::string& section_path, const platform::YamlEntry& entry);
  void refuse(const SettingsKey& key, int line, std::string found, std::string next_step = {});
  /// The node's text; adds a fault and returns null when it is not a text or empty.
  const std::string* text_of(const SettingsKey& key, const platform::YamlNode& node);

  void parse_value(const SettingsKey& key, const WholeNumber& rule, const platform::YamlNode& node);
  void parse_value(const SettingsKey& key, const BooleanValue& rule, const platform::YamlNode& node);
  void parse_value(const SettingsKey& key, const Choice& rule, const platform::YamlNode& node);
  void parse_value(const SettingsKey& key, const Text& rule, const platform::YamlNode& node);
  void parse_value(const SettingsKey& key, const TextList& rule, const platform::YamlNode& node);
  void parse_value(const SettingsKey& key, const FilePath& rule, const platform::YamlNode& node);
  void parse_value(const SettingsKey& key, const SecretReference& rule, const platform::YamlNode& node);
  void parse_value(const SettingsKey& key, const SecretList& rule, const platform::YamlNode& node);
  void parse_value(const SettingsKey& key, const ChoiceMap& rule, const platform::YamlNode& node);
  void parse_value(const SettingsKey& key, const SecretMap& rule, const platform::YamlNode& node);
  void parse_value(const SettingsKey& key, const NameMap& rule, const platform::YamlNode& node);
  /// `location`: the secret's position in the key's value, such as "[2]"; empty: the whole value.
  std::optional<Secret> secret_of(const SettingsKey& key, const platform::YamlNode& node,
                                  const std::string& location = {});
  /// The entries of a map with names that the admin chooses; each name once, at most `max_count`.
  std::vector<const platform::YamlEntry*> entries_of(const SettingsKey& key, const platform::YamlNode& node,
                                                     std::size_t max_count);

  std::filesystem::path folder_;
  ParsedConfig parsed_;
};

}  // namespace giftsync::daemon::config
