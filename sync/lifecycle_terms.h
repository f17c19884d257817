// sync: the lifecycle terms of a gift (LIFE-2). The current terms are stamped on a gift as text when it is
// sent, so that a changed setting never affects a gift that was sent before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace giftsync::sync {

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

}  // namespace giftsync::sync
