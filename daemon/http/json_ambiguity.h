// daemon/http: what two readers of the same JSON would read in two ways: equal names in one object (at any
// depth), NUL in a text or name (PostgreSQL would cut there). Pure.
#pragma once

#include <optional>

#include "daemon/http/strict_json.h"

namespace giftsync::daemon {

/// The first such fault in `value`, with the path from there (duplicate_key, nul_character). What is at
/// `except`, a part of `value`, is not looked at.
std::optional<JsonFault> ambiguity_in(const JsonValue& value, const JsonValue* except = nullptr);

}  // namespace giftsync::daemon
