#include "daemon/config/settings_documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <type_traits>
#include <utility>

#include "platform/yaml_document.h"

namespace giftsync::config {

namespace {

constexpr std::size_t kExampleWidth = 120;

constexpr const char* kExampleHead =
    R"(# The settings of giftsyncd: every key with its meaning, allowed values and default. This file is valid as it is; the
# required keys and two limits on sending are set. A line such as "#key: value" shows a key with its default or an
# example: remove the # to set it. A list is written in brackets, as in [a, b].
#
# "giftsyncd --config FILE --check" reports all faults of a file. Unknown and repeated keys are faults. Relative
# paths begin at this file's folder. Secrets are file:PATH, env:NAME or credential:NAME (systemd's LoadCredential=);
# a secret written into this file works, with a warning.
#
# giftsyncd.schema.json describes the same keys for editors, giftsyncd.yaml(5) for readers.
)";

/// Two blanks for each enclosing section and each enclosing list.
std::size_t indent_of(std::string_view path) {
  std::size_t indent = 0;
  for (std::string section = section_of(path); !section.empty(); section = section_of(section))
    indent += find_settings_list(section) != nullptr ? 4 : 2;
  return indent;
}

std::string comment(std::string_view text, std::size_t indent) {
  std::string lines;
  for (const std::string& line : wrapped(text, kExampleWidth - indent - 2))
    lines += fmt::format("{:{}}# {}\n", "", indent, line);
  return lines;
}

/// Required, and not excluded by the default of another key; or a limit that an installation begins with.
bool is_set(const SettingsKey& key) {
  if (key.details.is_set_at_first) return true;
  if (!key.details.is_required || enclosing_list(key.path) != nullptr) return false;
  const OnlyWith& with = key.details.only_with;
  return with.key.empty() || default_of(*find_settings_key(with.key)) == with.value;
}

std::string section_text(const SettingsSection& section) {
  const std::size_t indent = indent_of(section.path);
  std::string text = indent == 0 ? "\n" : "";
  text += comment(find_settings_list(section.path) == nullptr
                      ? section.description
                      : section.description + " A list; each element begins with \"- \".",
                  indent);
  const bool is_commented = enclosing_list(section.path) != nullptr;
  return text +
         fmt::format("{:{}}{}{}:\n", "", indent, is_commented ? "#" : "", name_in_section(section.path));
}

std::string key_text(const SettingsKey& key, bool is_first_of_element) {
  const std::size_t indent = indent_of(key.path) - (is_first_of_element ? 2 : 0);
  std::string facts = fmt::format("Allowed: {}.", allowed_by(key.rule));
  if (!key.details.is_required) facts += fmt::format(" Default: {}.", default_text(key));
  if (const std::string condition = condition_text(key); !condition.empty()) facts += " " + condition;
  return comment(key.description, indent) + comment(facts, indent) +
         fmt::format("{:{}}{}{}{}: {}\n", "", indent, is_set(key) ? "" : "#", is_first_of_element ? "- " : "",
                     name_in_section(key.path), example_text(key));
}

}  // namespace

std::string settings_example() {
  std::string text = kExampleHead;
  std::set<std::string> started{""};
  for (const SettingsKey& key : settings_keys()) {
    for (const SettingsSection& section : settings_sections()) {
      if (key.path.starts_with(section.path + ".") && started.insert(section.path).second)
        text += section_text(section);
    }
    const bool is_in_list = find_settings_list(section_of(key.path)) != nullptr;
    text += key_text(key, is_in_list && started.insert(section_of(key.path) + "[]").second);
  }
  return text;
}

namespace {

constexpr std::size_t kManualWidth = 78;

constexpr const char* kManualHead = R"(.Dd November 23, 2026
.Dt GIFTSYNCD.YAML 5
.Os
.Sh NAME
.Nm giftsyncd.yaml
.Nd settings of giftsyncd
.Sh DESCRIPTION
.Xr giftsyncd 8
and
.Xr giftsyncctl 1
read one YAML file of sections with keys.
Unknown and repeated keys, wrong types and wrong values are faults;
.Ql giftsyncd --check
reports all of them by file and line.
Relative paths begin at the file's folder.
.Pp
This is a complete file:
.Bd -literal -offset indent
server: { listen: "127.0.0.1:8480",
          base_url: "https://gifts.example.com",
          admin_url: "https://gifts.example.com" }
store:  { backend: sqlite, connection: "/var/lib/giftsync/giftsync.db" }
crm:    { type: sql }
email:  { transport: file, directory: "/var/lib/giftsync/outbox",
          from: "gifts@example.com" }
.Ed
.Ss Secrets
A secret is a reference:
.Bl -tag -width Ds
.It Li file:\& Ns Ar path
The text of a file, which the service's user must be able to read.
.It Li env:\& Ns Ar name
An environment variable.
.It Li credential:\& Ns Ar name
A systemd credential
.Pq Ql LoadCredential= .
Each unit needs the line:
.Pa giftsyncd.service
and, for the weekly backfill,
.Pa giftsync-backfill.service .
.Xr giftsyncctl 1
run manually needs the variable
.Ev CREDENTIALS_DIRECTORY
to name a folder with a file
.Ar name :
.Pa /run/credentials/giftsyncd.service
while the service runs.
.El
.Pp
Any other text is the secret itself; it works, with a warning.
)";

constexpr const char* kFoot = R"(.Sh FILES
.Bl -tag -width Ds
.It Pa /etc/giftsync/giftsyncd.yaml
The settings of the installed service.
.It Pa /usr/share/giftsync/giftsyncd.yaml
Every key with its meaning, its values and its default.
.It Pa /usr/share/giftsync/giftsyncd.schema.json
The same as a JSON Schema, for editors.
.El
.Sh SEE ALSO
.Xr giftsyncctl 1 ,
.Xr giftsyncd 8
)";

}  // namespace

std::string manual_lines(std::string text) {
  std::string lines;
  while (!text.empty()) {
    std::size_t end = text.find(". ");
    while (end != std::string::npos && (text[end + 2] < 'A' || text[end + 2] > 'Z'))
      end = text.find(". ", end + 1);
    const std::string sentence = text.substr(0, end == std::string::npos ? end : end + 1);
    for (const std::string& line : wrapped(sentence, kManualWidth)) {
      lines += line.starts_with('.') || line.starts_with('\'') ? "\\&" + line : line;
      lines += '\n';
    }
    text.erase(0, std::min(sentence.size() + 1, text.size()));
  }
  return lines;
}

namespace {

std::string section_body(const SettingsSection& section) {
  const bool is_list = find_settings_list(section.path) != nullptr;
  return manual_lines(section.description + (is_list ? " A list; each element has these keys." : ""));
}

/// `name`: the path below the top section.
std::string key_item(const SettingsKey& key, const std::string& name) {
  std::string item = ".It Cm " + name;
  if (key.details.is_required) {
    item += " Pq required";
  } else if (!default_of(key).is_null()) {
    item += " Pq Li " + default_text(key);
  }
  const std::string condition = condition_text(key);
  const std::string facts = condition.empty() || condition == "Required." ? "" : " " + condition;
  return item + "\n" + manual_lines(key.description + " Allowed: " + allowed_by(key.rule) + "." + facts);
}

/// The keys and sections below one top section.
std::string top_section(const SettingsSection& top) {
  const std::string prefix = top.path + ".";
  std::string text = ".Ss " + top.path + "\n" + section_body(top) + ".Bl -tag -width Ds\n";
  std::string previous = prefix;
  for (const SettingsKey& key : settings_keys()) {
    if (!key.path.starts_with(prefix)) continue;
    for (const SettingsSection& section : settings_sections()) {
      const std::string inner = section.path + ".";
      if (section.path.starts_with(prefix) && key.path.starts_with(inner) && !previous.starts_with(inner))
        text += ".It Cm " + section.path.substr(prefix.size()) + "\n" + section_body(section);
    }
    text += key_item(key, key.path.substr(prefix.size()));
    previous = key.path;
  }
  return text + ".El\n";
}

}  // namespace

std::string settings_manual() {
  std::string text = kManualHead;
  for (const SettingsSection& section : settings_sections()) {
    if (!section.path.empty() && section_of(section.path).empty()) text += top_section(section);
  }
  return text + kFoot;
}

namespace {

/// As YAML 1.2 reads it: a plain text of digits is a number.
Json json_of(const YamlNode& node) {
  using Kind = YamlNode::Kind;
  if (node.kind == Kind::list) {
    Json list = Json::array();
    for (const YamlNode& item : node.items) list.push_back(json_of(item));
    return list;
  }
  if (node.kind == Kind::map) {
    Json map = Json::object();
    for (const YamlEntry& entry : node.entries) map[entry.key] = json_of(entry.value);
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
  if (Json value = default_of(key); !value.is_null()) {
    if (schema.contains("items") && schema["items"]["type"] == "integer") {
      for (Json& element : value) element = Json::parse(element.get<std::string>());
    }
    schema["default"] = std::move(value);
  }
  const YamlDocument example = read_yaml("example: " + example_text(key));
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

namespace {

/// With one element of each list, since accessors refer to the last one.
Settings defaults_of_all_keys() {
  Settings settings;
  for (const SettingsList& list : settings_lists()) list.add(settings);
  return settings;
}

template <class Rule, class... Kinds>
constexpr bool kIsOneOf = (std::is_same_v<Rule, Kinds> || ...);

std::string yaml_text(const Json& value) {
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  return is_plain ? text : value.dump();
}

template <class TextOf>
std::string flow_list(const Json& list, TextOf text_of) {
  std::string items;
  for (const Json& item : list) items += (items.empty() ? "" : ", ") + text_of(item);
  return "[" + items + "]";
}

}  // namespace

Json default_of(const SettingsKey& key) {
  Settings defaults = defaults_of_all_keys();
  const auto* const number = std::get_if<WholeNumber>(&key.rule);
  if (number && number->accessor(defaults) < number->minimum) return nullptr;
  const Json value = std::visit(
      [&](const auto& rule) -> Json {
        using Rule = std::decay_t<decltype(rule)>;
        if constexpr (std::is_same_v<Rule, Choice>) {
          return rule.values[rule.chosen(defaults)];
        } else if constexpr (kIsOneOf<Rule, WholeNumber, BooleanValue, Text, TextList, FilePath>) {
          return rule.accessor(defaults);
        } else {
          return nullptr;
        }
      },
      key.rule);
  return value.is_string() && value.get_ref<const std::string&>().empty() ? Json(nullptr) : value;
}

std::string default_text(const SettingsKey& key) {
  const auto plain = [](const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  const Json value = default_of(key);
  if (value.is_null()) return "none";
  return value.is_array() ? flow_list(value, plain) : plain(value);
}

std::string example_text(const SettingsKey& key) {
  if (!key.details.example.empty()) return key.details.example;
  const Json value = default_of(key);
  return value.is_array() ? flow_list(value, yaml_text) : yaml_text(value);
}

std::string condition_text(const SettingsKey& key) {
  const auto& [key_of_choice, value] = key.details.only_with;
  std::string text;
  if (!key_of_choice.empty()) {
    const std::string with = fmt::format("with {}: {}", name_in_section(key_of_choice), value);
    text = key.details.is_required ? "Required " + with + ", and only then." : "Only " + with + ".";
  } else if (key.details.is_required) {
    text = "Required.";
  }
  if (!key.details.only_beside.empty()) {
    text += fmt::format("{}Only together with {}.", text.empty() ? "" : " ",
                        name_in_section(key.details.only_beside));
  }
  return text;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines{""};
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (line.size() + 1 + word.size() <= width) {
      line.append(" ").append(word);
    } else {
      lines.emplace_back(word);
    }
  }
  return lines;
}

}  // namespace giftsync::config
