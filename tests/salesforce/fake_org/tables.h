// The tables of the fake org. Pure.
#pragma once

#include <string>

#include "tests/salesforce/fake_org/objects.h"

namespace giftsync::tests::fake_org {

/// Creates what is missing: a table for each object, and the org's own tables.
std::string tables_script(const OrgSchema& schema);

}  // namespace giftsync::tests::fake_org
