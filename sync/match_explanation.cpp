#include "sync/match_explanation.h"

#include <algorithm>

#include "matching/choice.h"
#include "sync/match_decision.h"

namespace giftsync::sync {
namespace {

using schema::crm::PersonObject;

bool has_open(const std::vector<schema::crm::Candidate>& candidates) {
  return std::any_of(candidates.begin(), candidates.end(),
                     [](const schema::crm::Candidate& c) { return !c.converted; });
}

}  // namespace

MatchExplanation explain_match(schema::crm::Directory& directory, const schema::crm::MatchFields& fields,
                               const schema::crm::RecipientMatchKeys& keys) {
  const std::span<const schema::crm::RecipientMatchKeys> one(&keys, 1);
  MatchExplanation found{keys,
                         directory.find_candidates(PersonObject::contact, one).front(),
                         directory.find_candidates(PersonObject::lead, one).front(),
                         {},
                         {}};
  schema::crm::DecisionFacts facts{{found.contacts}, {found.leads}, {}};
  const std::string contact = matching::choose(keys, found.contacts, found.leads, fields).contact_id;
  if (fields.opportunity.enabled && !contact.empty()) {
    found.opportunities = directory.find_open_opportunities(std::span(&contact, 1)).front();
    facts.opportunities[contact] = found.opportunities;
  }
  found.decision = match_recipients(directory, fields, {keys}, facts).front();
  return found;
}

DecidedBefore decided_before(const MatchExplanation& found) {
  DecidedBefore before;
  if (!found.contacts.by_email.empty())
    before.contact_phone = before.lead_email = "a contact matched by e-mail";
  else if (!found.contacts.by_phone.empty())
    before.lead_email = "a contact matched by phone";
  before.lead_phone = before.lead_email;
  if (before.lead_phone.empty() && has_open(found.leads.by_email))
    before.lead_phone = "a lead matched by e-mail";
  return before;
}

}  // namespace giftsync::sync
