// crm/salesforce: which targets of lookups are lost: deleted, merged into others, or not in the org. A
// target that the integration user does not see looks the same as one that is not there. Any thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "crm/salesforce/calls/api_names.h"
#include "crm/salesforce/calls/org_calls.h"
#include "schema/gift_record.h"

namespace giftsync::salesforce {

/// Ids by object, as target_object() names it.
using TargetIds = std::map<std::string, std::set<std::string>, std::less<>>;

/// Those of `ids` that are lost. One call for all objects.
TargetIds lost_targets(OrgCalls& calls, const ApiNames& names, const TargetIds& ids, CallPurpose purpose);

/// As above, but without those that are not in the answer where more than half of at least 20 are not: then
/// it is more likely that giftsync may not see them.
TargetIds surely_lost_targets(OrgCalls& calls, const ApiNames& names, const TargetIds& ids,
                              CallPurpose purpose);

/// The id with 18 characters as the org writes it; 15 characters say the same.
bool is_same_id(std::string_view one, std::string_view other);

/// Whether the org's words name this Id, in 15 characters or 18.
bool names_id(std::string_view words, std::string_view id);

}  // namespace giftsync::salesforce
