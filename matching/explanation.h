// matching: why one stands before another, in words; for stored reasons and for `giftsyncctl match`. Pure.
#pragma once

#include <string>
#include <vector>

#include "schema/crm.h"

namespace giftsync::matching {

/// "LastModifiedDate descending".
std::string order_words(const schema::OrderBy& order);

/// Why `later` stands after `earlier`: "its CloseDate 2026-03-01 comes after 2026-01-05". Empty values are
/// null.
std::string why_after(const std::string& later, const std::string& earlier, const schema::OrderBy& order);

/// What became of each candidate of a list, in its order: "chosen", or why not. `decided_before` is set when
/// an earlier step has decided already, as a phrase: "a contact matched by e-mail".
std::vector<std::string> verdicts(const std::vector<schema::Candidate>& candidates,
                                  const schema::OrderBy& order, const std::string& decided_before);
std::vector<std::string> verdicts(const std::vector<schema::Opportunity>& opportunities,
                                  const schema::OrderBy& order);

}  // namespace giftsync::matching
