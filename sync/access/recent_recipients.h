// sync: what is said of recipients who got many gifts lately (GUARD-19). The store counts
// (schema/store/gift/recipient_frequency.h). Pure.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "platform/time.h"
#include "schema/store/gift/recipient_frequency.h"
#include "sync/access/sending_policy.h"

namespace giftsync::sync {

/// "kim@example.com got 2 gifts in the last 30 days (the newest on 2026-11-20); the limit is 2."
std::string describe(const store::RecentRecipient& recipient);
/// With its code.
SendingFinding finding_of(const store::RecentRecipient& recipient);

/// When a request that was refused because of these may fit; nothing when it never does.
std::optional<UtcMillis> available_at(std::span<const store::RecentRecipient> recipients);

}  // namespace giftsync::sync
