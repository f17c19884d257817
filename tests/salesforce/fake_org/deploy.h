// Deployments through the REST API: a zip in the Metadata API's format, checked, and deployed as a whole or
// not at all.
#pragma once

#include <string>
#include <vector>

#include "tests/salesforce/fake_org/http_values.h"
#include "tests/salesforce/fake_org/org.h"

namespace giftsync::tests::fake_org {

/// POST /metadata/deployRequest and GET /metadata/deployRequest/Id. A deployment is in progress at the first
/// look and done at the second. `parts` are those of the path, from the version on.
ApiAnswer deployments(Org& org, const std::string& user, const ApiRequest& request,
                      const std::vector<std::string>& parts);

}  // namespace giftsync::tests::fake_org
