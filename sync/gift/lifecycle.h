// sync: the lifecycle of a gift: what its timers do, and the step that does it. The next timer outcome of a
// gift that giftsync sent (LIFE-3, LIFE-4, LIFE-5, LIFE-6, LIFE-8). Pure, from the terms stamped on the gift
// and from its times:
//
//   sent, delivered, undelivered   expires unopened_days after Sent At
//   undelivered                    refunded undelivered_days later, unless it was sent again since
//   opened                         expires opened_days after Opened
//   expired                        refunded on refund_day of the next month, or at once
//   redeemed, donated, refunded    nothing
//
// An expiry before the gift's extended_until is then (LIFE-23). The earlier of two applies. A gift without
// terms is external: its source is the authority.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/log_line.h"
#include "platform/time.h"
#include "schema/store/gift/gift_requests.h"
#include "schema/store/mail/lifecycle_store.h"
#include "schema/store/store.h"
#include "sync/status/status_rules.h"

namespace giftsync::sync {

// The lifecycle terms of a gift (LIFE-2). The current terms are stamped on a gift as text when it is
// sent, so that a changed setting never affects a gift that was sent before.

struct LifecycleTerms {
  std::int64_t unopened_days = 30;    ///< from Sent At until an unopened gift expires
  std::int64_t opened_days = 365;     ///< from Opened until an unclaimed gift expires
  std::int64_t undelivered_days = 7;  ///< until an undelivered gift is refunded, unless it is sent again
  std::int64_t refund_day = 10;       ///< of the next month, when an expired gift is refunded; 0: at once
  std::string time_zone = "UTC";      ///< of refund_day
  std::vector<std::int64_t> reminder_days;  ///< after Sent At, rising
  friend bool operator==(const LifecycleTerms&, const LifecycleTerms&) = default;
};

/// "unopened=30 opened=365 undelivered=7 refund=10 zone=Europe/Berlin remind=7,21"
std::string format_terms(const LifecycleTerms& terms);
/// Nullopt for an empty text (an external gift) and for a text that format_terms did not write.
std::optional<LifecycleTerms> parse_terms(std::string_view text);

struct DueOutcome {
  Status status = Status::expired;
  Premise premise = Premise::unopened;
  UtcMillis at;
  friend bool operator==(const DueOutcome&, const DueOutcome&) = default;
};

/// `extended_until`: of the gift; of one that was never extended nothing.
std::optional<DueOutcome> next_outcome(const LifecycleTerms& terms, const FoldedStatus& state,
                                       std::optional<UtcMillis> resent_at,
                                       std::optional<UtcMillis> extended_until = std::nullopt);

/// The same after `refused` was refused because an admin voided it: it is not decided again. For an
/// undelivered gift whose expiry was voided the refund remains.
std::optional<DueOutcome> alternative_outcome(const LifecycleTerms& terms, const FoldedStatus& state,
                                              std::optional<UtcMillis> resent_at, const DueOutcome& refused,
                                              std::optional<UtcMillis> extended_until = std::nullopt);

/// A reminder day after `last_reminder_day`, of a gift that was mailed and is not opened.
struct DueReminder {
  std::int64_t day = 0;
  UtcMillis at;
  friend bool operator==(const DueReminder&, const DueReminder&) = default;
};
/// The next one. If several have passed by `now`, only the last, so that downtime does not cause a burst of
/// mails. None at or after the outcome that ends the gift, and none while it is undelivered.
std::optional<DueReminder> next_reminder(const LifecycleTerms& terms, SendMode mode,
                                         const FoldedStatus& state, std::optional<UtcMillis> resent_at,
                                         std::int64_t last_reminder_day, UtcMillis now,
                                         std::optional<UtcMillis> extended_until = std::nullopt);

/// When a timer must evaluate the gift: the earlier of its next outcome and its next reminder.
std::optional<UtcMillis> next_timer_at(const store::Gift& gift, const FoldedStatus& state);

/// Until when the gift can be accepted or donated; nullopt when it has ended or is external. Opening it may
/// change this.
std::optional<UtcMillis> claimable_until(const store::Gift& gift);
/// What ends a gift that can be accepted or donated in this state, which its row may not have yet, and when.
std::optional<DueOutcome> next_end(const store::Gift& gift, const FoldedStatus& state);

/// The state that is stored in the gift's row.
FoldedStatus state_of(const store::RecipientTransaction& transaction);

/// Claimed, expired or refunded.
bool is_ended(const FoldedStatus& state);

/// The terms that a gift is stamped with when it is sent. `unopened_link_days` replaces unopened_days for
/// gifts whose URLs the caller mails later.
store::LifecycleStampFunction terms_stamper(const LifecycleTerms& terms, std::int64_t unopened_link_days);

// Calendar days of a time zone, from the system's zone data. A day begins at its first moment: where
// the clocks jump over 00:00 that is the jump; where 00:00 occurs twice it is the first one.

/// Whether the system knows this IANA name ("Europe/Berlin", "UTC").
bool is_time_zone(const std::string& name);

/// The clock of a zone at a moment.
struct LocalTime {
  int year = 0;
  int month = 1;  ///< 1 to 12
  int day = 1;
  int hour = 0;
  int minute = 0;
  int second = 0;
};
/// UTC if the system does not know the zone.
LocalTime local_time(const std::string& zone, UtcMillis time);

/// The beginning of day `day` (1 to 28) of the month after the month of `time`, all in that zone. UTC if the
/// system no longer knows the zone.
UtcMillis start_of_day_next_month(const std::string& zone, UtcMillis time, int day);

// One run of the lifecycle timers: gifts that are due are expired, refunded or reminded (LIFE-9,
// LIFE-10). Each outcome is decided from everything accepted by then, under its gift's lock, and dated with
// its due time. So it does not matter when the step runs, how often, or in how many daemons.

struct LifecycleStepStats {
  std::size_t expired = 0;
  std::size_t refunded = 0;
  std::size_t reminded = 0;         ///< reminders enqueued in the mail outbox
  bool more = false;                ///< more gifts may be due
  std::vector<LogLine> warnings{};  ///< one for each gift whose timer the store refuses
};

/// One transaction of the store: short, because a caller's write may wait for it (SQLite).
inline constexpr std::size_t kMaxDuePerStep = 500;

/// Processes at most `limit` gifts in one transaction. If the store refuses it, it processes each of them
/// in its own, and those that fail are tried again in an hour. Throws DependencyError when the
/// store fails; outcomes decided before remain, the others stay due.
LifecycleStepStats lifecycle_step(store::LifecycleStore& lifecycle, UtcMillis now,
                                  std::size_t limit = kMaxDuePerStep);

// What a timer decides about a gift that is due (LIFE-9, LIFE-10, LIFE-12, LIFE-14, LIFE-22): an
// outcome, a reminder, or only when to look again. Pure: the store locks the gift, asks, and writes the
// answer in the same transaction.

/// `due`: a gift with everything accepted so far. `refused`: outcomes that an admin voided, as the log
/// found; they are not decided again, and a gift without another outcome waits for its next change. The
/// outcome is dated with its due time and received now.
store::TimerDecision decide_timer(const store::DueGift& due, std::span<const store::StatusChange> refused,
                                  UtcMillis now);

}  // namespace giftsync::sync
