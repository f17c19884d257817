// daemon/exports: values of what command line and console export as JSON.
#pragma once

#include <optional>
#include <string>

#include "platform/json.h"
#include "platform/time.h"
#include "schema/money.h"

namespace giftsync::exports {

/// Keeps the order of insertion.

/// Replaces invalid UTF-8 (from CRM rows that were written with plain SQL) by U+FFFD; invisible characters
/// are \u escapes.
std::string json_text(const Json& json, int indent = -1);

/// RFC 3339 in UTC, or null.
Json json_time(const std::optional<UtcMillis>& time);

/// The text; null if it is empty.
Json text_or_null(const std::string& text);

/// "5.50", or null.
Json json_amount(std::optional<Money> amount);

/// Adds `currency` behind the other members, unless it is empty: without the setting nothing changes.
void add_currency(Json& json, const std::string& currency);

}  // namespace giftsync::exports
