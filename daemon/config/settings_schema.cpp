#include <algorithm>
#include <utility>

#include "daemon/config/key_texts.h"
#include "daemon/config/settings_documents.h"
#include "platform/yaml_document.h"

namespace giftsync::daemon::config {
namespace {

/// As YAML 1.2 reads it: a plain text of digits is a number.
Json json_of(const platform::YamlNode& node) {
  using Kind = platform::YamlNode::Kind;
  if (node.kind == Kind::list) {
    Json list = Json::array();
    for (const platform::YamlNode& item : node.items) list.push_back(json_of(item));
    return list;
  }
  if (node.kind == Kind::map) {
    Json map = Json::object();
    for (const platform::YamlEntry& entry : node.entries) map[entry.key] = json_of(entry.value);
    return map;
  }
  const bool is_number = node.text.find_first_not_of("0123456789") == std::string::npos;
  const bool is_json = !node.is_quoted && (is_number || node.text == "true" || node.text == "false");
  return is_json ? Json::parse(node.text) : Json(node.text);
}

/// The schema of a text with further keywords, which may replace these.
Json text_schema(const std::string& keywords = "{}") {
  Json schema{{"type", "string"}, {"minLength", 1}};
  schema.update(Json::parse(keywords));
  if (schema.contains("enum") || schema["type"] != "string") schema.erase("minLength");
  return schema;
}

Json schema_of(const WholeNumber& rule) {
  return {{"type", "integer"}, {"minimum", rule.minimum}, {"maximum", rule.maximum}};
}
Json schema_of(const BooleanValue&) {
  return {{"type", "boolean"}};
}
Json schema_of(const Choice& rule) {
  return {{"enum", rule.values}};
}
Json schema_of(const Text& rule) {
  return text_schema(rule.form.schema);
}
Json schema_of(const TextList& rule) {
  return {{"type", "array"},
          {"items", text_schema(rule.form.schema)},
          {"minItems", rule.minimum},
          {"maxItems", rule.maximum},
          {"uniqueItems", true}};
}
Json schema_of(const FilePath&) {
  return text_schema();
}
Json schema_of(const SecretReference&) {
  return text_schema();
}
Json schema_of(const SecretList& rule) {
  const Json several{
      {"type", "array"}, {"items", text_schema()}, {"minItems", 1}, {"maxItems", rule.maximum}};
  return {{"anyOf", Json::array({text_schema(), several})}};
}
Json schema_of(const ChoiceMap& rule) {
  return {
      {"type", "object"}, {"maxProperties", rule.maximum}, {"additionalProperties", {{"enum", rule.values}}}};
}
Json schema_of(const SecretMap& rule) {
  return {{"type", "object"}, {"maxProperties", rule.maximum}, {"additionalProperties", text_schema()}};
}
Json schema_of(const NameMap& rule) {
  Json schema{{"type", "object"}, {"maxProperties", rule.maximum}};
  schema.update(Json::parse(rule.schema));
  return schema;
}

Json key_schema(const SettingsKey& key) {
  Json schema{{"description", key.description}};
  schema.update(std::visit([](const auto& rule) { return schema_of(rule); }, key.rule));
  if (Json value = default_of(key); !value.is_null()) schema["default"] = std::move(value);
  const platform::YamlDocument example = platform::read_yaml("example: " + example_text(key));
  schema["examples"] = Json::array({json_of(example.root.entries.at(0).value)});
  return schema;
}

/// Puts `leaf` at the path "smtp.url" below a section: {"properties": {"smtp": {"properties": {"url":
/// LEAF}}}}. With `is_required` each part of the path must be present.
void add_at(Json& section, std::string_view path, bool is_required, const Json& leaf) {
  const std::string name(path.substr(0, path.find('.')));
  if (is_required) {
    Json& required = section["required"];
    if (std::find(required.begin(), required.end(), name) == required.end()) required.push_back(name);
  }
  if (name.size() < path.size()) {
    Json& part = section["properties"][name];
    if (is_required) part["type"] = "object";
    add_at(part, path.substr(name.size() + 1), is_required, leaf);
  } else if (!leaf.is_null()) {
    section["properties"][name] = leaf;
  }
}

/// The keys below `section` that apply only with one value of its key `choice`.
Json condition(const std::string& section, const OnlyWith& with) {
  const std::string name = name_in_section(with.key);
  Json test{{"properties", {{name, {{"const", with.value}}}}}};
  if (default_of(*find_settings_key(with.key)) != with.value) test["required"] = Json::array({name});
  Json applies = Json::object();
  Json applies_not = Json::object();
  for (const SettingsKey& key : settings_keys()) {
    if (key.details.only_with.key != with.key || key.details.only_with.value != with.value) continue;
    const std::string path = key.path.substr(section.size() + 1);
    if (key.details.is_required) add_at(applies, path, true, nullptr);
    add_at(applies_not, path, false, false);
  }
  return {{"if", test}, {"then", applies}, {"else", applies_not}};
}

/// What the section's keys refuse in each other.
Json conditions_of(const SettingsSection& section) {
  Json conditions = Json::array();
  for (const SettingsKey& key : settings_keys()) {
    const OnlyWith& with = key.details.only_with;
    if (with.key.empty() || section_of(with.key) != section.path) continue;
    Json found = condition(section.path, with);
    if (std::find(conditions.begin(), conditions.end(), found) == conditions.end())
      conditions.push_back(std::move(found));
  }
  for (Json& further : Json::parse(section.schema)) conditions.push_back(std::move(further));
  return conditions;
}

Json section_schema(const SettingsSection& section);

const SettingsSection& find_section(const std::string& path) {
  const auto& sections = settings_sections();
  return *std::find_if(sections.begin(), sections.end(), [&](const auto& one) { return one.path == path; });
}

Json list_schema(const SettingsList& list) {
  const SettingsSection& section = find_section(list.path);
  Json items = section_schema(section);
  items["type"] = "object";
  return {{"description", section.description},
          {"type", {"array", "null"}},
          {"maxItems", list.maximum},
          {"items", std::move(items)}};
}

Json section_schema(const SettingsSection& section) {
  const std::string prefix = section.path.empty() ? "" : section.path + ".";
  Json properties = Json::object();
  Json required = Json::array();
  Json beside = Json::object();
  for (const std::string& name : names_in_section(section.path)) {
    const std::string path = prefix + name;
    const SettingsKey* key = find_settings_key(path);
    if (key == nullptr) {
      const SettingsList* list = find_settings_list(path);
      properties[name] = list != nullptr ? list_schema(*list) : section_schema(find_section(path));
      if (properties[name].contains("required")) required.push_back(name);
      continue;
    }
    properties[name] = key_schema(*key);
    if (key->details.is_required && key->details.only_with.key.empty()) required.push_back(name);
    if (!key->details.only_beside.empty())
      beside[name] = Json::array({name_in_section(key->details.only_beside)});
  }
  Json schema{
      {"description", section.description}, {"type", {"object", "null"}}, {"additionalProperties", false}};
  if (!required.empty()) {
    schema["type"] = "object";
    schema["required"] = std::move(required);
  }
  schema["properties"] = std::move(properties);
  if (!beside.empty()) schema["dependentRequired"] = std::move(beside);
  if (Json conditions = conditions_of(section); !conditions.empty()) schema["allOf"] = std::move(conditions);
  return schema;
}

}  // namespace

std::string settings_schema() {
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
              {"$id", "urn:giftsync:settings"},
              {"title", "giftsyncd settings"}};
  schema.update(section_schema(find_section("")));
  return schema.dump(2) + "\n";
}

}  // namespace giftsync::daemon::config
