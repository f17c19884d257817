// platform: finds JSON that two readers could understand differently: equal names in one object (at any
// depth), and NUL in a text or name (PostgreSQL would cut there). Pure.
#pragma once

#include <optional>

#include "platform/strict_json.h"

namespace giftsync::platform {

/// The first such error in `value`, with its path (duplicate_key, nul_character).
std::optional<JsonError> find_ambiguity(const JsonValue& value);

}  // namespace giftsync::platform
