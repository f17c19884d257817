#include "daemon/config/parsed_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/config/cross_checks.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::config {
namespace {

std::string joined(const std::string& section_path, const std::string& name) {
  return section_path.empty() ? name : section_path + "." + name;
}

/// Text after a forgotten colon may be a secret, so only names are shown.
bool is_showable_name(const std::string& key) {
  constexpr std::size_t kMaxShownName = 64;
  return key.size() <= kMaxShownName && std::all_of(key.begin(), key.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                  c == '-' || c == '.';
         });
}

/// "base_url" for a misspelt key of this section; "server.listen" for a correct key in the wrong section;
/// empty without a similar key.
std::string suggested_key(const std::string& section_path, const std::string& name) {
  std::string near = suggestion_for(name, names_in_section(section_path));
  if (!near.empty()) return near;
  for (const SettingsKey& key : settings_keys()) {
    if (key.path.ends_with("." + name)) return key.path;
  }
  return {};
}

/// Stores the provenance of each value of `parsed` in `settings`.
template <class NameOf>
void record_provenance(const ParsedConfig& parsed, NameOf&& name_of, Settings& settings) {
  for (const auto& [path, line] : parsed.lines) {
    if (find_settings_key(path) == nullptr) continue;
    const auto reference = parsed.references.find(path);
    settings.provenance[name_of(path)] = {line,
                                          reference == parsed.references.end() ? "" : reference->second};
  }
}

void parse_section(const std::string& path, const YamlNode& node, const std::filesystem::path& folder,
                   ParsedConfig& parsed);

/// A value that no two elements of the list may have.
struct UniqueValue {
  std::string key;
  std::string value;
  std::string allowed;
  std::string next_step;
};

std::vector<UniqueValue> unique_values(const SettingsList& list, const ParsedConfig& config) {
  std::vector<UniqueValue> values;
  const std::string& name = list.name_of_last(config.settings);
  if (!name.empty() && config.has(list.path + ".name"))
    values.push_back({list.path + ".name", name, "each name once", "give it another name"});
  if (!list.unique) return values;
  for (auto& [key, value] : list.unique(config.settings))
    values.push_back({key, value, "each domain in one connection", "remove one of the two"});
  return values;
}

/// Merges one parsed element of a list into `parsed`; `index` counts from 0.
void add_element(const SettingsList& list, ParsedConfig config, std::size_t index, ParsedConfig& parsed) {
  const auto numbered = [&](std::string path) {
    if (path.starts_with(list.path)) path.insert(list.path.size(), fmt::format("[{}]", index));
    return path;
  };
  for (FileFault& fault : config.faults) {
    fault.key = numbered(std::move(fault.key));
    parsed.faults.push_back(std::move(fault));
  }
  for (SettingsWarning& warning : config.warnings) {
    warning.key = numbered(std::move(warning.key));
    parsed.warnings.push_back(std::move(warning));
  }
  if (!config.faults.empty()) parsed.faulty.insert(list.path);
  record_provenance(config, numbered, parsed.settings);
  for (const UniqueValue& unique : unique_values(list, config)) {
    const int line = config.lines.at(unique.key);
    const bool is_name = unique.key == list.path + ".name";
    const auto [first, is_new] =
        parsed.lines.emplace(list.path + (is_name ? ".name." : "=") + unique.value, line);
    if (is_new) continue;
    parsed.faults.push_back(
        {line, numbered(unique.key),
         fmt::format("{} again, first on line {}", in_quotes(unique.value), first->second), unique.allowed,
         unique.next_step});
  }
  list.append_from(parsed.settings, config.settings);
}

void parse_list(const SettingsList& list, const YamlNode& node, const std::filesystem::path& folder,
                ParsedConfig& parsed) {
  if (node.kind == YamlNode::Kind::nothing) return;
  const auto refuse_list = [&](int line, std::string found, std::string next_step) {
    parsed.faulty.insert(list.path);
    parsed.faults.push_back({line, list.path, std::move(found), list.allowed, std::move(next_step)});
  };
  if (node.kind != YamlNode::Kind::list) {
    refuse_list(node.line, node.kind == YamlNode::Kind::map ? "keys and values" : "a single text",
                "begin each element with \"- \"");
    return;
  }
  if (node.items.size() > list.maximum) {
    refuse_list(node.line, fmt::format("{} of them", node.items.size()),
                fmt::format("leave at most {}", list.maximum));
    return;
  }
  for (std::size_t index = 0; index < node.items.size(); ++index) {
    const YamlNode& item = node.items[index];
    if (item.kind != YamlNode::Kind::map) {
      refuse_list(item.line, fmt::format("an element ([{}]) without keys", index),
                  "write its keys below each other");
      continue;
    }
    ParsedConfig config;
    list.add(config.settings);
    config.lines.emplace(list.path, item.line);
    parse_section(list.path, item, folder, config);
    cross_check_element(config, list.path);
    add_element(list, std::move(config), index, parsed);
  }
}

void report_unknown_key(const std::string& section_path, const YamlEntry& child, ParsedConfig& parsed) {
  const std::string allowed = fmt::format("{}", fmt::join(names_in_section(section_path), ", "));
  if (child.key == "<<") {
    parsed.faults.push_back({child.line, section_path, "a merge key (<<)", allowed, "write the keys out"});
    return;
  }
  if (!is_showable_name(child.key)) {
    parsed.faults.push_back({child.line, section_path, "a key that is not a name", allowed,
                             "write \"key: value\" with a space after the colon"});
    return;
  }
  const std::string suggestion = suggested_key(section_path, child.key);
  parsed.faults.push_back({child.line, joined(section_path, child.key), "an unknown key", allowed,
                           suggestion.empty() ? "remove it" : "did you mean \"" + suggestion + "\"?"});
}

void parse_entry(const std::string& section_path, const YamlEntry& child, const std::filesystem::path& folder,
                 ParsedConfig& parsed) {
  const std::string path = joined(section_path, child.key);
  // "log.level" at the top level is not the key level in section log.
  if (child.key.find('.') != std::string::npos) return report_unknown_key(section_path, child, parsed);
  if (names_in_section(path).empty() && find_settings_key(path) == nullptr)
    return report_unknown_key(section_path, child, parsed);
  parsed.lines.emplace(path, child.line);
  if (const SettingsKey* key = find_settings_key(path)) return parse_value(*key, child.value, folder, parsed);
  if (const SettingsList* list = find_settings_list(path))
    return parse_list(*list, child.value, folder, parsed);
  parse_section(path, child.value, folder, parsed);
}

void parse_section(const std::string& path, const YamlNode& node, const std::filesystem::path& folder,
                   ParsedConfig& parsed) {
  if (node.kind == YamlNode::Kind::nothing) return;  // all its keys are commented out
  if (node.kind != YamlNode::Kind::map) {
    parsed.faulty.insert(path);
    parsed.faults.push_back({node.line, path, node.kind == YamlNode::Kind::list ? "a list" : "a single text",
                             fmt::format("the keys {}", fmt::join(names_in_section(path), ", ")),
                             "write one \"key: value\" a line, indented below its section"});
    return;
  }
  std::map<std::string, int> first_lines;
  for (const YamlEntry& child : node.entries) {
    const auto [first, is_new] = first_lines.emplace(child.key, child.line);
    if (is_new) {
      parse_entry(path, child, folder, parsed);
      continue;
    }
    const std::string shown = is_showable_name(child.key) ? joined(path, child.key) : path;
    parsed.faults.push_back({child.line, shown, fmt::format("again, first on line {}", first->second),
                             "each key once", "remove one of the two"});
  }
}

}  // namespace

bool ParsedConfig::is_faulty(std::string path) const {
  if (faulty.contains("")) return true;
  while (!path.empty() && !faulty.contains(path)) path = section_of(path);
  return !path.empty();
}

int ParsedConfig::line_of(std::string path) const {
  while (!has(path) && !path.empty()) path = section_of(path);
  return path.empty() ? 1 : lines.at(path);
}

void ParsedConfig::refuse(const std::string& path, std::string found, std::string allowed,
                          std::string next_step) {
  faults.push_back({line_of(path), path, std::move(found), std::move(allowed), std::move(next_step)});
}

ParsedConfig parse_config(const YamlNode& root, const std::filesystem::path& folder) {
  ParsedConfig parsed;
  parse_section("", root, folder, parsed);
  record_provenance(
      parsed, [](const std::string& path) { return path; }, parsed.settings);
  return parsed;
}

}  // namespace giftsync::config
