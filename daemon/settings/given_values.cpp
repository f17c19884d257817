// The second half of SettingsWalk: one value by the rule of its key.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include "daemon/settings/given_settings.h"
#include "daemon/settings/secrets.h"

namespace giftsync::daemon {
namespace {

/// What a value is, without what it says.
std::string kind_of(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::nothing:
      return "nothing";
    case YamlNode::Kind::list:
      return "a list";
    case YamlNode::Kind::map:
      return "keys and values";
    case YamlNode::Kind::text:
      break;
  }
  return node.text.empty() ? "an empty text" : "a text";
}

std::string shown(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::text || node.text.empty()) return kind_of(node);
  return node.is_quoted ? "the text " + in_quotes(node.text) : in_quotes(node.text);
}

}  // namespace

void SettingsWalk::refuse(const SettingsKey& key, int line, std::string found, std::string next_step) {
  given_.faulty.insert(key.path);
  if (next_step.empty())
    next_step = key.is_required ? "correct it" : "correct it, or remove the key for its default";
  given_.faults.push_back({line, key.path, std::move(found), allowed_by(key.rule), std::move(next_step)});
}

const std::string* SettingsWalk::text_of(const SettingsKey& key, const YamlNode& node) {
  if (node.kind == YamlNode::Kind::text && !node.text.empty()) return &node.text;
  refuse(key, node.line, kind_of(node));
  return nullptr;
}

void SettingsWalk::take(const SettingsKey& key, const WholeNumber& rule, const YamlNode& node) {
  std::int64_t number = 0;
  const std::string& text = node.text;
  const bool is_plain = node.kind == YamlNode::Kind::text && !node.is_quoted;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  // "010" is 8 to some readers of YAML and 10 to others.
  const bool is_ambiguous = text.size() > 1 && text.front() == '0';
  if (!is_plain || is_ambiguous || error != std::errc() || end != text.data() + text.size() ||
      number < rule.least || number > rule.most) {
    refuse(key, node.line, shown(node));
    return;
  }
  rule.place(given_.settings) = number;
}

void SettingsWalk::take(const SettingsKey& key, const YesNo& rule, const YamlNode& node) {
  const bool is_plain = node.kind == YamlNode::Kind::text && !node.is_quoted;
  if (!is_plain || (node.text != "true" && node.text != "false")) {
    refuse(key, node.line, shown(node));
    return;
  }
  rule.place(given_.settings) = node.text == "true";
}

void SettingsWalk::take(const SettingsKey& key, const Choice& rule, const YamlNode& node) {
  const auto word = std::find(rule.words.begin(), rule.words.end(), node.text);
  if (node.kind != YamlNode::Kind::text || word == rule.words.end()) {
    refuse(key, node.line, shown(node));
    return;
  }
  rule.choose(given_.settings, static_cast<std::size_t>(word - rule.words.begin()));
}

void SettingsWalk::take(const SettingsKey& key, const Text& rule, const YamlNode& node) {
  const std::string* text = text_of(key, node);
  if (text == nullptr) return;
  std::string value = *text;
  if (rule.rule != nullptr) {
    if (const TextFault fault = rule.rule(value)) {
      refuse(key, node.line, in_quotes(*text) + ", " + *fault);
      return;
    }
  }
  rule.place(given_.settings) = std::move(value);
}

void SettingsWalk::take(const SettingsKey& key, const TextList& rule, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::list) {
    refuse(key, node.line, shown(node), "write it in brackets, separated by commas");
    return;
  }
  if (node.items.size() < rule.least || node.items.size() > rule.most) {
    refuse(key, node.line, fmt::format("{} of them", node.items.size()));
    return;
  }
  std::vector<std::string> texts;
  for (const YamlNode& item : node.items) {
    const std::string* text = text_of(key, item);
    if (text == nullptr) continue;
    std::string value = *text;
    if (const TextFault fault = rule.rule(value)) {
      refuse(key, item.line, in_quotes(*text) + ", " + *fault);
    } else if (std::find(texts.begin(), texts.end(), value) != texts.end()) {
      refuse(key, item.line, in_quotes(value) + " twice", "remove one of the two");
    } else {
      texts.push_back(std::move(value));
    }
  }
  rule.place(given_.settings) = std::move(texts);
}

void SettingsWalk::take(const SettingsKey& key, const FilePath& rule, const YamlNode& node) {
  const std::string* text = text_of(key, node);
  if (text == nullptr) return;
  const std::filesystem::path path = (folder_ / *text).lexically_normal();
  if (rule.must_be_readable && ::access(path.c_str(), R_OK) != 0) {
    const std::string reason = std::generic_category().message(errno);
    refuse(key, node.line, in_quotes(path.string()) + ", which cannot be read (" + reason + ")");
    return;
  }
  rule.place(given_.settings) = path.string();
}

std::optional<Secret> SettingsWalk::secret_of(const SettingsKey& key, const YamlNode& node,
                                              const std::string& place) {
  const std::string* text = text_of(key, node);
  if (text == nullptr) return std::nullopt;
  const std::variant<FetchedSecret, SecretFault> outcome = fetch_secret(*text, folder_);
  if (const auto* fault = std::get_if<SecretFault>(&outcome)) {
    refuse(key, node.line, fault->found, fault->next_step);
    given_.faults.back().key += place;
    return std::nullopt;
  }
  const FetchedSecret& fetched = std::get<FetchedSecret>(outcome);
  if (!fetched.warning.empty()) given_.warnings.push_back({node.line, key.path + place, fetched.warning});
  std::string& told = given_.references[key.path];
  told += (told.empty() ? "" : ", ") + secret_place(*text);
  return fetched.secret;
}

void SettingsWalk::take(const SettingsKey& key, const SecretReference& rule, const YamlNode& node) {
  if (const auto secret = secret_of(key, node)) rule.place(given_.settings) = *secret;
}

void SettingsWalk::take(const SettingsKey& key, const SecretList& rule, const YamlNode& node) {
  const bool is_list = node.kind == YamlNode::Kind::list;
  if (is_list && (node.items.empty() || node.items.size() > rule.most)) {
    refuse(key, node.line, fmt::format("{} of them", node.items.size()));
    return;
  }
  std::vector<Secret> secrets;
  std::size_t number = 0;
  for (const YamlNode& item : is_list ? node.items : std::vector<YamlNode>{node}) {
    const std::string place = is_list ? fmt::format("[{}]", ++number) : "";
    if (const auto secret = secret_of(key, item, place)) secrets.push_back(*secret);
  }
  rule.place(given_.settings) = std::move(secrets);
}

std::vector<const YamlEntry*> SettingsWalk::entries_of(const SettingsKey& key, const YamlNode& node,
                                                       std::size_t most) {
  std::vector<const YamlEntry*> entries;
  if (node.kind != YamlNode::Kind::map) {
    refuse(key, node.line, shown(node), "write one \"name: value\" a line, indented below it");
    return entries;
  }
  if (node.entries.size() > most) {
    refuse(key, node.line, fmt::format("{} of them", node.entries.size()));
    return entries;
  }
  std::map<std::string, int> first_lines;
  for (const YamlEntry& entry : node.entries) {
    const auto [first, is_new] = first_lines.emplace(entry.key, entry.line);
    if (is_new) {
      entries.push_back(&entry);
    } else {
      refuse(key, entry.line, fmt::format("{} again, first on line {}", in_quotes(entry.key), first->second),
             "remove one of the two");
    }
  }
  return entries;
}

void SettingsWalk::take(const SettingsKey& key, const WordMap& rule, const YamlNode& node) {
  std::vector<std::pair<std::string, std::string>> map;
  for (const YamlEntry* entry : entries_of(key, node, rule.most)) {
    const std::string& word = entry->value.text;
    if (entry->value.kind != YamlNode::Kind::text ||
        std::find(rule.words.begin(), rule.words.end(), word) == rule.words.end()) {
      refuse(key, entry->line, shown(entry->value) + " for " + in_quotes(entry->key));
      continue;
    }
    map.emplace_back(entry->key, word);
  }
  rule.place(given_.settings) = std::move(map);
}

void SettingsWalk::take(const SettingsKey& key, const SecretMap& rule, const YamlNode& node) {
  std::vector<std::pair<std::string, Secret>> map;
  for (const YamlEntry* entry : entries_of(key, node, rule.most)) {
    std::string name = entry->key;
    if (const TextFault fault = rule.rule(name)) {
      refuse(key, entry->line, in_quotes(entry->key) + ", " + *fault);
    } else if (const auto secret = secret_of(key, entry->value, "." + name)) {
      map.emplace_back(std::move(name), *secret);
    }
  }
  rule.place(given_.settings) = std::move(map);
}

void SettingsWalk::take(const SettingsKey& key, const NameMap& rule, const YamlNode& node) {
  std::vector<std::pair<std::string, std::string>> map;
  for (const YamlEntry* entry : entries_of(key, node, rule.most)) {
    const bool is_text = entry->value.kind == YamlNode::Kind::text;
    const std::string fault = is_text ? rule.fault(entry->key, entry->value.text) : "which is no name";
    if (!fault.empty()) {
      refuse(key, entry->line, shown(entry->value) + " for " + in_quotes(entry->key) + ", " + fault);
      continue;
    }
    map.emplace_back(entry->key, entry->value.text);
  }
  rule.place(given_.settings) = std::move(map);
}

}  // namespace giftsync::daemon
