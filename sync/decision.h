// sync: to whom a gift belongs (Spec 6.4), asked of the CRM in as few calls as a batch can be; the choice
// itself is the matching room's. The same for the sync loop, for `giftsyncctl match` and for a rematch.
#pragma once

#include <string>
#include <vector>

#include "schema/crm.h"
#include "schema/store/gift_ledger.h"
#include "schema/store/sync_queue.h"

namespace giftsync::sync {

/// A gift's recipient as matching compares it.
schema::RecipientKeys recipient_keys(const schema::Gift& gift, const schema::MatchFields& fields);

/// The decision that would be made for each recipient now, in order. Deal Stage is the opportunity's stage as
/// it is now; sender fields are left empty.
std::vector<schema::MatchDecision> decide(schema::Crm& crm, const schema::MatchFields& fields,
                                          const std::vector<schema::RecipientKeys>& recipients);

/// Gives each decision that has a contact its opportunity, account and stage, and completes the reason.
void add_opportunities(schema::Crm& crm, const schema::MatchFields& fields,
                       std::vector<schema::MatchDecision>& decisions);

/// Deal Stage is what the stage was when the gift was sent: a decision made more than 24 h later cannot know
/// it and leaves it empty, with a warning (design 3.2).
void stamp_deal_stage(schema::MatchDecision& decision, schema::UtcMillis sent_at, schema::UtcMillis now);

/// Adds a line, unless it stands there already.
void add_warning(schema::MatchDecision& decision, const std::string& warning);
/// A line that begins with "Deal Stage", in place of what was said of it before; nothing more when empty.
void warn_of_deal_stage(schema::MatchDecision& decision, const std::string& warning);

schema::Associations associations_of(const schema::MatchDecision& decision);

}  // namespace giftsync::sync
