// crm/salesforce: writes rows in as few calls as the governor allows, and gives each row its answer. A
// call whose answer was lost is sent once more as it was, which is safe for rows that a unique field or a
// version guards: a row that was created answers DUPLICATE_VALUE then. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "crm/salesforce/calls/composite.h"
#include "crm/salesforce/calls/org_calls.h"

namespace giftsync::salesforce {

struct RowWrite {
  RowAnswer answer;
  bool was_repeated = false;            ///< the first answer was lost: the row may have been written before
  std::string reason;                   ///< why there is no answer
  std::int64_t retry_after_millis = 0;  ///< without an answer: no call is made before

  /// The result of a row without an answer.
  std::string unanswered_reason() const;
};

/// One for each row, in their order. Rows that refer to others (WriteRow::refers_to) are written only where
/// one call can have all of them; otherwise, and where the org refuses them, that says nothing of the others.
/// Throws giftsync::DependencyError when no row was answered and the fault
/// is none of a row, and where the org shows no row a field or object that all name; otherwise rows without
/// an answer say why.
std::vector<RowWrite> write_rows(OrgCalls& calls, std::span<const WriteRow> rows, CallPurpose purpose);

/// What became of the part at a position: null, with the reason, when its answer was lost.
using TakePart = std::function<void(std::size_t at, const CompositePart* part, const std::string& reason)>;
/// Writes the parts in as few calls as they need. A call whose answer was lost is not repeated. Throws as
/// OrgCalls::write().
void write_parts(OrgCalls& calls, std::span<const PartRequest> parts, CallPurpose purpose,
                 const TakePart& take);

}  // namespace giftsync::salesforce
