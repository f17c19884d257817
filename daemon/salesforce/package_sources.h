// daemon/salesforce: giftsync's objects in Salesforce as an sfdx source project without namespace: objects
// with fields, validation rules, list views and layouts, tabs, an application, permission sets, and the field
// of Activity. The field tables of the schema are the only source. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace giftsync::daemon::salesforce {

struct SourceFile {
  std::string path;  ///< "force-app/main/default/objects/..."
  std::string text;
};

/// By path, ascending. `word` is the package's name in names and labels. conf/salesforce has those of
/// "giftsync".
std::vector<SourceFile> package_sources(std::string_view word = "giftsync");

}  // namespace giftsync::daemon::salesforce
