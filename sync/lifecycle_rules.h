// sync: what comes next in the life of a gift of ours, and when (design 3.6). Pure, over the terms that were
// stamped on it and its times:
//
//   sent, delivered, undelivered   expires unopened_days after Sent At
//   undelivered                    refunded undelivered_days after, unless it was sent again since
//   opened                         expires opened_days after Opened
//   expired                        refunded at the beginning of refund_day of the next month, or at once
//   redeemed, donated, refunded    nothing
//
// Of two the earlier. A gift without terms was sent elsewhere: its source is the authority.
#pragma once

#include <optional>

#include "schema/store/gift_ledger.h"
#include "sync/lifecycle_terms.h"
#include "sync/status_rules.h"

namespace giftsync::sync {

struct DueOutcome {
  schema::Status status = schema::Status::expired;
  schema::Premise premise = schema::Premise::unopened;
  schema::UtcMillis at;
  friend bool operator==(const DueOutcome&, const DueOutcome&) = default;
};

std::optional<DueOutcome> next_outcome(const LifecycleTerms& terms, const FoldedStatus& state,
                                       std::optional<schema::UtcMillis> resent_at);

/// The same once `refused` was refused: an admin has voided it, and it is not decided again. Of an
/// undelivered gift whose expiry was voided, the refund is left.
std::optional<DueOutcome> outcome_instead(const LifecycleTerms& terms, const FoldedStatus& state,
                                          std::optional<schema::UtcMillis> resent_at,
                                          const DueOutcome& refused);

/// A reminder day after `reminded_day`, of a gift that was mailed and that nobody has opened.
struct DueReminder {
  std::int64_t day = 0;
  schema::UtcMillis at;
  friend bool operator==(const DueReminder&, const DueReminder&) = default;
};
/// The next one; of several that have passed by `now` the last, so that a stop of the daemon does not end in
/// a heap of mails. None at or after the outcome that ends the gift, nor while it is undelivered.
std::optional<DueReminder> next_reminder(const LifecycleTerms& terms, schema::SendMode mode,
                                         const FoldedStatus& state,
                                         std::optional<schema::UtcMillis> resent_at,
                                         std::int64_t reminded_day, schema::UtcMillis now);

/// When a timer is to look at a gift that stands so: the earlier of its next outcome and reminder.
std::optional<schema::UtcMillis> next_look(const schema::Gift& gift, const FoldedStatus& state);

/// Until when the gift may be accepted or donated, as things stand; nothing when it is over, or was sent
/// elsewhere. Opening it may move this.
std::optional<schema::UtcMillis> claimable_until(const schema::Gift& gift);

/// What the gift's row tells of its state.
FoldedStatus state_of(const schema::RecipientTransaction& transaction);

/// Somebody has claimed it, or it expired or was refunded.
bool is_over(const FoldedStatus& state);

/// What a gift is stamped with when it is sent. `unopened_link_days` takes the place of unopened_days for
/// gifts whose URLs the caller mails later.
schema::LifeStampOf stamp_of(const LifecycleTerms& terms, std::int64_t unopened_link_days);

}  // namespace giftsync::sync
