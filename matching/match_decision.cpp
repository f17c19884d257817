#include "matching/match_decision.h"

#include <algorithm>
#include <set>
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
  const std::span<const crm::RecipientMatchKeys> match_keys(&keys, 1);
  MatchExplanation found{keys,
                         directory.find_candidates(PersonObject::contact, match_keys).front(),
                         directory.find_candidates(PersonObject::lead, match_keys).front(),
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

namespace {

struct ExplicitAssociations {
  store::MatchDecision* decision;
  const store::RequestRecordLink* request_link;
};

bool names_another_contact(const ExplicitAssociations& associations) {
  return !associations.request_link->contact_id.empty() &&
         associations.request_link->contact_id != associations.decision->contact_id;
}

bool names_another_lead(const ExplicitAssociations& associations) {
  return !names_another_contact(associations) && !associations.request_link->lead_id.empty() &&
         associations.request_link->lead_id != associations.decision->lead_id;
}

/// The named leads that were converted: matching finds none of them.
std::map<std::string, crm::ConvertedLead> converted_by_id(
    crm::Crm& crm, const std::vector<ExplicitAssociations>& explicit_associations) {
  std::vector<std::string> ids;
  for (const ExplicitAssociations& associations : explicit_associations) {
    if (names_another_lead(associations)) ids.push_back(associations.request_link->lead_id);
  }
  std::map<std::string, crm::ConvertedLead> found;
  if (ids.empty()) return found;
  for (crm::ConvertedLead& lead : crm.directory().find_converted_leads(ids))
    found.emplace(lead.lead_id, lead);
  return found;
}

/// The gift stays with the named lead until an admin moves it.
std::string describe_conversion(const crm::ConvertedLead& lead) {
  if (lead.contact_id.empty()) return " It has been converted without a contact.";
  if (!lead.contact_exists)
    return " It has been converted to contact " + lead.contact_id + ", which is not in the CRM.";
  return " It has been converted to contact " + lead.contact_id +
         ": \"giftsyncctl rematch --converted\" moves the gift there.";
}

/// Adds decisions for named contacts that matching did not find, as matching would make them.
std::map<std::string, store::MatchDecision> decisions_by_contact(
    crm::Crm& crm, const crm::MatchFields& fields,
    const std::vector<ExplicitAssociations>& explicit_associations) {
  std::vector<std::string> ids;
  for (const ExplicitAssociations& associations : explicit_associations) {
    if (names_another_contact(associations)) ids.push_back(associations.request_link->contact_id);
  }
  std::map<std::string, store::MatchDecision> found;
  if (ids.empty()) return found;
  std::vector<store::MatchDecision> decisions;
  for (const crm::Person& person : crm.request_records()->find_persons(crm::PersonObject::contact, ids)) {
    store::MatchDecision& decision = decisions.emplace_back();
    decision.contact_id = person.id;
    decision.account_id = person.account_id;
  }
  add_opportunities(crm.directory(), fields, decisions);
  for (store::MatchDecision& decision : decisions) found.emplace(decision.contact_id, std::move(decision));
  return found;
}

void apply_recipient(const ExplicitAssociations& associations,
                     const std::map<std::string, store::MatchDecision>& by_contact,
                     const std::map<std::string, crm::ConvertedLead>& converted) {
  store::MatchDecision& decision = *associations.decision;
  const store::RequestRecordLink& request_link = *associations.request_link;
  store::MatchDecision named;
  if (names_another_contact(associations)) {
    const auto found = by_contact.find(request_link.contact_id);
    if (found != by_contact.end()) named = found->second;
    named.contact_id = request_link.contact_id;
    named.reason = "The request record names contact " + request_link.contact_id + "." + named.reason;
  } else if (names_another_lead(associations)) {
    named.lead_id = request_link.lead_id;
    named.reason = "The request record names lead " + request_link.lead_id + ".";
    const auto lead = converted.find(request_link.lead_id);
    if (lead != converted.end()) named.reason += describe_conversion(lead->second);
  } else {
    return;
  }
  named.sender_id = decision.sender_id;
  named.warnings = decision.warnings;
  decision = std::move(named);
}

bool names_another_opportunity(const ExplicitAssociations& associations) {
  return !associations.request_link->opportunity_id.empty() &&
         associations.request_link->opportunity_id != associations.decision->opportunity_id;
}

/// The CRM's data of named opportunities, and which contacts have an account.
struct NamedRecords {
  std::map<std::string, crm::Opportunity> opportunities;
  std::set<std::string> contacts_with_account;
};

NamedRecords find_named_records(crm::Crm& crm,
                                const std::vector<ExplicitAssociations>& explicit_associations) {
  std::vector<std::string> opportunities;
  std::vector<std::string> contacts;
  for (const ExplicitAssociations& associations : explicit_associations) {
    if (!names_another_opportunity(associations)) continue;
    opportunities.push_back(associations.request_link->opportunity_id);
    if (!associations.decision->contact_id.empty()) contacts.push_back(associations.decision->contact_id);
  }
  NamedRecords named;
  if (opportunities.empty()) return named;
  for (crm::Opportunity& found : crm.request_records()->find_opportunities(opportunities))
    named.opportunities.emplace(found.id, found);
  if (contacts.empty()) return named;
  for (const crm::Person& person :
       crm.request_records()->find_persons(crm::PersonObject::contact, contacts)) {
    if (!person.account_id.empty()) named.contacts_with_account.insert(person.id);
  }
  return named;
}

void apply_opportunity(const ExplicitAssociations& associations, const NamedRecords& named) {
  if (!names_another_opportunity(associations)) return;
  store::MatchDecision& decision = *associations.decision;
  const auto found = named.opportunities.find(associations.request_link->opportunity_id);
  const crm::Opportunity opportunity =
      found == named.opportunities.end() ? crm::Opportunity() : found->second;
  decision.opportunity_id = associations.request_link->opportunity_id;
  decision.deal_stage = opportunity.stage;
  decision.reason += " The request record names opportunity " + decision.opportunity_id + ".";
  if (named.contacts_with_account.contains(decision.contact_id)) return;
  decision.account_id = opportunity.account_id;
  if (!decision.account_id.empty()) decision.reason += " Its account is " + decision.account_id + ".";
}

void apply_account_and_sender(const ExplicitAssociations& associations) {
  store::MatchDecision& decision = *associations.decision;
  const auto apply = [&](const std::string& id, std::string& target, const char* what) {
    if (id.empty() || id == target) return;
    target = id;
    decision.reason += std::string(" The request record names ") + what + " " + id + ".";
  };
  apply(associations.request_link->account_id, decision.account_id, "account");
  apply(associations.request_link->sender_id, decision.sender_id, "sender");
}

std::vector<std::string> ids_in(const RequestLinks& request_links,
                                std::string store::RequestRecordLink::*member) {
  std::vector<std::string> ids;
  for (const auto& [request, request_link] : request_links) {
    if (const std::string& id = request_link.*member; !id.empty()) ids.push_back(id);
  }
  return ids;
}

}  // namespace

RequestLinks request_links_of(store::RequestRecords& request_records,
                              const std::vector<const store::Gift*>& gifts) {
  std::vector<GiftRequestId> requests;
  for (const store::Gift* gift : gifts) requests.push_back(gift->request.id);
  RequestLinks request_links;
  for (store::RequestRecordGift& record_gift : request_records.find_gifts_by_request(requests))
    request_links.emplace(record_gift.gift_request, std::move(record_gift.link));
  return request_links;
}

void drop_missing_associations(crm::Crm& crm, RequestLinks& request_links) {
  using Link = store::RequestRecordLink;
  if (request_links.empty() || !crm.request_records()) return;
  std::set<std::string> existing;
  const std::vector<std::string> contacts = ids_in(request_links, &Link::contact_id);
  if (!contacts.empty()) {
    for (const auto& person : crm.request_records()->find_persons(crm::PersonObject::contact, contacts))
      existing.insert(person.id);
  }
  std::map<std::string, std::string> contact_of_lead;  // empty: converted without a contact
  const std::vector<std::string> leads = ids_in(request_links, &Link::lead_id);
  if (!leads.empty()) {
    for (const auto& person : crm.request_records()->find_persons(crm::PersonObject::lead, leads))
      existing.insert(person.id);
    for (const crm::ConvertedLead& lead : crm.directory().find_converted_leads(leads)) {
      existing.erase(lead.lead_id);
      contact_of_lead[lead.lead_id] = lead.contact_exists ? lead.contact_id : "";
    }
  }
  const std::vector<std::string> opportunities = ids_in(request_links, &Link::opportunity_id);
  if (!opportunities.empty()) {
    for (const auto& opportunity : crm.request_records()->find_opportunities(opportunities))
      existing.insert(opportunity.id);
  }
  const auto clear_if_missing = [&](std::string& id) {
    if (!existing.contains(id)) id.clear();
  };
  for (auto& [request, request_link] : request_links) {
    clear_if_missing(request_link.contact_id);
    const auto lead = contact_of_lead.find(request_link.lead_id);
    if (lead != contact_of_lead.end() && request_link.contact_id.empty())
      request_link.contact_id = lead->second;
    clear_if_missing(request_link.lead_id);
    clear_if_missing(request_link.opportunity_id);
  }
}

void apply_explicit_associations(crm::Crm& crm, const crm::MatchFields& fields,
                                 const std::vector<const store::Gift*>& gifts,
                                 const RequestLinks& request_links,
                                 std::vector<store::MatchDecision>& decisions) {
  std::vector<ExplicitAssociations> explicit_associations;
  for (std::size_t i = 0; i < gifts.size(); ++i) {
    const auto request_link = request_links.find(gifts[i]->request.id);
    if (request_link != request_links.end())
      explicit_associations.push_back({&decisions[i], &request_link->second});
  }
  if (explicit_associations.empty() || !crm.request_records()) return;  // they named rows of another CRM
  const auto by_contact = decisions_by_contact(crm, fields, explicit_associations);
  const auto converted = converted_by_id(crm, explicit_associations);
  for (const ExplicitAssociations& associations : explicit_associations)
    apply_recipient(associations, by_contact, converted);
  const NamedRecords named = find_named_records(crm, explicit_associations);
  for (const ExplicitAssociations& associations : explicit_associations) {
    apply_opportunity(associations, named);
    apply_account_and_sender(associations);
  }
}

}  // namespace giftsync::matching
