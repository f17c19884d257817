#include "daemon/settings/given_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/settings/nearest_word.h"

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
  const std::string near = nearest_word(name, names_in_section(section_path));
  if (!near.empty()) return near;
  for (const SettingsKey& key : settings_keys()) {
    if (key.path.ends_with("." + name)) return key.path;
  }
  return {};
}

}  // namespace

GivenSettings SettingsWalk::walk(const YamlNode& root) {
  given_ = {};
  section("", root);
  return std::move(given_);
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
