#include "sync/access/recent_recipients.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/text.h"

namespace giftsync::sync {

std::string describe(const store::RecentRecipient& recipient) {
  const std::string days = pluralize(recipient.days, "day");
  if (!recipient.newest_at)
    return fmt::format("This request has {} for {}; the limit is {} in {}.",
                       pluralize(recipient.requested, "gift"), recipient.email, recipient.limit, days);
  const std::string more =
      recipient.requested > 1 ? fmt::format(", and this request has {} more", recipient.requested) : "";
  return fmt::format("{} got {} in the last {} (the newest on {}){}; the limit is {}.", recipient.email,
                     pluralize(recipient.gifts, "gift"), days, to_rfc3339(*recipient.newest_at).substr(0, 10),
                     more, recipient.limit);
}

SendingFinding finding_of(const store::RecentRecipient& recipient) {
  return SendingFinding{"recent_gift", describe(recipient)};
}

std::optional<UtcMillis> available_at(std::span<const store::RecentRecipient> recipients) {
  std::optional<UtcMillis> latest;
  for (const store::RecentRecipient& recipient : recipients) {
    if (!recipient.fits_at) return std::nullopt;
    latest = std::max(latest.value_or(*recipient.fits_at), *recipient.fits_at);
  }
  return latest;
}

}  // namespace giftsync::sync
