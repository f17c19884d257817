// matching: whose gift is this? A pure choice over candidates that a CRM found, with its reason in words
// (Spec 6.4, design 3.2). Contacts by e-mail first, then by phone, then leads the same way; a gift links to a
// contact or a lead, never both.
#pragma once

#include <string>

#include "schema/crm.h"

namespace giftsync::matching {

struct Choice {
  std::string contact_id;
  std::string account_id;  ///< the contact's
  std::string lead_id;
  std::string reason;  ///< readable sentences: what was compared, who else there was, why this one

  bool matched() const { return !contact_id.empty() || !lead_id.empty(); }
};

/// True when the contacts decide and leads need not be looked for.
bool contact_decides(const schema::Candidates& contacts);

/// `leads` may be empty when contact_decides(contacts).
Choice choose(const schema::RecipientKeys& recipient, const schema::Candidates& contacts,
              const schema::Candidates& leads, const schema::MatchFields& fields);

/// Eight hex digits that change whenever the matching settings do; stands in every stored reason.
std::string fingerprint(const schema::MatchFields& fields);

}  // namespace giftsync::matching
