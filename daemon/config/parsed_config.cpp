#include "daemon/config/parsed_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/config/cross_checks.h"
#include "daemon/config/suggestion.h"
#include "platform/quoted_text.h"

namespace giftsync::daemon::config {
namespace {

std::string joined(const std::string& section_path, const std::string& name) {
  return section_path.empty() ? name : section_path + "." + name;
}

bool is_unavailable(const std::string& path) {
  const std::vector<std::string>& keys = unavailable_keys();
  return std::find(keys.begin(), keys.end(), path) != keys.end();
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

}  // namespace

ParsedConfig ConfigParser::parse(const platform::YamlNode& root) {
  parsed_ = {};
  parse_section("", root);
  record_provenance(
      parsed_, [](const std::string& path) { return path; }, parsed_.settings);
  return std::move(parsed_);
}

void ConfigParser::parse_list(const SettingsList& list, const platform::YamlNode& node) {
  if (node.kind == platform::YamlNode::Kind::nothing) return;
  const auto refuse_list = [&](int line, std::string found, std::string next_step) {
    parsed_.faulty.insert(list.path);
    parsed_.faults.push_back({line, list.path, std::move(found), list.allowed, std::move(next_step)});
  };
  if (node.kind != platform::YamlNode::Kind::list) {
    refuse_list(node.line, node.kind == platform::YamlNode::Kind::map ? "keys and values" : "a single text",
                "begin each element with \"- \"");
    return;
  }
  if (node.items.size() > list.maximum) {
    refuse_list(node.line, fmt::format("{} of them", node.items.size()),
                fmt::format("leave at most {}", list.maximum));
    return;
  }
  std::size_t number = 0;
  for (const platform::YamlNode& item : node.items) {
    ++number;
    if (item.kind != platform::YamlNode::Kind::map) {
      refuse_list(item.line, fmt::format("an element ({}.) without keys", number),
                  "write its keys below each other");
      continue;
    }
    ConfigParser element_parser(folder_);
    list.add(element_parser.parsed_.settings);
    element_parser.parsed_.lines.emplace(list.path, item.line);
    element_parser.parse_section(list.path, item);
    cross_check_element(element_parser.parsed_, list.path);
    add_element(list, std::move(element_parser.parsed_), number);
  }
}

void ConfigParser::add_element(const SettingsList& list, ParsedConfig one, std::size_t number) {
  const auto numbered = [&](std::string path) {
    if (path.starts_with(list.path)) path.insert(list.path.size(), fmt::format("[{}]", number));
    return path;
  };
  for (platform::FileFault& fault : one.faults) {
    fault.key = numbered(std::move(fault.key));
    parsed_.faults.push_back(std::move(fault));
  }
  for (SettingsWarning& warning : one.warnings) {
    warning.key = numbered(std::move(warning.key));
    parsed_.warnings.push_back(std::move(warning));
  }
  if (!one.faults.empty()) parsed_.faulty.insert(list.path);
  record_provenance(one, numbered, parsed_.settings);
  const std::string& name = list.name_of_last(one.settings);
  const auto line = one.lines.find(list.path + ".name");
  if (!name.empty() && line != one.lines.end()) {
    const auto [first, is_new] = parsed_.lines.emplace(list.path + ".name." + name, line->second);
    if (!is_new) {
      parsed_.faults.push_back(
          {line->second, numbered(list.path + ".name"),
           fmt::format("{} again, first on line {}", platform::in_quotes(name), first->second),
           "each name once", "give it another name"});
    }
  }
  if (list.unique) {
    for (const auto& [path, value] : list.unique(one.settings)) {
      const int here = one.lines.at(path);
      const auto [first, is_new] = parsed_.lines.emplace(list.path + "=" + value, here);
      if (is_new) continue;
      parsed_.faults.push_back(
          {here, numbered(path),
           fmt::format("{} again, first on line {}", platform::in_quotes(value), first->second),
           "each domain in one connection", "remove one of the two"});
    }
  }
  list.append_from(parsed_.settings, one.settings);
}

void ConfigParser::parse_section(const std::string& path, const platform::YamlNode& node) {
  if (node.kind == platform::YamlNode::Kind::nothing) return;  // all its keys are commented out
  if (node.kind != platform::YamlNode::Kind::map) {
    parsed_.faulty.insert(path);
    parsed_.faults.push_back({node.line, path,
                              node.kind == platform::YamlNode::Kind::list ? "a list" : "a single text",
                              fmt::format("the keys {}", fmt::join(names_in_section(path), ", ")),
                              "write one \"key: value\" a line, indented below its section"});
    return;
  }
  std::map<std::string, int> first_lines;
  for (const platform::YamlEntry& child : node.entries) {
    const auto [first, is_new] = first_lines.emplace(child.key, child.line);
    if (is_new) {
      parse_entry(path, child);
      continue;
    }
    const std::string shown = is_showable_name(child.key) ? joined(path, child.key) : path;
    parsed_.faults.push_back({child.line, shown, fmt::format("again, first on line {}", first->second),
                              "each key once", "remove one of the two"});
  }
}

void ConfigParser::parse_entry(const std::string& section_path, const platform::YamlEntry& child) {
  const std::string path = joined(section_path, child.key);
  // "log.level" at the top level is not the key level in section log.
  if (child.key.find('.') != std::string::npos) return report_unknown_key(section_path, child);
  if (const SettingsKey* key = find_settings_key(path)) {
    parsed_.lines.emplace(path, child.line);
    std::visit([&](const auto& rule) { parse_value(*key, rule, child.value); }, key->rule);
  } else if (is_unavailable(path)) {
    parsed_.faults.push_back(
        {child.line, path, "a key that is not available in this version", "", "remove it"});
  } else if (const auto at = std::find_if(settings_lists().begin(), settings_lists().end(),
                                          [&](const SettingsList& one) { return one.path == path; });
             at != settings_lists().end()) {
    parsed_.lines.emplace(path, child.line);
    parse_list(*at, child.value);
  } else if (!names_in_section(path).empty()) {
    parsed_.lines.emplace(path, child.line);
    parse_section(path, child.value);
  } else {
    report_unknown_key(section_path, child);
  }
}

void ConfigParser::report_unknown_key(const std::string& section_path, const platform::YamlEntry& child) {
  const std::string allowed = fmt::format("{}", fmt::join(names_in_section(section_path), ", "));
  if (child.key == "<<") {
    parsed_.faults.push_back({child.line, section_path, "a merge key (<<)", allowed, "write the keys out"});
    return;
  }
  if (!is_showable_name(child.key)) {
    parsed_.faults.push_back({child.line, section_path, "a key that is not a name", allowed,
                              "write \"key: value\" with a space after the colon"});
    return;
  }
  const std::string suggestion = suggested_key(section_path, child.key);
  parsed_.faults.push_back({child.line, joined(section_path, child.key), "an unknown key", allowed,
                            suggestion.empty() ? "remove it" : "did you mean \"" + suggestion + "\"?"});
}

}  // namespace giftsync::daemon::config
