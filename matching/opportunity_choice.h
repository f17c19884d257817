// matching: which of a contact's open opportunities a gift belongs to, and which account then (Spec 6.4.2,
// design 3.2). Pure. Leads never have one.
#pragma once

#include <span>
#include <string>

#include "schema/crm.h"

namespace giftsync::matching {

struct OpportunityChoice {
  std::string opportunity_id;
  std::string account_id;  ///< the contact's, else the opportunity's
  std::string stage;
  std::string reason;  ///< sentences that follow those of the contact
};

/// `opportunities` are the contact's open ones in their order; `contact_account` may be empty. With
/// opportunity matching off the list is not looked at.
OpportunityChoice choose_opportunity(const std::string& contact_account,
                                     std::span<const schema::Opportunity> opportunities,
                                     const schema::OpportunityMatching& rules);

}  // namespace giftsync::matching
