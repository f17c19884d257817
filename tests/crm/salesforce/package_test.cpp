// The Salesforce project in conf/salesforce, which the program embeds, is what the field tables say, and what
// Salesforce accepts.
#include "crm/salesforce/org/package.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "crm/salesforce/calls/api_names.h"
#include "schema/enums.h"
#include "tests/source_folder.h"

namespace giftsync::salesforce {
namespace {

namespace fs = std::filesystem;

const std::string kMain = "force-app/main/default/";

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::map<std::string, std::string> package_files() {
  std::map<std::string, std::string> files;
  for (const SourceFile& file : package_sources()) files[file.path] = file.text;
  return files;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Package, IsTheProjectInTheTree) {
  const fs::path folder = fs::path(kSourceFolder) / "conf" / "salesforce";
  const std::map<std::string, std::string> files = package_files();
  for (const auto& [path, text] : files) EXPECT_EQ(text_of(folder / path), text) << path;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      EXPECT_TRUE(files.contains(fs::relative(entry.path(), folder).string())) << entry.path();
    }
  }
}

/// The elements that a field of this type has.
std::vector<std::string> elements_of(const FieldDescriptor& field) {
  const std::string length = std::to_string(field.length);
  switch (field.type) {
    case FieldType::text:
      return {"<type>Text</type>", "<length>" + length + "</length>"};
    case FieldType::long_text:
      return {"<type>LongTextArea</type>", "<length>" + length + "</length>"};
    case FieldType::email:
      return {"<type>Email</type>"};
    case FieldType::phone:
      return {"<type>Phone</type>"};
    case FieldType::url:
      return {"<type>Url</type>"};
    case FieldType::picklist:
      return {"<type>Picklist</type>", "<restricted>false</restricted>"};
    case FieldType::lookup:
      return {"<type>Lookup</type>", "<deleteConstraint>SetNull</deleteConstraint>"};
    case FieldType::currency:
      return {"<type>Currency</type>", "<precision>18</precision>", "<scale>2</scale>"};
    case FieldType::number:
      return {"<type>Number</type>", "<precision>" + length + "</precision>", "<scale>0</scale>"};
    case FieldType::date_time:
      return {"<type>DateTime</type>"};
    case FieldType::checkbox:
      return {"<type>Checkbox</type>"};
  }
  return {};
}

/// Checks the file of a field, unless it is a standard field, which has none; returns the file's text.
std::string check_field(const std::map<std::string, std::string>& files, const std::string& object,
                        const FieldDescriptor& field, const std::string& name) {
  const std::string path = kMain + "objects/" + object + "/fields/" + name + ".field-meta.xml";
  EXPECT_EQ(files.contains(path), !field.standard) << path;
  if (!files.contains(path)) return {};
  const std::string& text = files.at(path);
  EXPECT_TRUE(has(text, "<fullName>" + name + "</fullName>")) << path;
  EXPECT_TRUE(has(text, "<label>" + std::string(field.label) + "</label>")) << path;
  const bool is_text_area = field.name == descriptor_of(RequestRecordField::send_type).name;
  if (!is_text_area) {
    for (const std::string& element : elements_of(field)) EXPECT_TRUE(has(text, element)) << path << element;
  }
  return text;
}

TEST(Package, HasAFileForEachCustomFieldOfTheTablesWithItsLabelAndType) {
  const std::map<std::string, std::string> files = package_files();
  const ApiNames names{OrgNames{}};
  for (std::size_t at = 0; at < kGiftFieldCount; ++at) {
    const auto field = static_cast<GiftField>(at);
    const std::string text = check_field(files, "Gift_Record__c", descriptor_of(field), names.field(field));
    // Only the CRM computes these.
    EXPECT_EQ(has(text, "<formula>"), descriptor_of(field).type == FieldType::checkbox) << names.field(field);
  }
  for (std::size_t at = 0; at < kRequestRecordFieldCount; ++at) {
    const auto field = static_cast<RequestRecordField>(at);
    check_field(files, "Request_Record__c", descriptor_of(field), names.field(field));
  }
  for (const OwnField field :
       {OwnField::claimed, OwnField::guard_modified, OwnField::guard_mark, OwnField::creation_key})
    EXPECT_TRUE(
        files.contains(kMain + "objects/Request_Record__c/fields/" + names.field(field) + ".field-meta.xml"))
        << names.field(field);
}

TEST(Package, HasTheWordsOfTheEnumerationsInItsPicklists) {
  const std::map<std::string, std::string> files = package_files();
  const ApiNames names{OrgNames{}};
  const auto words_of = [&](const std::string& object, const std::string& name) {
    const std::string& text = files.at(kMain + "objects/" + object + "/fields/" + name + ".field-meta.xml");
    std::vector<std::string> words;
    const std::regex value("<value>\\s*<fullName>([^<]*)</fullName>");
    for (std::sregex_iterator at(text.begin(), text.end(), value), end; at != end; ++at)
      words.push_back((*at)[1]);
    return words;
  };
  std::vector<std::string> statuses;
  for (const Status status : kAllStatuses) statuses.emplace_back(to_word(status));
  EXPECT_EQ(words_of("Gift_Record__c", names.field(GiftField::status)), statuses);
  std::vector<std::string> requests;
  for (const RequestRecordStatus status : kAllRequestRecordStatuses) requests.emplace_back(to_word(status));
  EXPECT_EQ(words_of("Request_Record__c", names.field(RequestRecordField::status)), requests);
}

/// An external id has an index, by which giftsync finds a gift, a request or a task once.
TEST(Package, MakesTheKeysUnique) {
  const std::map<std::string, std::string> files = package_files();
  for (const char* path :
       {"Gift_Record__c/fields/RecipientTransactionId__c", "Request_Record__c/fields/Creation_Key__c",
        "Activity/fields/RecipientTransactionId__c"}) {
    const std::string& text = files.at(kMain + "objects/" + path + ".field-meta.xml");
    EXPECT_TRUE(has(text, "<externalId>true</externalId>")) << path;
    EXPECT_TRUE(has(text, "<unique>true</unique>")) << path;
  }
}

/// Each permission set names each custom field; formulas are readable only.
TEST(Package, GrantsEachFieldInEachPermissionSet) {
  const std::map<std::string, std::string> files = package_files();
  int sets = 0;
  for (const auto& [path, text] : files) {
    if (path.find("/permissionsets/") == std::string::npos) continue;
    ++sets;
    for (const auto& [field_path, field] : files) {
      const std::size_t fields = field_path.find("/fields/");
      if (fields == std::string::npos || has(field_path, "/Activity/")) continue;
      const std::string object = field_path.substr(kMain.size() + 8, fields - kMain.size() - 8);
      const std::string file = field_path.substr(fields + 8);
      const std::string name = "<field>" + object + "." + file.substr(0, file.find('.')) + "</field>";
      const std::size_t at = text.find(name);
      ASSERT_NE(at, std::string::npos) << path << " " << name;
      if (has(field, "<formula>")) {
        const std::size_t begin = text.rfind("<editable>", at);
        EXPECT_EQ(text.compare(begin, 15, "<editable>false"), 0) << path << " " << name;
      }
    }
  }
  EXPECT_EQ(sets, 3);
}

/// A deployed application is visible to no one without a set that says so, and a minimal profile sees no
/// tasks.
TEST(Package, ShowsTheApplicationToPeopleAndTasksToTheIntegrationUser) {
  const std::map<std::string, std::string> files = package_files();
  const auto set = [&](const std::string& name) {
    return files.at(kMain + "permissionsets/" + name + ".permissionset-meta.xml");
  };
  for (const char* name : {"Admin", "Standard_User"})
    EXPECT_TRUE(has(set(name), "<application>giftsync</application>\n        <visible>true<")) << name;
  for (const char* name : {"ActivitiesAccess", "ApiEnabled", "EditTask", "ViewSetup"})
    EXPECT_TRUE(has(set("giftsync_Integration"), "<name>" + std::string(name) + "<")) << name;
}

/// The adapter knows the refusals of these rules by the beginning of their messages.
TEST(Package, HasTheRulesOfConditionalWrites) {
  std::map<std::string, PackageRule> rules;
  for (const PackageRule& rule : package_rules()) rules[rule.name] = rule;
  ASSERT_EQ(rules.size(), 5U);
  EXPECT_TRUE(rules.at("Only_Newer").message.starts_with(kOlderVersionMark));
  EXPECT_EQ(rules.at("Only_Newer").object, "Gift_Record__c");
  EXPECT_TRUE(rules.at("Same_Gift").message.starts_with(kOtherGiftMark));
  EXPECT_TRUE(rules.at("As_Read").message.starts_with(kChangedSinceReadMark));
  EXPECT_EQ(rules.at("As_Read").object, "Request_Record__c");
  EXPECT_TRUE(has(rules.at("As_Read").formula, "ISPICKVAL(PRIORVALUE(Request_Status__c), \"" +
                                                   std::string(to_word(RequestRecordStatus::approved)) +
                                                   "\")"));
}

std::vector<std::string> texts_in(const std::string& text, const std::string& name) {
  const std::regex pattern("<" + name + ">([^<]*)</" + name + ">");
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
    found.push_back((*at)[1]);
  return found;
}

/// Limits that a deployment is refused for.
TEST(Package, KeepTheLimitsOfSalesforce) {
  std::set<std::pair<std::string, std::string>> relationships;
  for (const auto& [path, text] : package_files()) {
    for (const std::string& label : texts_in(text, "label")) EXPECT_LE(label.size(), 40U) << path;
    for (const std::string& words : texts_in(text, "description")) EXPECT_LE(words.size(), 255U) << path;
    for (const std::string& words : texts_in(text, "errorMessage")) EXPECT_LE(words.size(), 255U) << path;
    for (const std::string& name : texts_in(text, "fullName")) EXPECT_LE(name.size(), 43U) << path;
    for (const std::string& name : texts_in(text, "relationshipName")) {
      EXPECT_LE(name.size(), 40U) << path;
      EXPECT_TRUE(relationships.emplace(texts_in(text, "referenceTo").at(0), name).second) << path;
    }
    for (const std::string& label : texts_in(text, "relationshipLabel")) EXPECT_LE(label.size(), 80U) << path;
  }
  EXPECT_GT(relationships.size(), 8U);
}

}  // namespace
}  // namespace giftsync::salesforce
