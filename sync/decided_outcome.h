// sync: the outcomes that giftsync decides itself (design 3.1): redeem and donate on a page, cancel by an
// admin, expire and refund by a timer. Each is a change like any other, but it is accepted only if the gift,
// as folded from everything accepted so far, still allows it; deciding and writing it down are one step, so
// of many at once exactly one wins. Reports from outside are never asked: they say what has happened.
#pragma once

#include "schema/store/change_log.h"
#include "sync/status_rules.h"

namespace giftsync::sync {

/// Whether a gift in that state allows a change:
///   redeemed, donated                nobody has claimed it, and it is neither expired nor refunded
///   expired                          nobody has claimed it, it is not refunded and was not expired by that
///                                    time; with the premise `unopened` it was not opened before it either
///   refunded as `expired`            it is expired, and nobody has claimed it
///   refunded as `undelivered`        its status is undelivered
///   refunded without a premise       an admin cancels it: as for redeemed
///   anything else                    always: it is no outcome
bool allows(const FoldedStatus& state, const schema::StatusChange& change);

struct Decided {
  schema::DecidedOutcome outcome = schema::DecidedOutcome::unknown_transaction;
  /// What now stands, with the change when it was accepted; when it was refused this is the "already X" to
  /// answer.
  FoldedStatus stands;
};

/// Decides, and when the gift allows it accepts the change with whatever `hand_out` writes, in one
/// transaction. An outcome accepted once is refused the second time, so repeating does no harm.
Decided decide_outcome(schema::ChangeLog& log, const schema::StatusChange& change,
                       const schema::HandOut& hand_out = {});

}  // namespace giftsync::sync
