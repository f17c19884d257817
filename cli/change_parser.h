// cli: one line of `change import` (OPS-23). Pure.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "platform/time.h"
#include "schema/store/change_log.h"

namespace giftsync::cli {

/// The source name of imported changes.
inline constexpr const char* kImportSource = "import";

/// All faults of a line: status: found "openend"; allowed: sent, ....
using ChangeFaults = std::vector<std::string>;

/// Parses {"recipient_transaction_id":..,"status":"..","occurred_at":"..","event_id":".."}. The id is a whole
/// number or a text of digits; the time is ISO 8601 with its zone and plausible at `now` (STATUS-16); the
/// event id is a text, a whole number or absent. Other members are ignored.
tl::expected<schema::store::StatusChange, ChangeFaults> parse_change(std::string_view line,
                                                                     platform::UtcMillis now);

}  // namespace giftsync::cli
