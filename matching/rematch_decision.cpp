#include "matching/rematch_decision.h"

#include <map>

#include "matching/explicit_associations.h"
#include "matching/match_decision.h"

namespace giftsync::matching {
namespace {

std::vector<const store::Gift*> gifts_of(const std::vector<LinkedGift>& linked) {
  std::vector<const store::Gift*> gifts;
  for (const LinkedGift& one : linked) gifts.push_back(one.gift);
  return gifts;
}

/// What the request records of these gifts name, without rows that the CRM no longer has.
RequestLinks current_request_links(store::Store& store, crm::Crm& crm, const std::vector<LinkedGift>& gifts) {
  RequestLinks request_links = request_links_of(store, gifts_of(gifts));
  drop_missing_associations(crm, request_links);
  for (const LinkedGift& one : gifts) {
    const auto request_link = request_links.find(one.gift->request.id);
    if (request_link == request_links.end()) continue;
    // The CRM refused this account before: do not use it again.
    if (one.sync_state->decision.account_id != request_link->second.account_id)
      request_link->second.account_id.clear();
  }
  return request_links;
}

NewMatch follow(const crm::ConvertedLead& lead) {
  if (lead.contact_id.empty()) return {std::nullopt, "its lead was converted without a contact"};
  if (!lead.contact_exists)
    return {std::nullopt,
            "its lead was converted to contact " + lead.contact_id + ", which is not in the CRM"};
  store::MatchDecision decision;
  decision.contact_id = lead.contact_id;
  decision.account_id = lead.account_id;
  decision.reason = "Lead " + lead.lead_id + " was converted to contact " + lead.contact_id +
                    (lead.contact_name.empty() ? "" : " (" + lead.contact_name + ")") + ".";
  return {std::move(decision), ""};
}

}  // namespace

std::vector<NewMatch> match_again(store::Store& store, crm::Crm& crm, const crm::MatchFields& fields,
                                  const std::vector<LinkedGift>& gifts) {
  std::vector<store::MatchDecision> decisions = match_gifts(crm.directory(), fields, gifts_of(gifts));
  const RequestLinks request_links = current_request_links(store, crm, gifts);
  apply_explicit_associations(crm, fields, gifts_of(gifts), request_links, decisions);
  std::vector<NewMatch> matches;
  for (store::MatchDecision& decision : decisions) matches.push_back({std::move(decision), ""});
  return matches;
}

std::vector<NewMatch> follow_converted_leads(store::Store& store, crm::Crm& crm,
                                             const crm::MatchFields& fields,
                                             const std::vector<LinkedGift>& gifts) {
  std::vector<std::string> ids;
  for (const LinkedGift& one : gifts) ids.push_back(one.sync_state->decision.lead_id);
  std::map<std::string, NewMatch> by_lead;
  for (const crm::ConvertedLead& lead : crm.directory().find_converted_leads(ids))
    by_lead[lead.lead_id] = follow(lead);
  std::vector<NewMatch> matches;
  std::vector<store::MatchDecision> decisions;
  std::vector<LinkedGift> converted;
  for (const LinkedGift& one : gifts) {
    const auto lead = by_lead.find(one.sync_state->decision.lead_id);
    matches.push_back(lead == by_lead.end() ? NewMatch() : lead->second);
    if (!matches.back().decision) continue;
    decisions.push_back(*matches.back().decision);
    converted.push_back(one);
  }
  if (converted.empty()) return matches;
  add_opportunities(crm.directory(), fields, decisions);
  RequestLinks request_links = current_request_links(store, crm, converted);
  for (auto& [request, request_link] : request_links) request_link.lead_id.clear();  // it is the contact now
  apply_explicit_associations(crm, fields, gifts_of(converted), request_links, decisions);
  auto next = decisions.begin();
  for (NewMatch& one : matches) {
    if (one.decision) one.decision = std::move(*next++);
  }
  return matches;
}

}  // namespace giftsync::matching
