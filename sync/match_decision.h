// sync: matches gifts with as few CRM calls per batch as possible (MATCH-4, MATCH-19). The choice itself is
// in matching/. The sync worker, `giftsyncctl match` and rematching use the same function.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "schema/crm/directory.h"
#include "schema/gift_record.h"
#include "schema/store/gift_requests.h"
#include "schema/store/sync_queue.h"

namespace giftsync::sync {

/// A gift's recipient, as matching compares it.
schema::crm::RecipientMatchKeys recipient_keys(const schema::store::Gift& gift,
                                               const schema::crm::MatchFields& fields);

/// The decision that matching makes for each recipient now, in order. Deal Stage is the opportunity's current
/// stage; sender fields are left empty.
std::vector<schema::store::MatchDecision> match_recipients(
    schema::crm::Directory& directory, const schema::crm::MatchFields& fields,
    const std::vector<schema::crm::RecipientMatchKeys>& recipients);
/// The same with the facts that were looked up for these recipients.
std::vector<schema::store::MatchDecision> match_recipients(
    schema::crm::Directory& directory, const schema::crm::MatchFields& fields,
    const std::vector<schema::crm::RecipientMatchKeys>& recipients, const schema::crm::DecisionFacts& facts);

/// The same for the recipients of these gifts.
std::vector<schema::store::MatchDecision> match_gifts(schema::crm::Directory& directory,
                                                      const schema::crm::MatchFields& fields,
                                                      const std::vector<const schema::store::Gift*>& gifts);

/// Adds opportunity, account and stage to each decision that has a contact, and completes the reason. Asks
/// the CRM only for contacts whose opportunities are not `known`.
void add_opportunities(schema::crm::Directory& directory, const schema::crm::MatchFields& fields,
                       std::vector<schema::store::MatchDecision>& decisions,
                       const schema::crm::KnownOpportunities& known = {});

/// Deal Stage is the stage at the time of sending. A decision made more than 24 h later cannot know it: it
/// leaves Deal Stage empty and adds a warning (MATCH-17).
void stamp_deal_stage(schema::store::MatchDecision& decision, platform::UtcMillis sent_at,
                      platform::UtcMillis now);

/// Adds a line, unless it is there already.
void add_warning(schema::store::MatchDecision& decision, const std::string& warning);
/// Replaces the line that begins with "Deal Stage" by `line`; removes it when `line` is empty.
void set_deal_stage_warning(schema::store::MatchDecision& decision, const std::string& warning);

schema::Associations associations_of(const schema::store::MatchDecision& decision);
/// Sets the four lookups and nothing else.
void set_associations(schema::store::MatchDecision& decision, const schema::Associations& links);
/// Clears a lookup, or the sender, that the CRM refused; Deal Stage goes with its opportunity.
void clear_lookup(schema::store::MatchDecision& decision, schema::GiftField lookup);

/// The four lookups that matching decides.
inline constexpr std::array kAssociationLookups{schema::GiftField::recipient_contact,
                                                schema::GiftField::account, schema::GiftField::recipient_lead,
                                                schema::GiftField::opportunity};

/// Whether a contact or lead was found.
bool is_matched(const schema::Associations& links);
/// The state of a gift that has no record yet. `skip_unmatched` is matching.on_no_match: skip.
schema::store::CrmSyncStatus status_before_write(const schema::Associations& links, bool skip_unmatched);

}  // namespace giftsync::sync
