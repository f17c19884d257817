#include "matching/explanation.h"

#include "schema/crm/number_text.h"

namespace giftsync::matching {

std::string describe_order(const schema::crm::OrderBy& order) {
  return order.field + (order.descending ? " descending" : " ascending");
}

std::string explain_rank(const std::string& later, const std::string& earlier,
                         const schema::crm::OrderBy& order) {
  if (later.empty() && earlier.empty()) return order.field + " is empty in both and its Id is higher";
  if (later.empty()) return "its " + order.field + " is empty, which comes last";
  // Text order ignores case, so different values may be equal in order.
  if (later == earlier) return "its " + order.field + " is the same and its Id is higher";
  return "its " + order.field + " " + later + " ranks below " + earlier + " (" + describe_order(order) + ")";
}

std::string text_order_warning(const std::string& winner, const std::string& second,
                               const schema::crm::OrderBy& order) {
  using schema::crm::normalize_number;
  if (winner == second || !normalize_number(winner) || !normalize_number(second)) return {};
  return " " + order.field +
         " is a text field, so these numbers are ordered as text, 10 before 9; giftsyncctl crm check tells "
         "how "
         "to change that.";
}

std::vector<std::string> explain_outcomes(const std::vector<schema::crm::Candidate>& candidates,
                                          const schema::crm::OrderBy& order,
                                          const std::string& decided_before) {
  std::vector<std::string> outcomes;
  const schema::crm::Candidate* chosen = nullptr;
  for (const schema::crm::Candidate& candidate : candidates) {
    if (candidate.converted) {
      outcomes.emplace_back("converted leads never match");
    } else if (!decided_before.empty()) {
      outcomes.push_back(decided_before);
    } else if (!chosen) {
      chosen = &candidate;
      outcomes.emplace_back("chosen");
    } else {
      outcomes.push_back(explain_rank(candidate.order_value, chosen->order_value, order));
    }
  }
  return outcomes;
}

std::vector<std::string> explain_outcomes(const std::vector<schema::crm::Opportunity>& opportunities,
                                          const schema::crm::OrderBy& order) {
  std::vector<std::string> outcomes;
  for (const schema::crm::Opportunity& opportunity : opportunities) {
    outcomes.push_back(outcomes.empty()
                           ? "chosen"
                           : explain_rank(opportunity.order_value, opportunities.front().order_value, order));
  }
  return outcomes;
}

}  // namespace giftsync::matching
