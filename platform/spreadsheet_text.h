// platform: what spreadsheets take for blanks, and what they write in place of values. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace giftsync {

/// The text without white space at both ends, that of Unicode too (no-break, em, ideographic).
std::string_view without_blanks(std::string_view text);

/// Why the cell holds no value of its own: the error of a formula, such as #N/A, or a number that was cut
/// to a few digits, such as 2.06555E+09. A clause that follows the cell, with the next step.
std::optional<std::string_view> formula_error(std::string_view cell);
std::optional<std::string_view> rounded_number(std::string_view cell);

/// A date that has day and month in an order that depends on the country: 11/28/2026 9:15 AM, 28.11.2026.
bool has_day_month_order(std::string_view cell);

// The cells of CSV that people open in spreadsheets. Pure.

/// A cell of RFC 4180, quoted where it needs to be. A text that a spreadsheet would read as a formula, also
/// after a semicolon, blanks or characters that cannot be seen, gets an apostrophe before it; invisible
/// characters but line ends and tabs are escaped (SEC-1).
std::string csv_cell(std::string_view text);

}  // namespace giftsync
