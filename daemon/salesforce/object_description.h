// daemon/salesforce: the fields of one object, as the integration user sees them. Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/salesforce/call_governor.h"
#include "daemon/salesforce/org_calls.h"
#include "daemon/salesforce/org_facts.h"

namespace giftsync::daemon::salesforce {

/// In the org's order; one call. Nullopt when the org has no such object or the user may not read it. Throws
/// platform::DependencyError.
std::optional<std::vector<FieldFacts>> describe_fields(OrgCalls& calls, const std::string& object,
                                                       Spending spending);

/// Null when there is none of that name, which is compared without case.
const FieldFacts* find_field(const std::vector<FieldFacts>& fields, std::string_view name);

}  // namespace giftsync::daemon::salesforce
