// sync: which mails tell admins that conditions of the status (sync/attention.h) have begun and ended (OPS-43
// to OPS-45). What lasts shorter than the digest time is not mailed. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/store/mail/alerts.h"
#include "sync/attention.h"

namespace giftsync::sync {

/// When no such mail leaves, each day: minutes of the day in a time zone; the end is not in it. Equal: never.
struct QuietTimes {
  std::int64_t from_minute = 0;
  std::int64_t until_minute = 0;
  std::string time_zone = "UTC";  ///< is_time_zone()
};
bool is_quiet(const QuietTimes& quiet, UtcMillis time);

struct AlertRules {
  std::int64_t digest_millis = 0;  ///< between two mails; as long a condition lasts, or has ended, first
  QuietTimes quiet = {};
};

/// What is to be stored: alerts that are new or have changed, and the names of those that are over.
struct AlertChanges {
  std::vector<store::Alert> kept = {};
  std::vector<std::string> ended = {};
  bool empty() const { return kept.empty() && ended.empty(); }
};

/// What the present conditions change in the stored alerts. One that comes back before its end was mailed
/// goes on, with its first beginning; one that ends within the digest time and was not mailed is forgotten.
AlertChanges observe(std::span<const store::Alert> stored, std::span<const AttentionItem> items,
                     const AlertRules& rules, UtcMillis now);
/// The alerts after these changes, by name.
std::vector<store::Alert> applied(std::span<const store::Alert> stored, const AlertChanges& changes);

struct AlertMail {
  std::vector<store::Alert> begun = {};
  std::vector<store::Alert> ended = {};  ///< also those that began since the last mail
  bool empty() const { return begun.empty() && ended.empty(); }
};

/// What a mail tells now; empty: none leaves.
AlertMail due_mail(std::span<const store::Alert> alerts, const AlertRules& rules,
                   std::optional<UtcMillis> last_mailed_at, UtcMillis now);
/// What the stored alerts become once that mail has left; they may have changed since due_mail().
AlertChanges after_mail(const AlertMail& mail, std::span<const store::Alert> alerts, UtcMillis now);

/// Equal for mails that tell the same, so that a repeated one is recognised. Safe in a Message-ID.
std::string alert_mail_digest(const AlertMail& mail, const std::string& recipient);

}  // namespace giftsync::sync
