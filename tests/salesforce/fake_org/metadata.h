// Reads the objects, fields, validation rules and permission sets of an sfdx source project.
#pragma once

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>

#include "tests/salesforce/fake_org/objects.h"

namespace giftsync::tests::fake_org {

/// Texts by path below force-app/main/default: "objects/Gift_Record__c/fields/Message__c.field-meta.xml".
using SourceFiles = std::map<std::string, std::string>;

/// The files of a project; none for an empty path.
SourceFiles read_project(const std::filesystem::path& project);

/// Metadata that a deployment would refuse, or that the fake org does not know.
class MetadataError : public std::runtime_error {
 public:
  MetadataError(std::string file_path, const std::string& words)
      : std::runtime_error(words), path(std::move(file_path)) {}
  std::string path;
};

/// The standard objects and what the project adds. Throws MetadataError.
OrgSchema read_org_schema(const SourceFiles& files);

}  // namespace giftsync::tests::fake_org
