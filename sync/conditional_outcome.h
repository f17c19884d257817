// sync: the outcomes that giftsync decides itself: redeem and donate on a page, cancel by an admin, expire
// and refund by a timer (STATUS-7, STATUS-8). Each is an ordinary change, but it is accepted only if the
// gift, folded from everything accepted so far, still allows it. The decision and the insert are one
// transaction, so exactly one of many concurrent outcomes wins. Reports of external sources are always
// accepted.
#pragma once

#include <memory>

#include "schema/store/change_log.h"
#include "sync/status_rules.h"

namespace giftsync::sync {

/// Whether a gift in that state allows a change:
///   redeemed, donated             not claimed, expired or refunded
///   expired                       not claimed, not refunded, not expired by that time; with the premise
///                                 `unopened` not opened before that time
///   refunded as `expired`         expired and not claimed
///   refunded as `undelivered`     its status is undelivered
///   refunded without a premise    an admin cancels it: as for redeemed
///   anything else                 always: it is no outcome
bool allows(const FoldedStatus& state, const schema::store::StatusChange& change);

struct OutcomeResult {
  schema::store::ConditionalOutcome outcome = schema::store::ConditionalOutcome::unknown_transaction;
  /// The state after the decision; it includes the change when it was accepted. When it was refused, this is
  /// the state that the "already X" response names.
  FoldedStatus state;
};

/// A decision that another thread may make, and its result.
class PendingOutcome {
 public:
  PendingOutcome(schema::store::StatusChange change, schema::store::TransactionEffect effect);

  const schema::store::Decision& decision() const { return decision_; }
  /// After the decision was made.
  OutcomeResult result(schema::store::ConditionalOutcome outcome) const;

 private:
  /// Of the last time that the decision ran; it runs again when its transaction does.
  struct States {
    FoldedStatus before;
    FoldedStatus with_change;
  };
  std::shared_ptr<States> states_;
  schema::store::Decision decision_;
};

/// Decides, and if the gift allows it accepts the change and runs `effect`, in one transaction. An outcome
/// that was accepted is refused the second time, so a repetition is harmless.
OutcomeResult apply_conditional_outcome(schema::store::ChangeLog& log,
                                        const schema::store::StatusChange& change,
                                        const schema::store::TransactionEffect& effect = {});

}  // namespace giftsync::sync
