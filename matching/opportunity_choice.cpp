#include "matching/opportunity_choice.h"

#include "matching/explanation.h"

namespace giftsync::matching {
namespace {

std::string describe(const schema::crm::Opportunity& opportunity) {
  return opportunity.id + (opportunity.name.empty() ? "" : " (" + opportunity.name + ")");
}

std::string winner_reason(std::span<const schema::crm::Opportunity> ordered,
                          const schema::crm::OrderBy& order) {
  const schema::crm::Opportunity& winner = ordered.front();
  std::string reason = " Opportunity " + describe(winner) + ", stage " +
                       (winner.stage.empty() ? "empty" : winner.stage) + ": ";
  if (ordered.size() == 1) return reason + "the only open one of the contact's roles.";
  return reason + "the first of " + std::to_string(ordered.size()) + " open ones of the contact's roles by " +
         describe_order(order) + ", then Id; next is " + describe(ordered[1]) + ", because " +
         explain_rank(ordered[1].order_value, winner.order_value, order) + "." +
         text_order_warning(winner, ordered[1], order);
}

}  // namespace

OpportunityChoice choose_opportunity(const std::string& contact_account,
                                     std::span<const schema::crm::Opportunity> opportunities,
                                     const schema::crm::OpportunityMatching& rules) {
  if (!rules.enabled) return {"", contact_account, "", " Opportunity matching is off."};
  if (opportunities.empty())
    return {"", contact_account, "", " The contact's roles have no open opportunity."};
  const schema::crm::Opportunity& winner = opportunities.front();
  OpportunityChoice choice{winner.id, contact_account, winner.stage,
                           winner_reason(opportunities, rules.order_by)};
  if (contact_account.empty() && !winner.account_id.empty()) {
    choice.account_id = winner.account_id;
    choice.reason += " The account is the opportunity's.";
  }
  return choice;
}

}  // namespace giftsync::matching
