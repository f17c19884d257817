// The tables of the fake org. Pure.
#pragma once

#include <string>

#include "tests/salesforce/fake_org/objects.h"

namespace giftsync::tests::fake_org {

/// Creates what is missing: a table for each object.
std::string tables_script(const OrgSchema& schema);
/// The org's own tables: settings, sessions, counters, deployed files, changes to them.
std::string own_tables_script();
/// "email TEXT": of a field without a formula.
std::string column_definition(const Object& object, const Field& field);

}  // namespace giftsync::tests::fake_org
