// The descriptions of objects, as the user may see and write them.
#pragma once

#include <string>

#include "tests/salesforce/fake_org/org.h"

namespace giftsync::tests::fake_org {

/// GET /sobjects/Object/describe.
Json describe_object(Org& org, const std::string& user, const Object& object, const std::string& version);
/// GET /sobjects.
Json describe_org(Org& org, const std::string& user, const std::string& version);
/// GET /sobjects/Object.
Json basic_information(Org& org, const std::string& user, const Object& object, const std::string& version);

}  // namespace giftsync::tests::fake_org
