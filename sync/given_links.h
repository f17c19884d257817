// sync: what a request record names itself is not left to matching: recipient, account, opportunity and
// sender of its gift record (design 3.3).
#pragma once

#include <vector>

#include "schema/crm.h"
#include "schema/store/gift_ledger.h"
#include "schema/store/sync_queue.h"

namespace giftsync::sync {

struct GivenLinks {
  schema::MatchDecision* decision;  ///< as matching made it
  const schema::RequestOrigin* origin;
};

/// A contact or lead that is named replaces the one that matched; what is then not named follows from it by
/// the usual rules.
void apply_given_links(schema::Crm& crm, const schema::MatchFields& fields,
                       const std::vector<GivenLinks>& given);

}  // namespace giftsync::sync
