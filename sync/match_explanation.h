// sync: the match that would be decided for one recipient now, with everything that was compared (MATCH-4).
// `giftsyncctl match` and the console show it. Reads the CRM and writes nothing.
#pragma once

#include <string>
#include <vector>

#include "schema/crm/directory.h"
#include "schema/store/sync_queue.h"

namespace giftsync::sync {

struct MatchExplanation {
  schema::crm::RecipientMatchKeys keys;
  schema::crm::Candidates contacts;
  schema::crm::Candidates leads;
  std::vector<schema::crm::Opportunity> opportunities;  ///< of the chosen contact
  schema::store::MatchDecision decision;
};

/// At most one lookup each of contacts, leads and opportunities.
inline constexpr int kMaxExplanationLookups = 3;
MatchExplanation explain_match(schema::crm::Directory& directory, const schema::crm::MatchFields& fields,
                               const schema::crm::RecipientMatchKeys& keys);

/// For each list of candidates the earlier step that decided, as a phrase; empty when none did.
struct DecidedBefore {
  std::string contact_phone;
  std::string lead_email;
  std::string lead_phone;
};
DecidedBefore decided_before(const MatchExplanation& found);

}  // namespace giftsync::sync
