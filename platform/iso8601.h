// platform: times as others write them (READ-4). Pure.
#pragma once

#include <optional>
#include <string_view>

#include "platform/time.h"

namespace giftsync::platform {

/// What from_rfc3339() parses, and the other unambiguous spellings of ISO 8601: an offset without colon or
/// minutes, no seconds, a decimal comma, 24:00:00 for the end of a day, the basic format
/// (20261121T123107Z), and a blank before the offset. A zone is required.
std::optional<UtcMillis> from_iso8601(std::string_view text);

}  // namespace giftsync::platform
