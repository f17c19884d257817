// The documents of the settings, which are made from the table of keys, and conf/giftsyncd.yaml.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <variant>

#include "daemon/config/read_settings.h"
#include "daemon/config/settings_documents.h"
#include "daemon/config/settings_keys.h"
#include "platform/yaml_document.h"
#include "tests/source_folder.h"
#include "tests/support/json.h"

namespace giftsync::config {
namespace {

std::string text_of(const std::string& name) {
  const std::filesystem::path conf = std::filesystem::path(kSourceFolder) / "conf";
  std::ifstream file(conf / name);
  EXPECT_TRUE(file.is_open()) << conf / name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The commented keys ("#key: value", without a space) count as if they were set.
std::string with_commented_keys(const std::string& text) {
  static const std::regex commented("(^|\\n)( *)#((- )?[a-z_]+:)");
  return std::regex_replace(text, commented, "$1$2$3");
}

void collect(const YamlNode& node, const std::string& prefix, std::set<std::string>& paths) {
  for (const YamlEntry& entry : node.entries) {
    const bool is_section = find_settings_key(prefix + entry.key) == nullptr;
    if (is_section && entry.value.kind == YamlNode::Kind::map) {
      collect(entry.value, prefix + entry.key + ".", paths);
    } else if (is_section && entry.value.kind == YamlNode::Kind::list) {
      for (const YamlNode& item : entry.value.items) collect(item, prefix + entry.key + ".", paths);
    } else {
      EXPECT_TRUE(paths.insert(prefix + entry.key).second) << prefix + entry.key << " occurs twice";
    }
  }
}

using Properties = std::map<std::string, nlohmann::json>;

void collect(const nlohmann::json& schema, const std::string& prefix, Properties& properties) {
  EXPECT_EQ(schema.at("additionalProperties"), false) << prefix;
  for (const auto& [name, part] : schema.at("properties").items()) {
    if (part.contains("properties")) {
      collect(part, prefix + name + ".", properties);
    } else if (part.contains("items") && part.at("items").contains("properties")) {
      collect(part.at("items"), prefix + name + ".", properties);
    } else {
      properties.emplace(prefix + name, part);
    }
  }
}

Properties schema_properties() {
  Properties properties;
  collect(tests::parse_json(settings_schema()), "", properties);
  return properties;
}

std::set<std::string> key_paths() {
  std::set<std::string> paths;
  for (const SettingsKey& key : settings_keys()) EXPECT_TRUE(paths.insert(key.path).second) << key.path;
  return paths;
}

std::string without_line_breaks(const std::string& comments) {
  return std::regex_replace(comments, std::regex("\\n *# "), " ");
}

/// The expected content of the schema for a rule.
struct ExpectedInSchema {
  const nlohmann::json& part;
  Settings& defaults;

  void operator()(const WholeNumber& rule) const {
    EXPECT_EQ(part.at("type"), "integer");
    EXPECT_EQ(part.at("minimum"), rule.minimum);
    EXPECT_EQ(part.at("maximum"), rule.maximum);
    const std::int64_t value = rule.accessor(defaults);
    if (value < rule.minimum) {
      EXPECT_FALSE(part.contains("default")) << "it has none";
    } else {
      EXPECT_EQ(part.at("default"), value);
    }
  }
  void operator()(const BooleanValue& rule) const {
    EXPECT_EQ(part.at("type"), "boolean");
    EXPECT_EQ(part.at("default"), rule.accessor(defaults));
  }
  void operator()(const Choice& rule) const {
    EXPECT_EQ(part.at("enum"), rule.values);
    EXPECT_EQ(part.at("default"), rule.values[rule.chosen(defaults)]);
  }
  void operator()(const Text& rule) const {
    const nlohmann::json& type = part.at("type");  // a version may be written as a number, too
    EXPECT_EQ(type.is_array() ? type.at(0) : type, "string");
    EXPECT_EQ(part.value("default", ""), rule.accessor(defaults));
  }
  void operator()(const TextList& rule) const {
    EXPECT_EQ(part.at("type"), "array");
    EXPECT_EQ(part.at("minItems"), rule.minimum);
    EXPECT_EQ(part.at("maxItems"), rule.maximum);
    nlohmann::json expected = rule.accessor(defaults);
    if (part.at("items").at("type") == "integer") {
      for (nlohmann::json& element : expected) element = std::stoll(element.get<std::string>());
    }
    EXPECT_EQ(part.at("default"), expected);
  }
  void operator()(const FilePath&) const { EXPECT_EQ(part.at("type"), "string"); }
  void operator()(const SecretReference&) const { EXPECT_EQ(part.at("type"), "string"); }
  void operator()(const SecretList& rule) const {
    EXPECT_EQ(part.at("anyOf").at(0).at("type"), "string");
    EXPECT_EQ(part.at("anyOf").at(1).at("maxItems"), rule.maximum);
  }
  void operator()(const ChoiceMap& rule) const {
    EXPECT_EQ(part.at("type"), "object");
    EXPECT_EQ(part.at("maxProperties"), rule.maximum);
    EXPECT_EQ(part.at("additionalProperties").at("enum"), rule.values);
  }
  void operator()(const NameMap& rule) const {
    EXPECT_EQ(part.at("type"), "object");
    EXPECT_EQ(part.at("maxProperties"), rule.maximum);
  }
  void operator()(const SecretMap& rule) const {
    EXPECT_EQ(part.at("type"), "object");
    EXPECT_EQ(part.at("maxProperties"), rule.maximum);
  }
};

/// Each list has one element, since the table's accessors refer to the last one.
Settings settings_with_one_of_each() {
  Settings settings;
  for (const SettingsList& list : settings_lists()) list.add(settings);
  return settings;
}

/// A default as the sample writes it.
struct ShownDefault {
  Settings& defaults;

  std::string operator()(const WholeNumber& rule) const {
    const std::int64_t value = rule.accessor(defaults);
    return (value < rule.minimum ? "none" : std::to_string(value)) + ".";
  }
  std::string operator()(const BooleanValue& rule) const {
    return rule.accessor(defaults) ? "true." : "false.";
  }
  std::string operator()(const Choice& rule) const { return rule.values[rule.chosen(defaults)] + "."; }
  std::string operator()(const Text& rule) const {
    return (rule.accessor(defaults).empty() ? "none" : rule.accessor(defaults)) + ".";
  }
  std::string operator()(const TextList& rule) const {
    std::string shown;
    for (const std::string& text : rule.accessor(defaults)) shown += (shown.empty() ? "" : ", ") + text;
    return "[" + shown + "].";
  }
  std::string operator()(const FilePath& rule) const {
    EXPECT_EQ(rule.accessor(defaults), "");
    return "";
  }
  std::string operator()(const SecretReference& rule) const {
    EXPECT_TRUE(rule.accessor(defaults).empty());
    return "none.";
  }
  std::string operator()(const SecretList& rule) const { return none(rule.accessor(defaults).empty()); }
  std::string operator()(const ChoiceMap& rule) const { return none(rule.accessor(defaults).empty()); }
  std::string operator()(const NameMap& rule) const { return none(rule.accessor(defaults).empty()); }
  std::string operator()(const SecretMap& rule) const { return none(rule.accessor(defaults).empty()); }
  static std::string none(bool is_empty) {
    EXPECT_TRUE(is_empty);
    return "none.";
  }
};

// SET-2
TEST(SettingsFiles, TheSampleIsTheGeneratedExample) {
  EXPECT_EQ(text_of("giftsyncd.yaml"), settings_example())
      << "the table of keys changed: copy documents/giftsyncd.yaml of the build folder to conf/";
}

TEST(SettingsFiles, TheSampleSetsTheRequiredKeysAndTwoLimits) {
  const auto outcome = read_settings_text(settings_example(), "/etc/giftsync/giftsyncd.yaml");
  ASSERT_TRUE(outcome.has_value());
  std::set<std::string> set;
  for (const auto& [key, provenance] : outcome->provenance) set.insert(key);
  EXPECT_THAT(set, ::testing::ElementsAre("email.directory", "email.from",
                                          "sending.budgets.installation.day_gifts", "sending.burst.gifts",
                                          "server.admin_url", "server.base_url", "store.connection"));
}

TEST(SettingsFiles, TheSampleFitsTheWidthOfAScreen) {
  std::istringstream lines(settings_example());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120u) << line;
}

TEST(SettingsFiles, AKeyIsShownWithItsRuleDefaultAndCondition) {
  EXPECT_THAT(
      settings_example(),
      ::testing::HasSubstr("  # The password of the PostgreSQL user, as a reference to a secret.\n"
                           "  # Allowed: file:PATH, env:NAME, credential:NAME or the secret itself. Default: "
                           "none. Only with backend: postgresql.\n"
                           "  #password: \"credential:store-password\"\n"));
  EXPECT_THAT(settings_example(), ::testing::HasSubstr("  #- name: vendor\n"));
  EXPECT_THAT(settings_example(), ::testing::HasSubstr("\n    #fields:\n"));
}

TEST(SettingsFiles, TheManualDescribesEveryKeyOnce) {
  const std::string manual = settings_manual();
  for (const SettingsKey& key : settings_keys()) {
    const std::size_t section = manual.find(".Ss " + key.path.substr(0, key.path.find('.')) + "\n");
    const std::string item = "\n.It Cm " + key.path.substr(key.path.find('.') + 1);
    const std::size_t at = std::min(manual.find(item + "\n", section), manual.find(item + " Pq", section));
    EXPECT_LT(at, manual.find("\n.El\n", section)) << key.path;
  }
  EXPECT_THAT(manual, ::testing::HasSubstr(
                          "\n.It Cm transport Pq Li file\n"
                          "How mails are sent: smtp through a mail relay, file as one .eml file each.\n"
                          "Allowed: smtp, file.\n"));
}

TEST(SettingsFiles, TextIsBrokenAtBlanks) {
  EXPECT_THAT(wrapped("one two three", 7), ::testing::ElementsAre("one two", "three"));
  EXPECT_THAT(wrapped("longer-than-seven a", 7), ::testing::ElementsAre("longer-than-seven", "a"));
  EXPECT_THAT(wrapped("", 7), ::testing::ElementsAre(""));
}

TEST(SettingsFiles, TheSampleIsAValidSettingsFileWithTheDefaults) {
  auto outcome = read_settings_text(text_of("giftsyncd.yaml"), "giftsyncd.yaml");
  ASSERT_TRUE(outcome.has_value()) << ::testing::PrintToString(outcome.error().lines);
  EXPECT_THAT(outcome.value().warnings, ::testing::IsEmpty());
}

TEST(SettingsFiles, TheSampleContainsEveryKeyWithItsMeaning) {
  const std::string text = text_of("giftsyncd.yaml");
  const YamlDocument tree = read_yaml(with_commented_keys(text));
  ASSERT_TRUE(tree.faults.empty());
  std::set<std::string> shown;
  collect(tree.root, "", shown);
  EXPECT_EQ(shown, key_paths());
  const std::string flowing = without_line_breaks(text);
  for (const SettingsKey& key : settings_keys())
    EXPECT_THAT(flowing, ::testing::HasSubstr(key.description)) << key.path;
}

TEST(SettingsFiles, TheSampleShowsTheDefaults) {
  const std::string flowing = without_line_breaks(text_of("giftsyncd.yaml"));
  Settings defaults = settings_with_one_of_each();
  for (const SettingsKey& key : settings_keys()) {
    const std::size_t begin = flowing.find(key.description);
    ASSERT_NE(begin, std::string::npos) << key.path;
    const std::string comment = flowing.substr(begin, flowing.find('\n', begin) - begin);
    const std::string expected =
        key.details.is_required ? "Required" : "Default: " + std::visit(ShownDefault{defaults}, key.rule);
    EXPECT_THAT(comment, ::testing::HasSubstr(expected)) << key.path;
  }
}

TEST(SettingsFiles, EveryValueOfTheSampleIsAllowed) {
  const auto outcome = read_settings_text(with_commented_keys(text_of("giftsyncd.yaml")), "giftsyncd.yaml");
  ASSERT_TRUE(!outcome.has_value()) << "the sample has the keys of both transports";
  for (const std::string& line : outcome.error().lines) {
    EXPECT_THAT(line, ::testing::AnyOf(::testing::HasSubstr("leaves without effect"),
                                       ::testing::HasSubstr("beside server.tls"),
                                       ::testing::HasSubstr("without $CREDENTIALS_DIRECTORY"),
                                       ::testing::HasSubstr("ca-certificates.crt\", which cannot be read"),
                                       ::testing::HasSubstr("company-ca.pem\", which cannot be read"),
                                       ::testing::HasSubstr("logo.svg\", which cannot be read")));
  }
}

TEST(SettingsFiles, TheSchemaHasTheSameKeysAsTheTable) {
  std::set<std::string> described;
  for (const auto& [path, part] : schema_properties()) described.insert(path);
  EXPECT_EQ(described, key_paths());
}

// SET-2, SET-4
TEST(SettingsFiles, TheSchemaMatchesTheKeyTable) {
  const Properties properties = schema_properties();
  Settings defaults = settings_with_one_of_each();
  for (const SettingsKey& key : settings_keys()) {
    SCOPED_TRACE(key.path);
    const auto found = properties.find(key.path);
    ASSERT_NE(found, properties.end());
    EXPECT_EQ(found->second.at("description"), key.description);
    std::visit(ExpectedInSchema{found->second, defaults}, key.rule);
  }
}

}  // namespace
}  // namespace giftsync::config
