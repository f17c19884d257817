// POST /composite: up to 25 parts in one call.
#pragma once

#include <string>

#include "tests/salesforce/fake_org/api.h"

namespace giftsync::tests::fake_org {

/// Runs the parts in their order. Throws ApiError for a call that is refused as a whole.
Json run_composite(Api& api, Org& org, const ApiRequest& request, const std::string& user);

}  // namespace giftsync::tests::fake_org
