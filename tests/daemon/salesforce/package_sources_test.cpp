// The Salesforce project in conf/salesforce is what the field tables make, and what Salesforce accepts.
#include "daemon/salesforce/package_sources.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "daemon/salesforce/package_fields.h"
#include "tests/source_folder.h"

namespace giftsync::daemon::salesforce {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::map<std::string, std::string> generated(std::string_view word = "giftsync") {
  std::map<std::string, std::string> files;
  for (const SourceFile& file : package_sources(word)) files[file.path] = file.text;
  return files;
}

TEST(PackageSources, AreTheCommittedOnes) {
  const fs::path folder = fs::path(kSourceFolder) / "conf" / "salesforce";
  std::map<std::string, std::string> files = generated();
  for (const auto& [path, text] : files) EXPECT_EQ(text_of(folder / path), text) << path;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "force-app")) {
    if (entry.is_regular_file()) {
      EXPECT_TRUE(files.contains(fs::relative(entry.path(), folder).string())) << entry.path();
    }
  }
}

TEST(PackageSources, HaveAFileForEachCustomFieldOfTheTables) {
  const std::map<std::string, std::string> files = generated();
  const auto has_field = [&](std::string_view object, const std::string& name) {
    return files.contains("force-app/main/default/objects/" + std::string(object) + "/fields/" + name +
                          ".field-meta.xml");
  };
  for (std::size_t at = 0; at < schema::kGiftFieldCount; ++at) {
    const auto field = static_cast<schema::GiftField>(at);
    EXPECT_EQ(has_field(kGiftObject, packaged_name(field)), !descriptor_of(field).standard)
        << packaged_name(field);
  }
  for (std::size_t at = 0; at < schema::kRequestRecordFieldCount; ++at) {
    const auto field = static_cast<schema::RequestRecordField>(at);
    EXPECT_EQ(has_field(kRequestObject, packaged_name(field, "giftsync")), !descriptor_of(field).standard)
        << packaged_name(field, "giftsync");
  }
}

TEST(PackageSources, HaveTheWordOfAnotherPackageInTheirNames) {
  const std::map<std::string, std::string> files = generated("acme");
  EXPECT_TRUE(files.contains(
      "force-app/main/default/objects/Request_Record__c/fields/acme_Error_Log__c.field-meta.xml"));
  EXPECT_TRUE(
      files.contains("force-app/main/default/permissionsets/acme_Integration.permissionset-meta.xml"));
  for (const auto& [path, text] : files) EXPECT_EQ(path.find("giftsync"), std::string::npos) << path;
}

/// Each permission set names each custom field; formulas are readable only.
TEST(PackageSources, GrantEachFieldInEachPermissionSet) {
  std::vector<PackageField> gift = gift_package_fields();
  std::vector<PackageField> request = request_package_fields("giftsync");
  int sets = 0;
  for (const auto& [path, text] : generated()) {
    if (path.find("/permissionsets/") == std::string::npos) continue;
    ++sets;
    for (const auto& [object, fields] :
         {std::pair(kGiftObject, &gift), std::pair(kRequestObject, &request)}) {
      for (const PackageField& field : *fields) {
        const std::string name = "<field>" + std::string(object) + "." + field.name + "</field>";
        const std::size_t at = text.find(name);
        ASSERT_NE(at, std::string::npos) << path << " " << name;
        if (!field.is_editable) {
          const std::size_t begin = text.rfind("<editable>", at);
          EXPECT_EQ(text.compare(begin, 15, "<editable>false"), 0) << path << " " << name;
        }
      }
    }
  }
  EXPECT_EQ(sets, 3);
}

/// A deployed application is visible to no one without a set that says so, and a minimal profile sees no
/// tasks.
TEST(PackageSources, ShowTheApplicationToPeopleAndTasksToTheIntegrationUser) {
  const std::map<std::string, std::string> files = generated("acme");
  const auto set = [&](const std::string& name) {
    return files.at("force-app/main/default/permissionsets/" + name + ".permissionset-meta.xml");
  };
  for (const char* name : {"Admin", "Standard_User"})
    EXPECT_NE(set(name).find("<application>acme</application>\n        <visible>true<"), std::string::npos)
        << name;
  for (const char* name : {"ActivitiesAccess", "ApiEnabled", "EditTask", "ViewSetup"})
    EXPECT_NE(set("acme_Integration").find("<name>" + std::string(name) + "<"), std::string::npos) << name;
}

std::vector<std::string> elements_of(const std::string& text, const std::string& name) {
  const std::regex pattern("<" + name + ">([^<]*)</" + name + ">");
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
    found.push_back((*at)[1]);
  return found;
}

/// Limits that a deployment is refused for.
TEST(PackageSources, KeepTheLimitsOfSalesforce) {
  std::set<std::pair<std::string, std::string>> relationships;
  for (const auto& [path, text] : generated()) {
    for (const std::string& label : elements_of(text, "label")) EXPECT_LE(label.size(), 40U) << path;
    for (const std::string& words : elements_of(text, "description")) EXPECT_LE(words.size(), 255U) << path;
    for (const std::string& words : elements_of(text, "errorMessage")) EXPECT_LE(words.size(), 255U) << path;
    for (const std::string& name : elements_of(text, "fullName")) EXPECT_LE(name.size(), 43U) << path;
    for (const std::string& name : elements_of(text, "relationshipName")) {
      EXPECT_LE(name.size(), 40U) << path;
      EXPECT_TRUE(relationships.emplace(elements_of(text, "referenceTo").at(0), name).second) << path;
    }
    for (const std::string& label : elements_of(text, "relationshipLabel"))
      EXPECT_LE(label.size(), 80U) << path;
  }
  EXPECT_GT(relationships.size(), 8U);
}

}  // namespace
}  // namespace giftsync::daemon::salesforce
