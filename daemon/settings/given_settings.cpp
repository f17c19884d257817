#include "daemon/settings/given_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/settings/nearest_word.h"
#include "daemon/settings/whole_settings.h"

namespace giftsync::daemon {
namespace {

std::string joined(const std::string& section_path, const std::string& name) {
  return section_path.empty() ? name : section_path + "." + name;
}

bool is_not_available(const std::string& path) {
  const std::vector<std::string>& keys = keys_not_available();
  return std::find(keys.begin(), keys.end(), path) != keys.end();
}

/// What stands after a colon that was forgotten may be a secret, so only names are shown back.
bool is_showable_name(const std::string& key) {
  constexpr std::size_t kMaxShownName = 64;
  return key.size() <= kMaxShownName && std::all_of(key.begin(), key.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                  c == '-' || c == '.';
         });
}

/// "base_url" for a misspelt key beside it; "server.listen" for a right key in a wrong place; empty: nothing
/// near.
std::string meant_key(const std::string& section_path, const std::string& name) {
  std::string near = nearest_word(name, names_in_section(section_path));
  if (!near.empty()) return near;
  for (const SettingsKey& key : settings_keys()) {
    if (key.path.ends_with("." + name)) return key.path;
  }
  return {};
}

/// Where each value of `given` came from, into `settings`.
template <class NameOf>
void note_origins(const GivenSettings& given, NameOf&& name_of, Settings& settings) {
  for (const auto& [path, line] : given.lines) {
    if (find_settings_key(path) == nullptr) continue;
    const auto reference = given.references.find(path);
    settings.origins[name_of(path)] = {line, reference == given.references.end() ? "" : reference->second};
  }
}

}  // namespace

GivenSettings SettingsWalk::walk(const YamlNode& root) {
  given_ = {};
  section("", root);
  note_origins(
      given_, [](const std::string& path) { return path; }, given_.settings);
  return std::move(given_);
}

void SettingsWalk::list(const SettingsList& list, const YamlNode& node) {
  if (node.kind == YamlNode::Kind::nothing) return;
  const auto refuse_list = [&](int line, std::string found, std::string next_step) {
    given_.faulty.insert(list.path);
    given_.faults.push_back({line, list.path, std::move(found), list.allowed, std::move(next_step)});
  };
  if (node.kind != YamlNode::Kind::list) {
    refuse_list(node.line, node.kind == YamlNode::Kind::map ? "keys and values" : "a single text",
                "begin each element with \"- \"");
    return;
  }
  if (node.items.size() > list.most) {
    refuse_list(node.line, fmt::format("{} of them", node.items.size()),
                fmt::format("leave at most {}", list.most));
    return;
  }
  std::size_t number = 0;
  for (const YamlNode& item : node.items) {
    ++number;
    if (item.kind != YamlNode::Kind::map) {
      refuse_list(item.line, fmt::format("an element ({}.) without keys", number),
                  "write its keys below each other");
      continue;
    }
    SettingsWalk walk(folder_);
    list.add(walk.given_.settings);
    walk.given_.lines.emplace(list.path, item.line);
    walk.section(list.path, item);
    check_element(walk.given_, list.path);
    join(list, std::move(walk.given_), number);
  }
}

void SettingsWalk::join(const SettingsList& list, GivenSettings one, std::size_t number) {
  const auto numbered = [&](std::string path) {
    if (path.starts_with(list.path)) path.insert(list.path.size(), fmt::format("[{}]", number));
    return path;
  };
  for (SettingsFault& fault : one.faults) {
    fault.key = numbered(std::move(fault.key));
    given_.faults.push_back(std::move(fault));
  }
  for (SettingsWarning& warning : one.warnings) {
    warning.key = numbered(std::move(warning.key));
    given_.warnings.push_back(std::move(warning));
  }
  if (!one.faults.empty()) given_.faulty.insert(list.path);
  note_origins(one, numbered, given_.settings);
  const std::string& name = list.last_name(one.settings);
  const auto line = one.lines.find(list.path + ".name");
  if (!name.empty() && line != one.lines.end()) {
    const auto [first, is_new] = given_.lines.emplace(list.path + ".name." + name, line->second);
    if (!is_new) {
      given_.faults.push_back({line->second, numbered(list.path + ".name"),
                               fmt::format("{} again, first on line {}", in_quotes(name), first->second),
                               "each name once", "give it another name"});
    }
  }
  if (list.unique) {
    for (const auto& [path, value] : list.unique(one.settings)) {
      const int here = one.lines.at(path);
      const auto [first, is_new] = given_.lines.emplace(list.path + "=" + value, here);
      if (is_new) continue;
      given_.faults.push_back({here, numbered(path),
                               fmt::format("{} again, first on line {}", in_quotes(value), first->second),
                               "each domain in one connection", "remove one of the two"});
    }
  }
  list.take_over(given_.settings, one.settings);
}

void SettingsWalk::section(const std::string& path, const YamlNode& node) {
  if (node.kind == YamlNode::Kind::nothing) return;  // all its keys are comments
  if (node.kind != YamlNode::Kind::map) {
    given_.faulty.insert(path);
    given_.faults.push_back({node.line, path, node.kind == YamlNode::Kind::list ? "a list" : "a single text",
                             fmt::format("the keys {}", fmt::join(names_in_section(path), ", ")),
                             "write one \"key: value\" a line, indented below its section"});
    return;
  }
  std::map<std::string, int> first_lines;
  for (const YamlEntry& child : node.entries) {
    const auto [first, is_new] = first_lines.emplace(child.key, child.line);
    if (is_new) {
      entry(path, child);
      continue;
    }
    const std::string shown = is_showable_name(child.key) ? joined(path, child.key) : path;
    given_.faults.push_back({child.line, shown, fmt::format("again, first on line {}", first->second),
                             "each key once", "remove one of the two"});
  }
}

void SettingsWalk::entry(const std::string& section_path, const YamlEntry& child) {
  const std::string path = joined(section_path, child.key);
  // "log.level" at the top is not the key level in section log.
  if (child.key.find('.') != std::string::npos) return unknown(section_path, child);
  if (const SettingsKey* key = find_settings_key(path)) {
    given_.lines.emplace(path, child.line);
    std::visit([&](const auto& rule) { take(*key, rule, child.value); }, key->rule);
  } else if (is_not_available(path)) {
    given_.faults.push_back(
        {child.line, path, "a key that is not available in this version", "", "remove it"});
  } else if (const auto at = std::find_if(settings_lists().begin(), settings_lists().end(),
                                          [&](const SettingsList& one) { return one.path == path; });
             at != settings_lists().end()) {
    given_.lines.emplace(path, child.line);
    list(*at, child.value);
  } else if (!names_in_section(path).empty()) {
    given_.lines.emplace(path, child.line);
    section(path, child.value);
  } else {
    unknown(section_path, child);
  }
}

void SettingsWalk::unknown(const std::string& section_path, const YamlEntry& child) {
  const std::string allowed = fmt::format("{}", fmt::join(names_in_section(section_path), ", "));
  if (child.key == "<<") {
    given_.faults.push_back({child.line, section_path, "a merge key (<<)", allowed, "write the keys out"});
    return;
  }
  if (!is_showable_name(child.key)) {
    given_.faults.push_back({child.line, section_path, "a key that is no name", allowed,
                             "write \"key: value\" with a space after the colon"});
    return;
  }
  const std::string meant = meant_key(section_path, child.key);
  given_.faults.push_back({child.line, joined(section_path, child.key), "an unknown key", allowed,
                           meant.empty() ? "remove it" : "did you mean \"" + meant + "\"?"});
}

}  // namespace giftsync::daemon
