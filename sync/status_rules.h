// sync: the status of a gift as a pure function of its changes (STATUS-3, STATUS-4): any order and any
// repetition of the same changes gives the same record. One time is kept for each status: the latest for
// delivered and undelivered (a resend may change either), the earliest for all others. The status is the
// first of these that has a time:
//
//   refunded  >  redeemed or donated (the earlier; at a tie redeemed)  >  expired  >  opened
//             >  delivered or undelivered (the later; at a tie undelivered)  >  sent
//
// A timer's expiry has a premise (unopened, unclaimed) and counts only while no earlier change contradicts
// the premise. Voided changes do not count. Contradicting changes stay in the history; the later one of the
// two is flagged:
//
//   redeemed, donated   after the other of the two; at or after expiry or refund
//   opened              at or after expiry or refund
//   expired, refunded   after redemption or donation; when its premise does not hold (a refund counts anyway)
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
  schema::StatusTimes times;  ///< only the earlier of redeemed and donated is set
  bool has_conflict = false;  ///< at least one change is flagged
  friend bool operator==(const FoldedStatus&, const FoldedStatus&) = default;
};

/// Folds all changes of a transaction, added as spans or one by one. `sent_at` is when the gift was sent; for
/// an external gift see external_sent_times.h. `untimed` is a status without a known time (of an adopted
/// record): it counts until there is a change of the same or a higher rank.
FoldedStatus fold(platform::UtcMillis sent_at, std::span<const schema::store::ChangeSpan> spans,
                  std::optional<schema::Status> untimed = std::nullopt);
FoldedStatus fold(platform::UtcMillis sent_at, std::span<const schema::store::StatusChange> changes,
                  std::optional<schema::Status> untimed = std::nullopt);
/// The span of this change alone.
schema::store::ChangeSpan span_of(const schema::store::StatusChange& change);

/// Why this change of the same transaction is flagged ("redeemed after it was donated"), as a phrase; empty
/// when it is not.
std::string conflict_reason(const schema::store::StatusChange& change,
                            std::span<const schema::store::StatusChange> changes);

/// Why a time is implausible (before 2000, or more than 24 h after it was received), as a phrase; empty when
/// it is plausible.
std::string time_error(platform::UtcMillis occurred_at, platform::UtcMillis received_at);

}  // namespace giftsync::sync
