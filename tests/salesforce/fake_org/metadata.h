// Reads the objects, fields, validation rules and permission sets of an sfdx source project.
#pragma once

#include <filesystem>

#include "tests/salesforce/fake_org/objects.h"

namespace giftsync::tests::fake_org {

/// The standard objects and what the project adds. Throws std::runtime_error for metadata that a deployment
/// would refuse or that the fake org does not know.
OrgSchema read_org_schema(const std::filesystem::path& project);

}  // namespace giftsync::tests::fake_org
