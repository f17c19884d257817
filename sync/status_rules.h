// sync: what the changes of a transaction amount to (design 3.1). Pure: any order and any repetition of the
// same changes gives the same state.
//
// A transaction keeps one time for each status: the latest for delivered and undelivered (a resend may turn
// either), the earliest for all others. Then the first of these that has a time is the status:
//
//   refunded  >  redeemed or donated (the earlier; at a tie redeemed)  >  expired  >  opened
//             >  delivered or undelivered (the later; at a tie undelivered)  >  sent
#pragma once

#include <span>
#include <string>
#include <vector>

#include "schema/status_times.h"
#include "schema/store/change_log.h"

namespace giftsync::sync {

struct FoldedStatus {
  schema::Status status = schema::Status::sent;
  schema::StatusTimes times;  ///< of redeemed and donated only the winner's
  friend bool operator==(const FoldedStatus&, const FoldedStatus&) = default;
};

/// Folds all of a transaction's changes. `sent_at` is when the gift was sent; a report of "sent" does not
/// move it.
FoldedStatus fold(schema::UtcMillis sent_at, std::span<const schema::StatusChange> changes);

/// For one change of the same transaction: why it contradicts the others (redeemed after donated, redeemed
/// after expired...), as a sentence; empty when it does not.
std::string contradiction(const schema::StatusChange& change, std::span<const schema::StatusChange> changes);

/// Why a time is not believable (before 2000, or more than 24 h after it was received), as a phrase; empty
/// when it is.
std::string time_fault(schema::UtcMillis occurred_at, schema::UtcMillis received_at);

}  // namespace giftsync::sync
