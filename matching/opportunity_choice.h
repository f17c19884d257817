// matching: which of a contact's open opportunities a gift belongs to, and which account follows (MATCH-13,
// MATCH-15). Pure. Leads never have one.
#pragma once

#include <span>
#include <string>

#include "schema/crm/crm.h"

namespace giftsync::matching {

struct OpportunityChoice {
  std::string opportunity_id;
  std::string account_id;  ///< the contact's, else the opportunity's
  std::string stage;
  std::string reason;  ///< sentences that follow those of the contact
};

/// `opportunities` are the contact's open ones, in order; `contact_account` may be empty. With opportunity
/// matching off the list is ignored.
OpportunityChoice choose_opportunity(const std::string& contact_account,
                                     std::span<const schema::crm::Opportunity> opportunities,
                                     const schema::crm::OpportunityMatching& rules);

}  // namespace giftsync::matching
