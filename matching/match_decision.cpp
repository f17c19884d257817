#include "matching/match_decision.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "matching/choice.h"

namespace giftsync::matching {
namespace {

store::MatchDecision decision_of(matching::MatchChoice choice) {
  store::MatchDecision decision;
  decision.contact_id = std::move(choice.contact_id);
  decision.account_id = std::move(choice.account_id);
  decision.lead_id = std::move(choice.lead_id);
  decision.reason = std::move(choice.reason);
  return decision;
}

/// For each contact.
std::vector<std::vector<crm::Opportunity>> open_opportunities(crm::Directory& directory,
                                                              const std::vector<std::string>& contacts,
                                                              const crm::KnownOpportunities& known) {
  std::vector<std::vector<crm::Opportunity>> found(contacts.size());
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
  std::vector<std::vector<crm::Opportunity>> asked = directory.find_open_opportunities(unknown);
  for (std::size_t i = 0; i < positions.size(); ++i) found[positions[i]] = std::move(asked[i]);
  return found;
}

}  // namespace

crm::RecipientMatchKeys recipient_keys(const store::Gift& gift, const crm::MatchFields& fields) {
  return crm::match_keys_of(gift.transaction.email, gift.transaction.phone, fields.default_region);
}

std::vector<store::MatchDecision> match_recipients(crm::Directory& directory, const crm::MatchFields& fields,
                                                   const std::vector<crm::RecipientMatchKeys>& recipients) {
  return match_recipients(directory, fields, recipients, directory.look_up({recipients, {}}));
}

std::vector<store::MatchDecision> match_recipients(crm::Directory& directory, const crm::MatchFields& fields,
                                                   const std::vector<crm::RecipientMatchKeys>& recipients,
                                                   const crm::DecisionFacts& facts) {
  std::vector<store::MatchDecision> decisions;
  for (std::size_t i = 0; i < recipients.size(); ++i)
    decisions.push_back(
        decision_of(matching::choose(recipients[i], facts.contacts[i], facts.leads[i], fields)));
  add_opportunities(directory, fields, decisions, facts.opportunities);
  const std::string rules = " [rules " + matching::match_settings_fingerprint(fields) + "]";
  for (store::MatchDecision& decision : decisions) decision.reason += rules;
  return decisions;
}

std::vector<store::MatchDecision> match_gifts(crm::Directory& directory, const crm::MatchFields& fields,
                                              const std::vector<const store::Gift*>& gifts) {
  std::vector<crm::RecipientMatchKeys> recipients;
  for (const store::Gift* gift : gifts) recipients.push_back(recipient_keys(*gift, fields));
  return match_recipients(directory, fields, recipients);
}

void add_opportunities(crm::Directory& directory, const crm::MatchFields& fields,
                       std::vector<store::MatchDecision>& decisions, const crm::KnownOpportunities& known) {
  std::vector<std::string> contacts;
  std::vector<store::MatchDecision*> with_contact;
  for (store::MatchDecision& decision : decisions) {
    if (decision.contact_id.empty()) continue;
    contacts.push_back(decision.contact_id);
    with_contact.push_back(&decision);
  }
  std::vector<std::vector<crm::Opportunity>> found(contacts.size());
  if (fields.opportunity.enabled) found = open_opportunities(directory, contacts, known);
  for (std::size_t i = 0; i < with_contact.size(); ++i) {
    store::MatchDecision& decision = *with_contact[i];
    matching::OpportunityChoice choice =
        matching::choose_opportunity(decision.account_id, found[i], fields.opportunity);
    decision.opportunity_id = std::move(choice.opportunity_id);
    decision.account_id = std::move(choice.account_id);
    decision.deal_stage = std::move(choice.stage);
    decision.reason += choice.reason;
  }
}

void stamp_deal_stage(store::MatchDecision& decision, UtcMillis sent_at, UtcMillis now) {
  if (decision.opportunity_id.empty() || now.value - sent_at.value <= kDayMillis) return;
  decision.deal_stage.clear();
  set_deal_stage_warning(
      decision,
      "Deal Stage stays empty: the opportunity was found more than 24 hours after the gift was sent.");
}

void add_warning(store::MatchDecision& decision, const std::string& warning) {
  if (decision.warnings.find(warning) != std::string::npos) return;
  if (!decision.warnings.empty()) decision.warnings += "\n";
  decision.warnings += warning;
}

void set_deal_stage_warning(store::MatchDecision& decision, const std::string& warning) {
  const std::string before = std::exchange(decision.warnings, "");
  for (std::string_view left = before; !left.empty();) {
    const std::string line(left.substr(0, left.find('\n')));
    left.remove_prefix(std::min(left.size(), line.size() + 1));
    if (!line.starts_with("Deal Stage ")) add_warning(decision, line);
  }
  if (!warning.empty()) add_warning(decision, warning);
}

Associations associations_of(const store::MatchDecision& decision) {
  return {decision.contact_id, decision.account_id, decision.lead_id, decision.opportunity_id};
}

void set_associations(store::MatchDecision& decision, const Associations& links) {
  decision.contact_id = links.contact_id;
  decision.account_id = links.account_id;
  decision.lead_id = links.lead_id;
  decision.opportunity_id = links.opportunity_id;
}

void clear_lookup(store::MatchDecision& decision, GiftField lookup) {
  Associations links = associations_of(decision);
  giftsync::clear_lookup(links, lookup);
  set_associations(decision, links);
  if (lookup == GiftField::opportunity) decision.deal_stage.clear();
  if (lookup == GiftField::sender) decision.sender_id.clear();
}

bool is_matched(const Associations& links) {
  return !links.contact_id.empty() || !links.lead_id.empty();
}

store::CrmSyncStatus status_before_write(const Associations& links, bool skip_unmatched) {
  return skip_unmatched && !is_matched(links) ? store::CrmSyncStatus::skipped : store::CrmSyncStatus::decided;
}

namespace {

using crm::PersonObject;

bool has_open(const std::vector<crm::Candidate>& candidates) {
  return std::any_of(candidates.begin(), candidates.end(),
                     [](const crm::Candidate& c) { return !c.converted; });
}

}  // namespace

MatchExplanation explain_match(crm::Directory& directory, const crm::MatchFields& fields,
                               const crm::RecipientMatchKeys& keys) {
  const std::span<const crm::RecipientMatchKeys> one(&keys, 1);
  MatchExplanation found{keys,
                         directory.find_candidates(PersonObject::contact, one).front(),
                         directory.find_candidates(PersonObject::lead, one).front(),
                         {},
                         {}};
  crm::DecisionFacts facts{{found.contacts}, {found.leads}, {}};
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

}  // namespace giftsync::matching
