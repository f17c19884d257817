// sync: the next timer outcome of a gift that giftsync sent (LIFE-3, LIFE-4, LIFE-5, LIFE-6, LIFE-8).
// Pure, from the terms stamped on the gift and from its times:
//
//   sent, delivered, undelivered   expires unopened_days after Sent At
//   undelivered                    refunded undelivered_days later, unless it was sent again since
//   opened                         expires opened_days after Opened
//   expired                        refunded on refund_day of the next month, or at once
//   redeemed, donated, refunded    nothing
//
// The earlier of two applies. A gift without terms is external: its source is the authority.
#pragma once

#include <optional>

#include "schema/store/gift_requests.h"
#include "sync/lifecycle_terms.h"
#include "sync/status_rules.h"

namespace giftsync::sync {

struct DueOutcome {
  schema::Status status = schema::Status::expired;
  schema::Premise premise = schema::Premise::unopened;
  platform::UtcMillis at;
  friend bool operator==(const DueOutcome&, const DueOutcome&) = default;
};

std::optional<DueOutcome> next_outcome(const LifecycleTerms& terms, const FoldedStatus& state,
                                       std::optional<platform::UtcMillis> resent_at);

/// The same after `refused` was refused because an admin voided it: it is not decided again. For an
/// undelivered gift whose expiry was voided the refund remains.
std::optional<DueOutcome> alternative_outcome(const LifecycleTerms& terms, const FoldedStatus& state,
                                              std::optional<platform::UtcMillis> resent_at,
                                              const DueOutcome& refused);

/// A reminder day after `last_reminder_day`, of a gift that was mailed and is not opened.
struct DueReminder {
  std::int64_t day = 0;
  platform::UtcMillis at;
  friend bool operator==(const DueReminder&, const DueReminder&) = default;
};
/// The next one. If several have passed by `now`, only the last, so that downtime does not cause a burst of
/// mails. None at or after the outcome that ends the gift, and none while it is undelivered.
std::optional<DueReminder> next_reminder(const LifecycleTerms& terms, schema::SendMode mode,
                                         const FoldedStatus& state,
                                         std::optional<platform::UtcMillis> resent_at,
                                         std::int64_t last_reminder_day, platform::UtcMillis now);

/// When a timer must evaluate the gift: the earlier of its next outcome and its next reminder.
std::optional<platform::UtcMillis> next_timer_at(const schema::store::Gift& gift, const FoldedStatus& state);

/// Until when the gift can be accepted or donated; nullopt when it has ended or is external. Opening it may
/// change this.
std::optional<platform::UtcMillis> claimable_until(const schema::store::Gift& gift);
/// What ends a gift that can be accepted or donated in this state, which its row may not have yet, and when.
std::optional<DueOutcome> next_end(const schema::store::Gift& gift, const FoldedStatus& state);

/// The state that is stored in the gift's row.
FoldedStatus state_of(const schema::store::RecipientTransaction& transaction);

/// Claimed, expired or refunded.
bool is_ended(const FoldedStatus& state);

/// The terms that a gift is stamped with when it is sent. `unopened_link_days` replaces unopened_days for
/// gifts whose URLs the caller mails later.
schema::store::LifecycleStampFunction terms_stamper(const LifecycleTerms& terms,
                                                    std::int64_t unopened_link_days);

}  // namespace giftsync::sync
