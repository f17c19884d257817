// crm/salesforce: giftsync's package in Salesforce, which the program embeds from conf/salesforce: objects
// with fields, validation rules, list views and layouts, tabs, an application, permission sets, and the field
// of Activity. Names have no namespace: Salesforce adds one where the project is built as a managed package.
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace giftsync::salesforce {

struct SourceFile {
  std::string path;  ///< "force-app/main/default/objects/..."
  std::string text;
};

/// The sfdx source project, by path, ascending.
std::vector<SourceFile> package_sources();

/// The project in the form that the Metadata API deploys: one file for each object with its parts inside, and
/// a package.xml that lists every component. By path, ascending.
std::vector<SourceFile> metadata_package(const std::vector<SourceFile>& sources,
                                         std::string_view api_version);

/// The bytes of a zip with these files.
std::string zip_of(const std::vector<SourceFile>& files);

// The validation rules by which Salesforce itself keeps giftsync's conditional writes, in the transaction of
// the save. The messages of refused writes begin with these marks; none reaches a person.

inline constexpr std::string_view kOlderVersionMark = "GIFTSYNC:OLDER";
inline constexpr std::string_view kOtherGiftMark = "GIFTSYNC:OTHER";
inline constexpr std::string_view kChangedSinceReadMark = "GIFTSYNC:CHANGED";

struct PackageRule {
  std::string object;
  std::string name;
  std::string formula;  ///< the save is refused where it is true
  std::string message;
};

/// Those of the package, by object and name.
const std::vector<PackageRule>& package_rules();

}  // namespace giftsync::salesforce
