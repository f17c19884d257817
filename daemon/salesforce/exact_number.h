// daemon/salesforce: numbers of Salesforce's answers, exactly. Number fields travel as doubles: an integer
// comes as 123.0 or 1.23E9. Money and ids are read from the digits, never rounded. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/strict_json.h"
#include "schema/money.h"

namespace giftsync::daemon::salesforce {

/// The number of a document that was parsed with large_numbers_as_text: that option keeps the digits of every
/// number which a double would change. Nullopt for what is no number.
std::optional<std::string> number_text(const platform::JsonValue& value);

/// A number as JSON writes it, without an exponent and without zeros that say nothing: "-0.05", "1230000000".
/// Nullopt for other text and for more than 40 digits.
std::optional<std::string> plain_number(std::string_view text);

/// Nullopt when it is not whole or does not fit 64 bits.
std::optional<std::int64_t> whole_number(std::string_view text);

/// Nullopt for fractions of a cent and beyond kMaxMoney.
std::optional<schema::Money> money_of(std::string_view text);

}  // namespace giftsync::daemon::salesforce
