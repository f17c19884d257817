// What Salesforce makes of the values that a save gives: trimmed, in whole seconds, within the field's
// limits.
#pragma once

#include <string>
#include <variant>

#include "tests/salesforce/fake_org/api_error.h"
#include "tests/salesforce/fake_org/org.h"

namespace giftsync::tests::fake_org {

/// Throws ApiError for JSON of another type than the field's, as Salesforce refuses the request then.
std::variant<Value, RowError> field_input(Org& org, const Field& field, const Json& given);

}  // namespace giftsync::tests::fake_org
