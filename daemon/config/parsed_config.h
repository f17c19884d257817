// daemon/config: parses a settings file key by key: the first of two steps. The second (cross_checks.h)
// checks the keys together.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "daemon/config/settings.h"
#include "daemon/config/settings_keys.h"
#include "platform/yaml_document.h"

namespace giftsync::config {

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
  std::vector<FileFault> faults;
  std::vector<SettingsWarning> warnings;

  bool has(const std::string& path) const { return lines.contains(path); }
  /// True when the key's own value or an enclosing section was refused.
  bool is_faulty(std::string path) const;
  /// The line of the key, else of the innermost enclosing section that the file has, else 1.
  int line_of(std::string path) const;
  /// Adds a fault at line_of(`path`).
  void refuse(const std::string& path, std::string found, std::string allowed, std::string next_step);
};

/// Walks the YAML tree by the table of keys. Relative paths begin at `folder` (absolute). Reads the files and
/// variables that secrets refer to.
ParsedConfig parse_config(const YamlNode& root, const std::filesystem::path& folder);

/// One value by the rule of its key: into `parsed.settings`, or a fault.
void parse_value(const SettingsKey& key, const YamlNode& node, const std::filesystem::path& folder,
                 ParsedConfig& parsed);

}  // namespace giftsync::config
