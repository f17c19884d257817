#include "matching/explanation.h"

namespace giftsync::matching {

std::string order_words(const schema::OrderBy& order) {
  return order.field + (order.descending ? " descending" : " ascending");
}

std::string why_after(const std::string& later, const std::string& earlier, const schema::OrderBy& order) {
  if (later.empty() && earlier.empty()) return order.field + " is empty in both and its Id is higher";
  if (later.empty()) return "its " + order.field + " is empty, which comes last";
  // Text is ordered without case, so values may differ and yet be equal in order.
  if (later == earlier) return "its " + order.field + " is the same and its Id is higher";
  return "its " + order.field + " " + later + " comes after " + earlier + " (" + order_words(order) + ")";
}

std::vector<std::string> verdicts(const std::vector<schema::Candidate>& candidates,
                                  const schema::OrderBy& order, const std::string& decided_before) {
  std::vector<std::string> words;
  const schema::Candidate* chosen = nullptr;
  for (const schema::Candidate& candidate : candidates) {
    if (candidate.converted) {
      words.emplace_back("converted leads never match");
    } else if (!decided_before.empty()) {
      words.push_back(decided_before);
    } else if (!chosen) {
      chosen = &candidate;
      words.emplace_back("chosen");
    } else {
      words.push_back(why_after(candidate.order_value, chosen->order_value, order));
    }
  }
  return words;
}

std::vector<std::string> verdicts(const std::vector<schema::Opportunity>& opportunities,
                                  const schema::OrderBy& order) {
  std::vector<std::string> words;
  for (const schema::Opportunity& one : opportunities) {
    words.push_back(words.empty() ? "chosen"
                                  : why_after(one.order_value, opportunities.front().order_value, order));
  }
  return words;
}

}  // namespace giftsync::matching
