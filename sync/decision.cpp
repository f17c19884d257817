#include "sync/decision.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "matching/choice.h"
#include "matching/opportunity_choice.h"
#include "schema/address.h"

namespace giftsync::sync {
namespace {

schema::MatchDecision decision_of(matching::Choice choice) {
  schema::MatchDecision decision;
  decision.contact_id = std::move(choice.contact_id);
  decision.account_id = std::move(choice.account_id);
  decision.lead_id = std::move(choice.lead_id);
  decision.reason = std::move(choice.reason);
  return decision;
}

}  // namespace

schema::RecipientKeys recipient_keys(const schema::Gift& gift, const schema::MatchFields& fields) {
  return {schema::email_key(gift.transaction.email),
          schema::phone_key(gift.transaction.phone, fields.default_region)};
}

std::vector<schema::MatchDecision> decide(schema::Crm& crm, const schema::MatchFields& fields,
                                          const std::vector<schema::RecipientKeys>& recipients) {
  const std::vector<schema::Candidates> contacts =
      crm.find_candidates(schema::PersonObject::contact, recipients);
  std::vector<schema::RecipientKeys> without_contact;
  for (std::size_t i = 0; i < recipients.size(); ++i) {
    if (!matching::contact_decides(contacts[i])) without_contact.push_back(recipients[i]);
  }
  std::vector<schema::Candidates> leads;
  if (!without_contact.empty()) leads = crm.find_candidates(schema::PersonObject::lead, without_contact);
  std::vector<schema::MatchDecision> decisions;
  std::size_t next_lead = 0;
  for (std::size_t i = 0; i < recipients.size(); ++i) {
    const schema::Candidates none;
    const schema::Candidates& lead = matching::contact_decides(contacts[i]) ? none : leads[next_lead++];
    decisions.push_back(decision_of(matching::choose(recipients[i], contacts[i], lead, fields)));
  }
  add_opportunities(crm, fields, decisions);
  const std::string rules = " [rules " + matching::fingerprint(fields) + "]";
  for (schema::MatchDecision& decision : decisions) decision.reason += rules;
  return decisions;
}

void add_opportunities(schema::Crm& crm, const schema::MatchFields& fields,
                       std::vector<schema::MatchDecision>& decisions) {
  std::vector<std::string> contacts;
  std::vector<schema::MatchDecision*> with_contact;
  for (schema::MatchDecision& decision : decisions) {
    if (decision.contact_id.empty()) continue;
    contacts.push_back(decision.contact_id);
    with_contact.push_back(&decision);
  }
  std::vector<std::vector<schema::Opportunity>> found(contacts.size());
  if (fields.opportunity.enabled && !contacts.empty()) found = crm.open_opportunities(contacts);
  for (std::size_t i = 0; i < with_contact.size(); ++i) {
    schema::MatchDecision& decision = *with_contact[i];
    matching::OpportunityChoice choice =
        matching::choose_opportunity(decision.account_id, found[i], fields.opportunity);
    decision.opportunity_id = std::move(choice.opportunity_id);
    decision.account_id = std::move(choice.account_id);
    decision.deal_stage = std::move(choice.stage);
    decision.reason += choice.reason;
  }
}

void stamp_deal_stage(schema::MatchDecision& decision, schema::UtcMillis sent_at, schema::UtcMillis now) {
  if (decision.opportunity_id.empty() || now.value - sent_at.value <= schema::kDayMillis) return;
  decision.deal_stage.clear();
  warn_of_deal_stage(
      decision,
      "Deal Stage stays empty: the opportunity was found more than 24 hours after the gift was sent.");
}

void add_warning(schema::MatchDecision& decision, const std::string& warning) {
  if (decision.warnings.find(warning) != std::string::npos) return;
  if (!decision.warnings.empty()) decision.warnings += "\n";
  decision.warnings += warning;
}

void warn_of_deal_stage(schema::MatchDecision& decision, const std::string& warning) {
  const std::string before = std::exchange(decision.warnings, "");
  for (std::string_view left = before; !left.empty();) {
    const std::string line(left.substr(0, left.find('\n')));
    left.remove_prefix(std::min(left.size(), line.size() + 1));
    if (!line.starts_with("Deal Stage ")) add_warning(decision, line);
  }
  if (!warning.empty()) add_warning(decision, warning);
}

schema::Associations associations_of(const schema::MatchDecision& decision) {
  return {decision.contact_id, decision.account_id, decision.lead_id, decision.opportunity_id};
}

}  // namespace giftsync::sync
