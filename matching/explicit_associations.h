// matching: associations that a request record names itself are not matched: recipient, account, opportunity
// and sender of its gift record (MATCH-22, REQ-28). They apply to the first decision and to every rematch.
#pragma once

#include <map>
#include <vector>

#include "crm/crm.h"
#include "schema/store/store.h"

namespace giftsync::matching {

/// The explicit associations of gifts that were sent for request records, by gift request.
using RequestLinks = std::map<GiftRequestId, store::RequestRecordLink>;
RequestLinks request_links_of(store::Store& store, const std::vector<const store::Gift*>& gifts);

/// Removes associations that the CRM no longer has, so that a new decision does not use them. A converted
/// lead becomes its contact. Accounts are not checked here; the CRM refuses deleted ones itself.
void drop_missing_associations(crm::Crm& crm, RequestLinks& request_links);

/// An explicit contact or lead replaces the matched one; what is not named follows from it by the usual
/// rules. An explicit opportunity sets its stage, and its account if the contact has none. `decisions` are of
/// these gifts, as matching made them.
void apply_explicit_associations(crm::Crm& crm, const crm::MatchFields& fields,
                                 const std::vector<const store::Gift*>& gifts,
                                 const RequestLinks& request_links,
                                 std::vector<store::MatchDecision>& decisions);

}  // namespace giftsync::matching
