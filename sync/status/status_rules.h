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

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "schema/enums.h"
#include "schema/store/gift/change_log.h"

namespace giftsync::sync {

struct FoldedStatus {
  Status status = Status::sent;
  StatusTimes times;          ///< only the earlier of redeemed and donated is set
  bool has_conflict = false;  ///< at least one change is flagged
  friend bool operator==(const FoldedStatus&, const FoldedStatus&) = default;
};

/// Folds all changes of a transaction, added as spans or one by one. `sent_at` is when the gift was sent; for
/// an external gift see reported_sent_times() in sync/crm/gift_record_draft.h. `untimed` is a status without
/// a known time (of an adopted record): it counts until there is a change of the same or a higher rank.
FoldedStatus fold(UtcMillis sent_at, std::span<const store::ChangeSpan> spans,
                  std::optional<Status> untimed = std::nullopt);
FoldedStatus fold(UtcMillis sent_at, std::span<const store::StatusChange> changes,
                  std::optional<Status> untimed = std::nullopt);
/// The status of a gift with these times, as above; one without any was sent.
Status status_of(const StatusTimes& times);
/// The span of this change alone.
store::ChangeSpan span_of(const store::StatusChange& change);

/// Why this change of the same transaction is flagged ("redeemed after it was donated"), as a phrase; empty
/// when it is not.
std::string conflict_reason(const store::StatusChange& change, std::span<const store::StatusChange> changes);

/// Why a time is implausible (before 2000, or more than 24 h after it was received), as a phrase; empty when
/// it is plausible.
std::string time_error(UtcMillis occurred_at, UtcMillis received_at);

// Summary of one gift's changes: for each status and premise the first and the last time. Intervals
// only widen, so changes may be added in any order and repeatedly. The fold and the conflict flags are
// computed from it. Part of status_rules.

class StatusIntervals {
 public:
  using Time = std::optional<UtcMillis>;

  void add(Status status, Premise premise, UtcMillis earliest, UtcMillis latest);

  /// Over all premises.
  Time earliest(Status status) const;
  Time latest(Status status) const;
  /// The earliest of the expiries that count.
  Time expired() const;
  /// The earlier of redeemed and donated.
  Time claimed() const;

  /// Whether the other changes contradict an expiry or refund with this premise and time.
  bool is_denied(Status status, Premise premise, UtcMillis time) const;
  /// Why a change is flagged; empty when it is not.
  std::string conflict_reason(Status status, Premise premise, UtcMillis time) const;
  /// Whether any added change is flagged.
  bool has_any_conflict() const;

 private:
  struct Span {
    UtcMillis earliest;
    UtcMillis latest;
  };
  using Spans = std::array<std::optional<Span>, kAllPremises.size()>;
  const Spans& of(Status status) const { return spans_[static_cast<std::size_t>(status)]; }
  /// Which of the two claims of a claimed gift counts.
  Status claim_status() const;
  Time opened_or_claimed() const;
  bool was_redelivered(UtcMillis before) const;

  std::array<Spans, kAllStatuses.size()> spans_;
};

// The outcomes that giftsync decides itself: redeem and donate on a page, cancel by an admin, expire
// and refund by a timer (STATUS-7, STATUS-8). Each is an ordinary change, but it is accepted only if the
// gift, folded from everything accepted so far, still allows it. The decision and the insert are one
// transaction, so exactly one of many concurrent outcomes wins. Reports of external sources are always
// accepted.

/// Whether a gift in that state allows a change:
///   redeemed, donated             not claimed, expired or refunded
///   expired                       not claimed, not refunded, not expired by that time; with the premise
///                                 `unopened` not opened before that time
///   refunded as `expired`         expired and not claimed
///   refunded as `undelivered`     its status is undelivered
///   refunded without a premise    an admin cancels it: as for redeemed
///   anything else                 always: it is no outcome
bool allows(const FoldedStatus& state, const store::StatusChange& change);

struct OutcomeResult {
  store::ConditionalOutcome outcome = store::ConditionalOutcome::unknown_transaction;
  /// The state after the decision; it includes the change when it was accepted. When it was refused, this is
  /// the state that the "already X" response names.
  FoldedStatus state;
};

/// A decision that another thread may make, and its result.
class PendingOutcome {
 public:
  PendingOutcome(store::StatusChange change, store::TransactionEffect effect);

  const store::Decision& decision() const { return decision_; }
  /// After the decision was made.
  OutcomeResult result(store::ConditionalOutcome outcome) const;

 private:
  /// The states when the decision ran last; it runs again when its transaction does.
  struct States {
    FoldedStatus before;
    FoldedStatus with_change;
  };
  std::shared_ptr<States> states_;
  store::Decision decision_;
};

/// Decides, and if the gift allows it accepts the change and runs `effect`, in one transaction. An outcome
/// that was accepted is refused the second time, so a repetition is harmless.
OutcomeResult apply_conditional_outcome(store::ChangeLog& log, const store::StatusChange& change,
                                        const store::TransactionEffect& effect = {});

}  // namespace giftsync::sync
