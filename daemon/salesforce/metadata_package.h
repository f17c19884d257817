// daemon/salesforce: a source project in the form that the Metadata API deploys: one file for each object
// with its parts inside, a package.xml that lists every component, all in one zip. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/salesforce/package_sources.h"

namespace giftsync::daemon::salesforce {

/// By path, ascending. `sources` are those of package_sources().
std::vector<SourceFile> metadata_package(const std::vector<SourceFile>& sources,
                                         std::string_view api_version);

/// The bytes of a zip with these files.
std::string zip_of(const std::vector<SourceFile>& files);

}  // namespace giftsync::daemon::salesforce
