#include "sync/match_decision.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "matching/choice.h"
#include "matching/opportunity_choice.h"
#include "schema/contact_normalization.h"

namespace giftsync::sync {
namespace {

schema::store::MatchDecision decision_of(matching::MatchChoice choice) {
  schema::store::MatchDecision decision;
  decision.contact_id = std::move(choice.contact_id);
  decision.account_id = std::move(choice.account_id);
  decision.lead_id = std::move(choice.lead_id);
  decision.reason = std::move(choice.reason);
  return decision;
}

}  // namespace

schema::crm::RecipientMatchKeys recipient_keys(const schema::store::Gift& gift,
                                               const schema::crm::MatchFields& fields) {
  return {schema::email_key(gift.transaction.email),
          schema::phone_key(gift.transaction.phone, fields.default_region)};
}

std::vector<schema::store::MatchDecision> match_recipients(
    schema::crm::Directory& directory, const schema::crm::MatchFields& fields,
    const std::vector<schema::crm::RecipientMatchKeys>& recipients) {
  return match_recipients(directory, fields, recipients, directory.look_up({recipients, {}}));
}

std::vector<schema::store::MatchDecision> match_recipients(
    schema::crm::Directory& directory, const schema::crm::MatchFields& fields,
    const std::vector<schema::crm::RecipientMatchKeys>& recipients, const schema::crm::DecisionFacts& facts) {
  std::vector<schema::store::MatchDecision> decisions;
  for (std::size_t i = 0; i < recipients.size(); ++i)
    decisions.push_back(
        decision_of(matching::choose(recipients[i], facts.contacts[i], facts.leads[i], fields)));
  add_opportunities(directory, fields, decisions);
  const std::string rules = " [rules " + matching::match_settings_fingerprint(fields) + "]";
  for (schema::store::MatchDecision& decision : decisions) decision.reason += rules;
  return decisions;
}

void add_opportunities(schema::crm::Directory& directory, const schema::crm::MatchFields& fields,
                       std::vector<schema::store::MatchDecision>& decisions) {
  std::vector<std::string> contacts;
  std::vector<schema::store::MatchDecision*> with_contact;
  for (schema::store::MatchDecision& decision : decisions) {
    if (decision.contact_id.empty()) continue;
    contacts.push_back(decision.contact_id);
    with_contact.push_back(&decision);
  }
  std::vector<std::vector<schema::crm::Opportunity>> found(contacts.size());
  if (fields.opportunity.enabled && !contacts.empty()) found = directory.find_open_opportunities(contacts);
  for (std::size_t i = 0; i < with_contact.size(); ++i) {
    schema::store::MatchDecision& decision = *with_contact[i];
    matching::OpportunityChoice choice =
        matching::choose_opportunity(decision.account_id, found[i], fields.opportunity);
    decision.opportunity_id = std::move(choice.opportunity_id);
    decision.account_id = std::move(choice.account_id);
    decision.deal_stage = std::move(choice.stage);
    decision.reason += choice.reason;
  }
}

void stamp_deal_stage(schema::store::MatchDecision& decision, platform::UtcMillis sent_at,
                      platform::UtcMillis now) {
  if (decision.opportunity_id.empty() || now.value - sent_at.value <= platform::kDayMillis) return;
  decision.deal_stage.clear();
  set_deal_stage_warning(
      decision,
      "Deal Stage stays empty: the opportunity was found more than 24 hours after the gift was sent.");
}

void add_warning(schema::store::MatchDecision& decision, const std::string& warning) {
  if (decision.warnings.find(warning) != std::string::npos) return;
  if (!decision.warnings.empty()) decision.warnings += "\n";
  decision.warnings += warning;
}

void set_deal_stage_warning(schema::store::MatchDecision& decision, const std::string& warning) {
  const std::string before = std::exchange(decision.warnings, "");
  for (std::string_view left = before; !left.empty();) {
    const std::string line(left.substr(0, left.find('\n')));
    left.remove_prefix(std::min(left.size(), line.size() + 1));
    if (!line.starts_with("Deal Stage ")) add_warning(decision, line);
  }
  if (!warning.empty()) add_warning(decision, warning);
}

schema::Associations associations_of(const schema::store::MatchDecision& decision) {
  return {decision.contact_id, decision.account_id, decision.lead_id, decision.opportunity_id};
}

}  // namespace giftsync::sync
