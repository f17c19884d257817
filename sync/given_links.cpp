#include "sync/given_links.h"

#include <map>
#include <string>

#include "sync/decision.h"

namespace giftsync::sync {
namespace {

using schema::MatchDecision;
using schema::RequestOrigin;

bool names_another_contact(const GivenLinks& one) {
  return !one.origin->contact_id.empty() && one.origin->contact_id != one.decision->contact_id;
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

void take_recipient(const GivenLinks& one, const std::map<std::string, MatchDecision>& by_contact) {
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
  } else if (!origin.lead_id.empty() && origin.lead_id != decision.lead_id) {
    MatchDecision named;
    named.lead_id = origin.lead_id;
    named.sender_id = decision.sender_id;
    named.warnings = decision.warnings;
    named.reason = "The request record names lead " + origin.lead_id + ".";
    decision = std::move(named);
  }
}

void take_rest(const GivenLinks& one) {
  MatchDecision& decision = *one.decision;
  const RequestOrigin& origin = *one.origin;
  const auto take = [&](const std::string& id, std::string& place, const char* what) {
    if (id.empty() || id == place) return;
    place = id;
    decision.reason += std::string(" The request record names ") + what + " " + id + ".";
  };
  if (!origin.opportunity_id.empty() && origin.opportunity_id != decision.opportunity_id)
    decision.deal_stage.clear();
  take(origin.account_id, decision.account_id, "account");
  take(origin.opportunity_id, decision.opportunity_id, "opportunity");
  take(origin.sender_id, decision.sender_id, "sender");
}

}  // namespace

void apply_given_links(schema::Crm& crm, const schema::MatchFields& fields,
                       const std::vector<GivenLinks>& given) {
  const auto by_contact = decisions_by_contact(crm, fields, given);
  for (const GivenLinks& one : given) {
    take_recipient(one, by_contact);
    take_rest(one);
  }
}

}  // namespace giftsync::sync
