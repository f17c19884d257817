// daemon/salesforce: the permission sets of the package. A deployment grants no one access to new fields, so
// each set lists every field. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/salesforce/package_fields.h"

namespace giftsync::daemon::salesforce {

struct PermissionSetSource {
  std::string name;
  std::string text;
};

std::vector<PermissionSetSource> package_permission_sets(std::string_view word);

}  // namespace giftsync::daemon::salesforce
