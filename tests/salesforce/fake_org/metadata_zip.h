// A zip in the Metadata API's format as the files of an sfdx source project. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/salesforce/fake_org/metadata.h"

namespace giftsync::tests::fake_org {

/// Where a component lies in the zip.
struct ZipComponent {
  std::string file;  ///< "objects/Gift_Record__c.object"
  std::string type;  ///< "CustomField"
  std::string name;  ///< "Gift_Record__c.Message__c"
  int line = 1;
};

struct MetadataZip {
  std::map<std::string, std::string> entries;      ///< as they are in the zip, package.xml among them
  SourceFiles sources;                             ///< the same as source files
  std::map<std::string, ZipComponent> components;  ///< by path of the source file
};

/// Throws MetadataError for what is no zip, and for what package.xml does not list.
MetadataZip read_metadata_zip(const std::string& bytes);

}  // namespace giftsync::tests::fake_org
