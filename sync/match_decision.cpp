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

std::vector<schema::store::MatchDecision> match_recipients(
    schema::crm::Crm& crm, const schema::crm::MatchFields& fields,
    const std::vector<schema::crm::RecipientMatchKeys>& recipients) {
  const std::vector<schema::crm::Candidates> contacts =
      crm.find_candidates(schema::crm::PersonObject::contact, recipients);
  std::vector<schema::crm::RecipientMatchKeys> without_contact;
  for (std::size_t i = 0; i < recipients.size(); ++i) {
    if (!matching::has_contact_match(contacts[i])) without_contact.push_back(recipients[i]);
  }
  std::vector<schema::crm::Candidates> leads;
  if (!without_contact.empty()) leads = crm.find_candidates(schema::crm::PersonObject::lead, without_contact);
  std::vector<schema::store::MatchDecision> decisions;
  std::size_t next_lead = 0;
  for (std::size_t i = 0; i < recipients.size(); ++i) {
    const schema::crm::Candidates none;
    const schema::crm::Candidates& lead =
        matching::has_contact_match(contacts[i]) ? none : leads[next_lead++];
    decisions.push_back(decision_of(matching::choose(recipients[i], contacts[i], lead, fields)));
  }
  add_opportunities(crm, fields, decisions);
  const std::string rules = " [rules " + matching::match_settings_fingerprint(fields) + "]";
  for (schema::store::MatchDecision& decision : decisions) decision.reason += rules;
  return decisions;
}

std::vector<schema::store::MatchDecision> match_gifts(schema::crm::Crm& crm,
                                                      const schema::crm::MatchFields& fields,
                                                      const std::vector<const schema::store::Gift*>& gifts) {
  std::vector<schema::crm::RecipientMatchKeys> recipients;
  for (const schema::store::Gift* gift : gifts)
    recipients.push_back({schema::email_key(gift->transaction.email),
                          schema::phone_key(gift->transaction.phone, fields.default_region)});
  return match_recipients(crm, fields, recipients);
}

void add_opportunities(schema::crm::Crm& crm, const schema::crm::MatchFields& fields,
                       std::vector<schema::store::MatchDecision>& decisions) {
  std::vector<std::string> contacts;
  std::vector<schema::store::MatchDecision*> with_contact;
  for (schema::store::MatchDecision& decision : decisions) {
    if (decision.contact_id.empty()) continue;
    contacts.push_back(decision.contact_id);
    with_contact.push_back(&decision);
  }
  std::vector<std::vector<schema::crm::Opportunity>> found(contacts.size());
  if (fields.opportunity.enabled && !contacts.empty()) found = crm.find_open_opportunities(contacts);
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

void set_associations(schema::store::MatchDecision& decision, const schema::Associations& links) {
  decision.contact_id = links.contact_id;
  decision.account_id = links.account_id;
  decision.lead_id = links.lead_id;
  decision.opportunity_id = links.opportunity_id;
}

void clear_lookup(schema::store::MatchDecision& decision, schema::GiftField lookup) {
  schema::Associations links = associations_of(decision);
  schema::clear_lookup(links, lookup);
  set_associations(decision, links);
  if (lookup == schema::GiftField::opportunity) decision.deal_stage.clear();
  if (lookup == schema::GiftField::sender) decision.sender_id.clear();
}

bool is_matched(const schema::Associations& links) {
  return !links.contact_id.empty() || !links.lead_id.empty();
}

schema::store::CrmSyncStatus status_before_write(const schema::Associations& links, bool skip_unmatched) {
  return skip_unmatched && !is_matched(links) ? schema::store::CrmSyncStatus::skipped
                                              : schema::store::CrmSyncStatus::decided;
}

}  // namespace giftsync::sync
