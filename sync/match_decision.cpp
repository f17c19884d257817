#include "sync/match_decision.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "matching/choice.h"
#include "matching/opportunity_choice.h"

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

/// For each contact.
std::vector<std::vector<schema::crm::Opportunity>> open_opportunities(
    schema::crm::Directory& directory, const std::vector<std::string>& contacts,
    const schema::crm::KnownOpportunities& known) {
  std::vector<std::vector<schema::crm::Opportunity>> found(contacts.size());
  std::vector<std::string> unknown;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    if (const auto at = known.find(contacts[i]); at != known.end()) {
      found[i] = at->second;
      continue;
    }
    unknown.push_back(contacts[i]);
    positions.push_back(i);
  }
  if (unknown.empty()) return found;
  std::vector<std::vector<schema::crm::Opportunity>> asked = directory.find_open_opportunities(unknown);
  for (std::size_t i = 0; i < positions.size(); ++i) found[positions[i]] = std::move(asked[i]);
  return found;
}

}  // namespace

schema::crm::RecipientMatchKeys recipient_keys(const schema::store::Gift& gift,
                                               const schema::crm::MatchFields& fields) {
  return schema::crm::match_keys_of(gift.transaction.email, gift.transaction.phone, fields.default_region);
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
  add_opportunities(directory, fields, decisions, facts.opportunities);
  const std::string rules = " [rules " + matching::match_settings_fingerprint(fields) + "]";
  for (schema::store::MatchDecision& decision : decisions) decision.reason += rules;
  return decisions;
}

std::vector<schema::store::MatchDecision> match_gifts(schema::crm::Directory& directory,
                                                      const schema::crm::MatchFields& fields,
                                                      const std::vector<const schema::store::Gift*>& gifts) {
  std::vector<schema::crm::RecipientMatchKeys> recipients;
  for (const schema::store::Gift* gift : gifts) recipients.push_back(recipient_keys(*gift, fields));
  return match_recipients(directory, fields, recipients);
}

void add_opportunities(schema::crm::Directory& directory, const schema::crm::MatchFields& fields,
                       std::vector<schema::store::MatchDecision>& decisions,
                       const schema::crm::KnownOpportunities& known) {
  std::vector<std::string> contacts;
  std::vector<schema::store::MatchDecision*> with_contact;
  for (schema::store::MatchDecision& decision : decisions) {
    if (decision.contact_id.empty()) continue;
    contacts.push_back(decision.contact_id);
    with_contact.push_back(&decision);
  }
  std::vector<std::vector<schema::crm::Opportunity>> found(contacts.size());
  if (fields.opportunity.enabled) found = open_opportunities(directory, contacts, known);
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
