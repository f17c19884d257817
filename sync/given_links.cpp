#include "sync/given_links.h"

#include <set>
#include <string>

#include "sync/decision.h"

namespace giftsync::sync {
namespace {

using schema::MatchDecision;
using schema::RequestOrigin;

bool names_another_contact(const GivenLinks& one) {
  return !one.origin->contact_id.empty() && one.origin->contact_id != one.decision->contact_id;
}

bool names_another_lead(const GivenLinks& one) {
  return !names_another_contact(one) && !one.origin->lead_id.empty() &&
         one.origin->lead_id != one.decision->lead_id;
}

/// Of the leads that are named, those that were converted: matching finds none of them.
std::map<std::string, schema::ConvertedLead> converted_by_id(schema::Crm& crm,
                                                             const std::vector<GivenLinks>& given) {
  std::vector<std::string> ids;
  for (const GivenLinks& one : given) {
    if (names_another_lead(one)) ids.push_back(one.origin->lead_id);
  }
  std::map<std::string, schema::ConvertedLead> found;
  if (ids.empty()) return found;
  for (schema::ConvertedLead& lead : crm.converted_leads(ids)) found.emplace(lead.lead_id, lead);
  return found;
}

/// The gift stays with the lead that is named until an admin moves it on.
std::string conversion_in_words(const schema::ConvertedLead& lead) {
  if (lead.contact_id.empty()) return " It has been converted without a contact.";
  if (!lead.contact_exists)
    return " It has been converted to contact " + lead.contact_id + ", which is not in the CRM.";
  return " It has been converted to contact " + lead.contact_id +
         ": \"giftsyncctl rematch --converted\" moves the gift there.";
}

/// Decisions on contacts that matching did not find, made as it would.
std::map<std::string, MatchDecision> decisions_by_contact(schema::Crm& crm, const schema::MatchFields& fields,
                                                          const std::vector<GivenLinks>& given) {
  std::vector<std::string> ids;
  for (const GivenLinks& one : given) {
    if (names_another_contact(one)) ids.push_back(one.origin->contact_id);
  }
  std::map<std::string, MatchDecision> found;
  if (ids.empty()) return found;
  std::vector<MatchDecision> decisions;
  for (const schema::Person& person : crm.find_people(schema::PersonObject::contact, ids)) {
    MatchDecision& decision = decisions.emplace_back();
    decision.contact_id = person.id;
    decision.account_id = person.account_id;
  }
  add_opportunities(crm, fields, decisions);
  for (MatchDecision& decision : decisions) found.emplace(decision.contact_id, std::move(decision));
  return found;
}

void take_recipient(const GivenLinks& one, const std::map<std::string, MatchDecision>& by_contact,
                    const std::map<std::string, schema::ConvertedLead>& converted) {
  MatchDecision& decision = *one.decision;
  const RequestOrigin& origin = *one.origin;
  if (names_another_contact(one)) {
    const auto found = by_contact.find(origin.contact_id);
    MatchDecision named = found == by_contact.end() ? MatchDecision() : found->second;
    named.contact_id = origin.contact_id;
    named.sender_id = decision.sender_id;
    named.warnings = decision.warnings;
    named.reason = "The request record names contact " + origin.contact_id + "." + named.reason;
    decision = std::move(named);
  } else if (names_another_lead(one)) {
    MatchDecision named;
    named.lead_id = origin.lead_id;
    named.sender_id = decision.sender_id;
    named.warnings = decision.warnings;
    named.reason = "The request record names lead " + origin.lead_id + ".";
    const auto lead = converted.find(origin.lead_id);
    if (lead != converted.end()) named.reason += conversion_in_words(lead->second);
    decision = std::move(named);
  }
}

bool names_another_opportunity(const GivenLinks& one) {
  return !one.origin->opportunity_id.empty() && one.origin->opportunity_id != one.decision->opportunity_id;
}

/// What the CRM has of the opportunities that are named, and which contacts have an account of their own.
struct Named {
  std::map<std::string, schema::Opportunity> opportunities;
  std::set<std::string> contacts_with_account;
};

Named look_up_named(schema::Crm& crm, const std::vector<GivenLinks>& given) {
  std::vector<std::string> opportunities;
  std::vector<std::string> contacts;
  for (const GivenLinks& one : given) {
    if (!names_another_opportunity(one)) continue;
    opportunities.push_back(one.origin->opportunity_id);
    if (!one.decision->contact_id.empty()) contacts.push_back(one.decision->contact_id);
  }
  Named named;
  if (opportunities.empty()) return named;
  for (schema::Opportunity& found : crm.find_opportunities(opportunities))
    named.opportunities.emplace(found.id, found);
  if (contacts.empty()) return named;
  for (const schema::Person& person : crm.find_people(schema::PersonObject::contact, contacts)) {
    if (!person.account_id.empty()) named.contacts_with_account.insert(person.id);
  }
  return named;
}

void take_opportunity(const GivenLinks& one, const Named& named) {
  if (!names_another_opportunity(one)) return;
  MatchDecision& decision = *one.decision;
  const auto found = named.opportunities.find(one.origin->opportunity_id);
  const schema::Opportunity opportunity =
      found == named.opportunities.end() ? schema::Opportunity() : found->second;
  decision.opportunity_id = one.origin->opportunity_id;
  decision.deal_stage = opportunity.stage;
  decision.reason += " The request record names opportunity " + decision.opportunity_id + ".";
  if (named.contacts_with_account.contains(decision.contact_id)) return;
  decision.account_id = opportunity.account_id;
  if (!decision.account_id.empty()) decision.reason += " Its account is " + decision.account_id + ".";
}

void take_account_and_sender(const GivenLinks& one) {
  MatchDecision& decision = *one.decision;
  const auto take = [&](const std::string& id, std::string& place, const char* what) {
    if (id.empty() || id == place) return;
    place = id;
    decision.reason += std::string(" The request record names ") + what + " " + id + ".";
  };
  take(one.origin->account_id, decision.account_id, "account");
  take(one.origin->sender_id, decision.sender_id, "sender");
}

void keep_existing(std::string& id, const std::set<std::string>& existing) {
  if (!existing.contains(id)) id.clear();
}

}  // namespace

std::map<schema::GiftRequestId, RequestOrigin> origins_of(schema::Store& store,
                                                          const std::vector<const schema::Gift*>& gifts) {
  std::vector<schema::GiftRequestId> requests;
  for (const schema::Gift* gift : gifts) requests.push_back(gift->request.id);
  std::map<schema::GiftRequestId, RequestOrigin> origins;
  for (schema::SentRequest& one : store.requests.origins(requests))
    origins.emplace(one.gift_request, std::move(one.origin));
  return origins;
}

void forget_vanished(schema::Crm& crm, std::map<schema::GiftRequestId, RequestOrigin>& origins) {
  if (origins.empty() || !crm.has_requests()) return;
  std::vector<std::string> contacts;
  std::vector<std::string> leads;
  std::vector<std::string> opportunities;
  for (const auto& [request, origin] : origins) {
    if (!origin.contact_id.empty()) contacts.push_back(origin.contact_id);
    if (!origin.lead_id.empty()) leads.push_back(origin.lead_id);
    if (!origin.opportunity_id.empty()) opportunities.push_back(origin.opportunity_id);
  }
  std::set<std::string> existing;
  if (!contacts.empty()) {
    for (const auto& one : crm.find_people(schema::PersonObject::contact, contacts)) existing.insert(one.id);
  }
  std::map<std::string, std::string> contact_of_lead;  // empty: converted without one
  if (!leads.empty()) {
    for (const auto& one : crm.find_people(schema::PersonObject::lead, leads)) existing.insert(one.id);
    for (const schema::ConvertedLead& lead : crm.converted_leads(leads)) {
      existing.erase(lead.lead_id);
      contact_of_lead[lead.lead_id] = lead.contact_exists ? lead.contact_id : "";
    }
  }
  if (!opportunities.empty()) {
    for (const auto& one : crm.find_opportunities(opportunities)) existing.insert(one.id);
  }
  for (auto& [request, origin] : origins) {
    keep_existing(origin.contact_id, existing);
    if (const auto lead = contact_of_lead.find(origin.lead_id);
        lead != contact_of_lead.end() && origin.contact_id.empty())
      origin.contact_id = lead->second;
    keep_existing(origin.lead_id, existing);
    keep_existing(origin.opportunity_id, existing);
  }
}

void apply_given_links(schema::Crm& crm, const schema::MatchFields& fields,
                       const std::vector<GivenLinks>& given) {
  if (given.empty() || !crm.has_requests()) return;  // they named rows of another CRM
  const auto by_contact = decisions_by_contact(crm, fields, given);
  const auto converted = converted_by_id(crm, given);
  for (const GivenLinks& one : given) take_recipient(one, by_contact, converted);
  const Named named = look_up_named(crm, given);
  for (const GivenLinks& one : given) {
    take_opportunity(one, named);
    take_account_and_sender(one);
  }
}

}  // namespace giftsync::sync
