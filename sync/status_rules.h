// sync: the status of a gift as a pure function of its changes (design 3.1), so that any order and any
// repetition of the same changes gives the same record. Per status one time is kept: the latest for delivered
// and undelivered (a resend may turn either), the earliest for all others. Then the first of these that has a
// time is the status:
//
//   refunded  >  redeemed or donated (the earlier; at a tie redeemed)  >  expired  >  opened
//             >  delivered or undelivered (the later; at a tie undelivered)  >  sent
//
// A timer's expiry rests on a premise (unopened, unclaimed) and counts only while no fact dated before it
// says otherwise. Changes that were voided count for nothing. What contradicts something else stays in the
// history, flagged; the later of the two is the one that is flagged:
//
//   redeemed, donated   after the other of the two; at or after expiry or refund
//   opened              at or after expiry or refund
//   expired, refunded   after redemption or donation; when its premise does not hold (a refund stands even
//   so)
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/status_times.h"
#include "schema/store/change_log.h"

namespace giftsync::sync {

struct FoldedStatus {
  schema::Status status = schema::Status::sent;
  schema::StatusTimes times;   ///< of redeemed and donated only the winner's
  bool contradictory = false;  ///< at least one change is flagged
  friend bool operator==(const FoldedStatus&, const FoldedStatus&) = default;
};

/// Folds all of a transaction's changes, given as spans or one by one. `sent_at` is when the gift was sent:
/// ours when giftsync says so, one from outside as sending_times.h reads it off its reports. `untimed` is a
/// status that is known without its time (of an adopted record): it counts until a change that ranks as high
/// tells more.
FoldedStatus fold(schema::UtcMillis sent_at, std::span<const schema::ChangeSpan> spans,
                  std::optional<schema::Status> untimed = std::nullopt);
FoldedStatus fold(schema::UtcMillis sent_at, std::span<const schema::StatusChange> changes);

/// For one change of the same transaction: why it is flagged ("redeemed after it was donated"), as a phrase;
/// empty when it is not.
std::string contradiction(const schema::StatusChange& change, std::span<const schema::StatusChange> changes);

/// Why a time is not believable (before 2000, or more than 24 h after it was received), as a phrase; empty
/// when it is.
std::string time_fault(schema::UtcMillis occurred_at, schema::UtcMillis received_at);

}  // namespace giftsync::sync
