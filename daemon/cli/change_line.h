// daemon/cli: one line of `change import` (design 5). Pure.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "schema/store/change_log.h"
#include "schema/time.h"

namespace giftsync::daemon {

/// The source of changes that the admin imports.
inline constexpr const char* kImportSource = "import";

/// Everything that is wrong with a line: "status: found "openend"; allowed: sent, ...".
using ChangeLineFaults = std::vector<std::string>;

/// A line {"recipient_transaction_id":..,"status":"..","occurred_at":"..","event_id":".."}: the id a whole
/// number or a text of digits, the time RFC 3339 and believable at `now` (design 3.1), the event id a text, a
/// whole number or absent. Other members are ignored.
std::variant<schema::StatusChange, ChangeLineFaults> read_change_line(std::string_view line,
                                                                      schema::UtcMillis now);

}  // namespace giftsync::daemon
