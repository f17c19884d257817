// matching: explains why one candidate precedes another, for stored reasons and for `giftsyncctl match`.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "schema/crm/crm.h"

namespace giftsync::matching {

/// "LastModifiedDate descending".
std::string describe_order(const schema::crm::OrderBy& order);

/// Why `later` ranks below `earlier`: "its CloseDate 2026-03-01 ranks below 2026-01-05". Empty values are
/// null.
std::string explain_rank(const std::string& later, const std::string& earlier,
                         const schema::crm::OrderBy& order);

/// A sentence for two order values of a text field that are numbers; else empty.
std::string text_order_warning(const std::string& winner, const std::string& second,
                               const schema::crm::OrderBy& order);

/// A sentence for the two first rows when both have numbers that were ordered as text (MATCH-33), preceded by
/// a space; else empty.
template <class Row>
std::string text_order_warning(const Row& winner, const Row& second, const schema::crm::OrderBy& order) {
  return winner.order_is_text ? text_order_warning(winner.order_value, second.order_value, order) : "";
}

/// The outcome of each candidate of a list, in order: "chosen", or why not. `decided_before` is set when an
/// earlier step has decided, as a phrase: "a contact matched by e-mail".
std::vector<std::string> explain_outcomes(const std::vector<schema::crm::Candidate>& candidates,
                                          const schema::crm::OrderBy& order,
                                          const std::string& decided_before);
std::vector<std::string> explain_outcomes(const std::vector<schema::crm::Opportunity>& opportunities,
                                          const schema::crm::OrderBy& order);

}  // namespace giftsync::matching
