// sync: what a request record names itself is not left to matching: recipient, account, opportunity and
// sender of its gift record (design 3.3), when the gift is decided first and whenever it is decided anew.
#pragma once

#include <map>
#include <vector>

#include "schema/crm.h"
#include "schema/store/store.h"

namespace giftsync::sync {

struct GivenLinks {
  schema::MatchDecision* decision;  ///< as matching made it
  const schema::RequestOrigin* origin;
};

/// Of these gifts, those that were sent for request records: what the records name, by gift request.
std::map<schema::GiftRequestId, schema::RequestOrigin> origins_of(
    schema::Store& store, const std::vector<const schema::Gift*>& gifts);

/// What the CRM no longer has is not named any more: for a decision made anew, which must not go back to it.
/// A converted lead names its contact. Of accounts nobody knows; the CRM refuses those itself.
void forget_vanished(schema::Crm& crm, std::map<schema::GiftRequestId, schema::RequestOrigin>& origins);

/// A contact or lead that is named replaces the one that matched; what is then not named follows from it by
/// the usual rules. A named opportunity brings its stage, and its account where the contact has none.
void apply_given_links(schema::Crm& crm, const schema::MatchFields& fields,
                       const std::vector<GivenLinks>& given);

}  // namespace giftsync::sync
