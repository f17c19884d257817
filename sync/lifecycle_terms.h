// sync: what the life of a gift goes by (design 3.6). The terms in force are stamped on a gift as text when
// it is sent, so that a changed setting never reaches a gift that is on its way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace giftsync::sync {

struct LifecycleTerms {
  std::int64_t unopened_days = 30;    ///< from Sent At until an unopened gift expires
  std::int64_t opened_days = 365;     ///< from Opened until a gift that nobody claimed expires
  std::int64_t undelivered_days = 7;  ///< until one that did not arrive is refunded, unless it is sent again
  std::int64_t refund_day = 10;       ///< of the next month, when an expired gift is refunded; 0: at once
  std::string time_zone = "UTC";      ///< of refund_day
  std::vector<std::int64_t> reminder_days;  ///< after Sent At, rising
  friend bool operator==(const LifecycleTerms&, const LifecycleTerms&) = default;
};

/// "unopened=30 opened=365 undelivered=7 refund=10 zone=Europe/Berlin remind=7,21"
std::string to_text(const LifecycleTerms& terms);
/// Nothing for an empty text (a gift that was sent elsewhere) and for one that to_text did not write.
std::optional<LifecycleTerms> terms_from_text(std::string_view text);

}  // namespace giftsync::sync
