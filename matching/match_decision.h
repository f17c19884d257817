// matching: matches gifts with as few CRM calls per batch as possible (MATCH-4, MATCH-19). The choice itself
// is in matching/choice. The sync worker, `giftsyncctl match` and rematching use the same function.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "crm/crm.h"
#include "crm/directory.h"
#include "schema/gift_record.h"
#include "schema/store/gift/gift_requests.h"
#include "schema/store/gift/sync_queue.h"
#include "schema/store/store.h"

namespace giftsync::matching {

/// A gift's recipient, as matching compares it.
crm::RecipientMatchKeys recipient_keys(const store::Gift& gift, const crm::MatchFields& fields);

/// The decision that matching makes for each recipient now, in order. Deal Stage is the opportunity's current
/// stage; sender fields are left empty.
std::vector<store::MatchDecision> match_recipients(crm::Directory& directory, const crm::MatchFields& fields,
                                                   const std::vector<crm::RecipientMatchKeys>& recipients);
/// The same with the facts that were looked up for these recipients.
std::vector<store::MatchDecision> match_recipients(crm::Directory& directory, const crm::MatchFields& fields,
                                                   const std::vector<crm::RecipientMatchKeys>& recipients,
                                                   const crm::DecisionFacts& facts);

/// The same for the recipients of these gifts.
std::vector<store::MatchDecision> match_gifts(crm::Directory& directory, const crm::MatchFields& fields,
                                              const std::vector<const store::Gift*>& gifts);

/// Adds opportunity, account and stage to each decision that has a contact, and completes the reason. Asks
/// the CRM only for contacts whose opportunities are not `known`.
void add_opportunities(crm::Directory& directory, const crm::MatchFields& fields,
                       std::vector<store::MatchDecision>& decisions,
                       const crm::KnownOpportunities& known = {});

/// Deal Stage is the stage at the time of sending. A decision made more than 24 h later cannot know it: it
/// leaves Deal Stage empty and adds a warning (MATCH-17).
void stamp_deal_stage(store::MatchDecision& decision, UtcMillis sent_at, UtcMillis now);

/// Adds a line, unless it is there already.
void add_warning(store::MatchDecision& decision, const std::string& warning);
/// Replaces the line that begins with "Deal Stage" by `line`; removes it when `line` is empty.
void set_deal_stage_warning(store::MatchDecision& decision, const std::string& warning);

Associations associations_of(const store::MatchDecision& decision);
/// Sets the four lookups and nothing else.
void set_associations(store::MatchDecision& decision, const Associations& links);
/// Clears a lookup, or the sender, that the CRM refused; Deal Stage goes with its opportunity.
void clear_lookup(store::MatchDecision& decision, GiftField lookup);

/// The four lookups that matching decides.
inline constexpr std::array kAssociationLookups{GiftField::recipient_contact, GiftField::account,
                                                GiftField::recipient_lead, GiftField::opportunity};

/// Whether a contact or lead was found.
bool is_matched(const Associations& links);
/// The state of a gift that has no record yet. `skip_unmatched` is matching.on_no_match: skip.
store::CrmSyncStatus status_before_write(const Associations& links, bool skip_unmatched);

// The match that would be decided for one recipient now, with everything that was compared
// (MATCH-4). `giftsyncctl match` and the console show it. Reads the CRM and writes nothing.

struct MatchExplanation {
  crm::RecipientMatchKeys keys;
  crm::Candidates contacts;
  crm::Candidates leads;
  std::vector<crm::Opportunity> opportunities;  ///< of the chosen contact
  store::MatchDecision decision;
};

/// At most one lookup each of contacts, leads and opportunities.
inline constexpr int kMaxExplanationLookups = 3;
MatchExplanation explain_match(crm::Directory& directory, const crm::MatchFields& fields,
                               const crm::RecipientMatchKeys& keys);

/// For each list of candidates the earlier step that decided, as a phrase; empty when none did.
struct DecidedBefore {
  std::string contact_phone;
  std::string lead_email;
  std::string lead_phone;
};
DecidedBefore decided_before(const MatchExplanation& found);

// Associations that a request record names itself are not matched: recipient, account, opportunity
// and sender of its gift record (MATCH-22, REQ-28). They apply to the first decision and to every rematch.

/// The explicit associations of gifts that were sent for request records, by gift request.
using RequestLinks = std::map<GiftRequestId, store::RequestRecordLink>;
RequestLinks request_links_of(store::RequestRecords& request_records,
                              const std::vector<const store::Gift*>& gifts);

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
