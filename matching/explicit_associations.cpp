#include "matching/explicit_associations.h"

#include <set>
#include <string>

#include "matching/match_decision.h"

namespace giftsync::matching {
namespace {

struct ExplicitAssociations {
  store::MatchDecision* decision;
  const store::RequestRecordLink* request_link;
};

bool names_another_contact(const ExplicitAssociations& one) {
  return !one.request_link->contact_id.empty() && one.request_link->contact_id != one.decision->contact_id;
}

bool names_another_lead(const ExplicitAssociations& one) {
  return !names_another_contact(one) && !one.request_link->lead_id.empty() &&
         one.request_link->lead_id != one.decision->lead_id;
}

/// The named leads that were converted: matching finds none of them.
std::map<std::string, crm::ConvertedLead> converted_by_id(
    crm::Crm& crm, const std::vector<ExplicitAssociations>& explicit_associations) {
  std::vector<std::string> ids;
  for (const ExplicitAssociations& one : explicit_associations) {
    if (names_another_lead(one)) ids.push_back(one.request_link->lead_id);
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
  for (const ExplicitAssociations& one : explicit_associations) {
    if (names_another_contact(one)) ids.push_back(one.request_link->contact_id);
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

void apply_recipient(const ExplicitAssociations& one,
                     const std::map<std::string, store::MatchDecision>& by_contact,
                     const std::map<std::string, crm::ConvertedLead>& converted) {
  store::MatchDecision& decision = *one.decision;
  const store::RequestRecordLink& request_link = *one.request_link;
  store::MatchDecision named;
  if (names_another_contact(one)) {
    const auto found = by_contact.find(request_link.contact_id);
    if (found != by_contact.end()) named = found->second;
    named.contact_id = request_link.contact_id;
    named.reason = "The request record names contact " + request_link.contact_id + "." + named.reason;
  } else if (names_another_lead(one)) {
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

bool names_another_opportunity(const ExplicitAssociations& one) {
  return !one.request_link->opportunity_id.empty() &&
         one.request_link->opportunity_id != one.decision->opportunity_id;
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
  for (const ExplicitAssociations& one : explicit_associations) {
    if (!names_another_opportunity(one)) continue;
    opportunities.push_back(one.request_link->opportunity_id);
    if (!one.decision->contact_id.empty()) contacts.push_back(one.decision->contact_id);
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

void apply_opportunity(const ExplicitAssociations& one, const NamedRecords& named) {
  if (!names_another_opportunity(one)) return;
  store::MatchDecision& decision = *one.decision;
  const auto found = named.opportunities.find(one.request_link->opportunity_id);
  const crm::Opportunity opportunity =
      found == named.opportunities.end() ? crm::Opportunity() : found->second;
  decision.opportunity_id = one.request_link->opportunity_id;
  decision.deal_stage = opportunity.stage;
  decision.reason += " The request record names opportunity " + decision.opportunity_id + ".";
  if (named.contacts_with_account.contains(decision.contact_id)) return;
  decision.account_id = opportunity.account_id;
  if (!decision.account_id.empty()) decision.reason += " Its account is " + decision.account_id + ".";
}

void apply_account_and_sender(const ExplicitAssociations& one) {
  store::MatchDecision& decision = *one.decision;
  const auto apply = [&](const std::string& id, std::string& target, const char* what) {
    if (id.empty() || id == target) return;
    target = id;
    decision.reason += std::string(" The request record names ") + what + " " + id + ".";
  };
  apply(one.request_link->account_id, decision.account_id, "account");
  apply(one.request_link->sender_id, decision.sender_id, "sender");
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

RequestLinks request_links_of(store::Store& store, const std::vector<const store::Gift*>& gifts) {
  std::vector<GiftRequestId> requests;
  for (const store::Gift* gift : gifts) requests.push_back(gift->request.id);
  RequestLinks request_links;
  for (store::RequestRecordGift& one : store.request_records.find_gifts_by_request(requests))
    request_links.emplace(one.gift_request, std::move(one.link));
  return request_links;
}

void drop_missing_associations(crm::Crm& crm, RequestLinks& request_links) {
  using Link = store::RequestRecordLink;
  if (request_links.empty() || !crm.request_records()) return;
  std::set<std::string> existing;
  const std::vector<std::string> contacts = ids_in(request_links, &Link::contact_id);
  if (!contacts.empty()) {
    for (const auto& one : crm.request_records()->find_persons(crm::PersonObject::contact, contacts))
      existing.insert(one.id);
  }
  std::map<std::string, std::string> contact_of_lead;  // empty: converted without a contact
  const std::vector<std::string> leads = ids_in(request_links, &Link::lead_id);
  if (!leads.empty()) {
    for (const auto& one : crm.request_records()->find_persons(crm::PersonObject::lead, leads))
      existing.insert(one.id);
    for (const crm::ConvertedLead& lead : crm.directory().find_converted_leads(leads)) {
      existing.erase(lead.lead_id);
      contact_of_lead[lead.lead_id] = lead.contact_exists ? lead.contact_id : "";
    }
  }
  const std::vector<std::string> opportunities = ids_in(request_links, &Link::opportunity_id);
  if (!opportunities.empty()) {
    for (const auto& one : crm.request_records()->find_opportunities(opportunities)) existing.insert(one.id);
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
  for (const ExplicitAssociations& one : explicit_associations) apply_recipient(one, by_contact, converted);
  const NamedRecords named = find_named_records(crm, explicit_associations);
  for (const ExplicitAssociations& one : explicit_associations) {
    apply_opportunity(one, named);
    apply_account_and_sender(one);
  }
}

}  // namespace giftsync::matching
