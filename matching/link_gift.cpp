#include "matching/link_gift.h"

#include "matching/match_decision.h"
#include "schema/ids.h"

namespace giftsync::matching {
namespace {

using store::MatchDecision;
using TargetKind = LinkTarget::Kind;

bool is_linked_so(const store::CrmSyncState& now, const LinkTarget& target) {
  if (target.kind == TargetKind::by_rules) return now.linked_by.empty();
  const std::string contact = target.kind == TargetKind::contact ? target.id : "";
  const std::string lead = target.kind == TargetKind::lead ? target.id : "";
  return !now.linked_by.empty() && long_crm_id(now.decision.contact_id) == contact &&
         long_crm_id(now.decision.lead_id) == lead;
}

/// What follows from a contact: its account and its open opportunity, as matching would choose them. Nullopt:
/// the CRM has no such contact.
std::optional<MatchDecision> decision_for_contact(crm::Crm& crm, const RematchRules& rules,
                                                  const std::string& contact) {
  const auto accounts = crm.directory().find_accounts_of_contacts(std::span(&contact, 1));
  if (!accounts.front()) return std::nullopt;
  std::vector<MatchDecision> decisions(1);
  decisions.front().contact_id = contact;
  decisions.front().account_id = *accounts.front();
  add_opportunities(crm.directory(), rules.match_fields, decisions);
  return decisions.front();
}

std::optional<MatchDecision> decision_for_lead(crm::Crm& crm, const std::string& lead) {
  MatchDecision decision;
  decision.lead_id = lead;
  const Associations links = associations_of(decision);
  if (!crm.gift_records().missing_lookups(std::span(&links, 1)).front().empty()) return std::nullopt;
  return decision;
}

std::optional<MatchDecision> decision_for(crm::Crm& crm, const RematchRules& rules,
                                          const LinkTarget& target) {
  if (target.kind == TargetKind::contact) return decision_for_contact(crm, rules, target.id);
  if (target.kind == TargetKind::lead) return decision_for_lead(crm, target.id);
  return MatchDecision{};
}

LinkOutcome::Kind kind_of(RematchResult::Kind kind) {
  switch (kind) {
    case RematchResult::Kind::unchanged:  // its record was right; who linked it is stored
    case RematchResult::Kind::relinked:
      return LinkOutcome::Kind::linked;
    case RematchResult::Kind::to_create:
      return LinkOutcome::Kind::to_create;
    default:
      return LinkOutcome::Kind::not_changed;
  }
}

}  // namespace

LinkOutcome link_gift(store::Store& store, crm::Crm& crm, RematchRules rules, LinkOrder order,
                      UtcMillis now) {
  using Kind = LinkOutcome::Kind;
  order.target.id = long_crm_id(order.target.id);
  const auto before = store.sync.find_states(std::span(&order.gift, 1));
  if (before.empty())
    return {store.gifts.find(std::span(&order.gift, 1)).empty() ? Kind::unknown : Kind::undecided};
  if (is_linked_so(before.front(), order.target)) return {Kind::already};
  rules.overwrite_corrections = true;
  rules.replaces_link = true;
  if (order.target.kind != TargetKind::by_rules) {
    auto decision = decision_for(crm, rules, order.target);
    if (!decision) return {Kind::no_target};
    rules.link = AdminLink{std::move(*decision), order.actor, order.reason};
  }
  RematchResult match = rematch(store, crm, rules, before, now).front();
  const Kind kind = kind_of(match.kind);
  return {kind, std::move(match)};
}

}  // namespace giftsync::matching
