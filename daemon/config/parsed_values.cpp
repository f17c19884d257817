// The second half of ConfigParser: one value by the rule of its key.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include "daemon/config/parsed_config.h"
#include "daemon/config/secrets.h"
#include "platform/quoted_text.h"

namespace giftsync::daemon::config {
namespace {

/// The kind of a value, without its content.
std::string kind_of(const platform::YamlNode& node) {
  switch (node.kind) {
    case platform::YamlNode::Kind::nothing:
      return "nothing";
    case platform::YamlNode::Kind::list:
      return "a list";
    case platform::YamlNode::Kind::map:
      return "keys and values";
    case platform::YamlNode::Kind::text:
      break;
  }
  return node.text.empty() ? "an empty text" : "a text";
}

std::string shown(const platform::YamlNode& node) {
  if (node.kind != platform::YamlNode::Kind::text || node.text.empty()) return kind_of(node);
  return node.is_quoted ? "the text " + platform::in_quotes(node.text) : platform::in_quotes(node.text);
}

}  // namespace

void ConfigParser::refuse(const SettingsKey& key, int line, std::string found, std::string next_step) {
  parsed_.faulty.insert(key.path);
  if (next_step.empty())
    next_step = key.is_required ? "correct it" : "correct it, or remove the key for its default";
  parsed_.faults.push_back({line, key.path, std::move(found), allowed_by(key.rule), std::move(next_step)});
}

const std::string* ConfigParser::text_of(const SettingsKey& key, const platform::YamlNode& node) {
  if (node.kind == platform::YamlNode::Kind::text && !node.text.empty()) return &node.text;
  refuse(key, node.line, kind_of(node));
  return nullptr;
}

void ConfigParser::parse_value(const SettingsKey& key, const WholeNumber& rule,
                               const platform::YamlNode& node) {
  std::int64_t number = 0;
  const std::string& text = node.text;
  const bool is_plain = node.kind == platform::YamlNode::Kind::text && !node.is_quoted;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  // YAML parsers disagree on "010": 8 or 10.
  const bool is_ambiguous = text.size() > 1 && text.front() == '0';
  if (!is_plain || is_ambiguous || error != std::errc() || end != text.data() + text.size() ||
      number < rule.minimum || number > rule.maximum) {
    refuse(key, node.line, shown(node));
    return;
  }
  rule.accessor(parsed_.settings) = number;
}

void ConfigParser::parse_value(const SettingsKey& key, const BooleanValue& rule,
                               const platform::YamlNode& node) {
  const bool is_plain = node.kind == platform::YamlNode::Kind::text && !node.is_quoted;
  if (!is_plain || (node.text != "true" && node.text != "false")) {
    refuse(key, node.line, shown(node));
    return;
  }
  rule.accessor(parsed_.settings) = node.text == "true";
}

void ConfigParser::parse_value(const SettingsKey& key, const Choice& rule, const platform::YamlNode& node) {
  const auto value = std::find(rule.values.begin(), rule.values.end(), node.text);
  if (node.kind != platform::YamlNode::Kind::text || value == rule.values.end()) {
    refuse(key, node.line, shown(node));
    return;
  }
  rule.choose(parsed_.settings, static_cast<std::size_t>(value - rule.values.begin()));
}

void ConfigParser::parse_value(const SettingsKey& key, const Text& rule, const platform::YamlNode& node) {
  const std::string* text = text_of(key, node);
  if (text == nullptr) return;
  std::string value = *text;
  if (rule.rule != nullptr) {
    if (const TextFault fault = rule.rule(value)) {
      refuse(key, node.line, platform::in_quotes(*text) + ", " + *fault);
      return;
    }
  }
  rule.accessor(parsed_.settings) = std::move(value);
}

void ConfigParser::parse_value(const SettingsKey& key, const TextList& rule, const platform::YamlNode& node) {
  if (node.kind != platform::YamlNode::Kind::list) {
    refuse(key, node.line, shown(node), "write it in brackets, separated by commas");
    return;
  }
  if (node.items.size() < rule.minimum || node.items.size() > rule.maximum) {
    refuse(key, node.line, fmt::format("{} of them", node.items.size()));
    return;
  }
  std::vector<std::string> texts;
  for (const platform::YamlNode& item : node.items) {
    const std::string* text = text_of(key, item);
    if (text == nullptr) continue;
    std::string value = *text;
    if (const TextFault fault = rule.rule(value)) {
      refuse(key, item.line, platform::in_quotes(*text) + ", " + *fault);
    } else if (std::find(texts.begin(), texts.end(), value) != texts.end()) {
      refuse(key, item.line, platform::in_quotes(value) + " twice", "remove one of the two");
    } else {
      texts.push_back(std::move(value));
    }
  }
  rule.accessor(parsed_.settings) = std::move(texts);
}

void ConfigParser::parse_value(const SettingsKey& key, const FilePath& rule, const platform::YamlNode& node) {
  const std::string* text = text_of(key, node);
  if (text == nullptr) return;
  const std::filesystem::path path = (folder_ / *text).lexically_normal();
  if (rule.must_be_readable && ::access(path.c_str(), R_OK) != 0) {
    const std::string reason = std::generic_category().message(errno);
    refuse(key, node.line, platform::in_quotes(path.string()) + ", which cannot be read (" + reason + ")");
    return;
  }
  rule.accessor(parsed_.settings) = path.string();
}

std::optional<Secret> ConfigParser::secret_of(const SettingsKey& key, const platform::YamlNode& node,
                                              const std::string& location) {
  const std::string* text = text_of(key, node);
  if (text == nullptr) return std::nullopt;
  const std::variant<FetchedSecret, SecretFault> outcome = fetch_secret(*text, folder_);
  if (const auto* fault = std::get_if<SecretFault>(&outcome)) {
    refuse(key, node.line, fault->found, fault->next_step);
    parsed_.faults.back().key += location;
    return std::nullopt;
  }
  const FetchedSecret& fetched = std::get<FetchedSecret>(outcome);
  if (!fetched.warning.empty()) parsed_.warnings.push_back({node.line, key.path + location, fetched.warning});
  std::string& references = parsed_.references[key.path];
  references += (references.empty() ? "" : ", ") + secret_provenance(*text);
  return fetched.secret;
}

void ConfigParser::parse_value(const SettingsKey& key, const SecretReference& rule,
                               const platform::YamlNode& node) {
  if (const auto secret = secret_of(key, node)) rule.accessor(parsed_.settings) = *secret;
}

void ConfigParser::parse_value(const SettingsKey& key, const SecretList& rule,
                               const platform::YamlNode& node) {
  const bool is_list = node.kind == platform::YamlNode::Kind::list;
  if (is_list && (node.items.empty() || node.items.size() > rule.maximum)) {
    refuse(key, node.line, fmt::format("{} of them", node.items.size()));
    return;
  }
  std::vector<Secret> secrets;
  std::size_t number = 0;
  for (const platform::YamlNode& item : is_list ? node.items : std::vector<platform::YamlNode>{node}) {
    const std::string location = is_list ? fmt::format("[{}]", ++number) : "";
    if (const auto secret = secret_of(key, item, location)) secrets.push_back(*secret);
  }
  rule.accessor(parsed_.settings) = std::move(secrets);
}

std::vector<const platform::YamlEntry*> ConfigParser::entries_of(const SettingsKey& key,
                                                                 const platform::YamlNode& node,
                                                                 std::size_t max_count) {
  std::vector<const platform::YamlEntry*> entries;
  if (node.kind != platform::YamlNode::Kind::map) {
    refuse(key, node.line, shown(node), "write one \"name: value\" a line, indented below it");
    return entries;
  }
  if (node.entries.size() > max_count) {
    refuse(key, node.line, fmt::format("{} of them", node.entries.size()));
    return entries;
  }
  std::map<std::string, int> first_lines;
  for (const platform::YamlEntry& entry : node.entries) {
    const auto [first, is_new] = first_lines.emplace(entry.key, entry.line);
    if (is_new) {
      entries.push_back(&entry);
    } else {
      refuse(key, entry.line,
             fmt::format("{} again, first on line {}", platform::in_quotes(entry.key), first->second),
             "remove one of the two");
    }
  }
  return entries;
}

void ConfigParser::parse_value(const SettingsKey& key, const ChoiceMap& rule,
                               const platform::YamlNode& node) {
  std::vector<std::pair<std::string, std::string>> map;
  for (const platform::YamlEntry* entry : entries_of(key, node, rule.maximum)) {
    const std::string& value = entry->value.text;
    if (entry->value.kind != platform::YamlNode::Kind::text ||
        std::find(rule.values.begin(), rule.values.end(), value) == rule.values.end()) {
      refuse(key, entry->line, shown(entry->value) + " for " + platform::in_quotes(entry->key));
      continue;
    }
    map.emplace_back(entry->key, value);
  }
  rule.accessor(parsed_.settings) = std::move(map);
}

void ConfigParser::parse_value(const SettingsKey& key, const SecretMap& rule,
                               const platform::YamlNode& node) {
  std::vector<std::pair<std::string, Secret>> map;
  for (const platform::YamlEntry* entry : entries_of(key, node, rule.maximum)) {
    std::string name = entry->key;
    if (const TextFault fault = rule.rule(name)) {
      refuse(key, entry->line, platform::in_quotes(entry->key) + ", " + *fault);
    } else if (const auto secret = secret_of(key, entry->value, "." + name)) {
      map.emplace_back(std::move(name), *secret);
    }
  }
  rule.accessor(parsed_.settings) = std::move(map);
}

void ConfigParser::parse_value(const SettingsKey& key, const NameMap& rule, const platform::YamlNode& node) {
  std::vector<std::pair<std::string, std::string>> map;
  for (const platform::YamlEntry* entry : entries_of(key, node, rule.maximum)) {
    const bool is_text = entry->value.kind == platform::YamlNode::Kind::text;
    const std::string fault = is_text ? rule.fault(entry->key, entry->value.text) : "which is not a name";
    if (!fault.empty()) {
      refuse(key, entry->line,
             shown(entry->value) + " for " + platform::in_quotes(entry->key) + ", " + fault);
      continue;
    }
    map.emplace_back(entry->key, entry->value.text);
  }
  rule.accessor(parsed_.settings) = std::move(map);
}

}  // namespace giftsync::daemon::config
