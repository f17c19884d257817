// matching: the new decision of each gift of a rematch (MATCH-25): matched again, or moved with its converted
// lead. Associations that a request record names still apply. It reads store and CRM and writes nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crm/crm.h"
#include "schema/store/store.h"

namespace giftsync::matching {

/// A gift and its current links.
struct LinkedGift {
  const store::Gift* gift;
  const store::CrmSyncState* sync_state;
};

/// A new decision, or why there is none; with neither nothing changes.
struct NewMatch {
  std::optional<store::MatchDecision> decision;
  std::string detail;
};

/// One for each gift, in order.
std::vector<NewMatch> match_again(store::Store& store, crm::Crm& crm, const crm::MatchFields& fields,
                                  const std::vector<LinkedGift>& gifts);

/// One for each gift, in order: a decision only for gifts whose lead was converted to a contact of the CRM.
std::vector<NewMatch> follow_converted_leads(store::Store& store, crm::Crm& crm,
                                             const crm::MatchFields& fields,
                                             const std::vector<LinkedGift>& gifts);

}  // namespace giftsync::matching
