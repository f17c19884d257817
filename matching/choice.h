// matching: chooses to whom a gift belongs from the candidates that a CRM found, with an explanation
// (MATCH-4, MATCH-5, MATCH-6). Pure. Contacts by e-mail first, then by phone, then leads the same way. A gift
// links to a contact or a lead, never both.
#pragma once

#include <string>

#include "schema/crm/directory.h"

namespace giftsync::matching {

struct MatchChoice {
  std::string contact_id;
  std::string account_id;  ///< the contact's
  std::string lead_id;
  std::string reason;  ///< sentences: what was compared, the other candidates, why this one

  bool matched() const { return !contact_id.empty() || !lead_id.empty(); }
};

/// `leads` are not compared when there is a contact.
MatchChoice choose(const schema::crm::RecipientMatchKeys& recipient, const schema::crm::Candidates& contacts,
                   const schema::crm::Candidates& leads, const schema::crm::MatchFields& fields);

/// Eight hex digits that change with the matching settings; part of every stored reason.
std::string match_settings_fingerprint(const schema::crm::MatchFields& fields);

}  // namespace giftsync::matching
