// platform: shows text from outside, also in the cells of a spreadsheet. Whatever would be invisible, would
// change the order of what is shown, or would control a terminal is escaped: log, listings, --json, --check
// and exports all use these functions, so that a line looks like what it is (SEC-1). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace giftsync {

/// True for what must not be shown as it is: control characters (C0, DEL, C1), bidirectional marks,
/// embeddings, overrides and isolates, line and paragraph separators, zero-width and tag characters.
bool is_invisible(char32_t code_point);

/// The text with invisible characters as \n, \x1b or \u{202e} and bytes that are not UTF-8 as \xff. The
/// ASCII characters in `kept` stay.
std::string visible_text(std::string_view text, std::string_view kept = {});

/// A JSON text in which invisible characters from U+007F on are \u escapes, so the document means the same.
/// `json` is well-formed UTF-8, as serializers write it with ASCII control characters already escaped.
std::string visible_json(std::string_view json);

/// True for a text that can be a name: one line of UTF-8 without control characters, line separators,
/// bidirectional embeddings, overrides and isolates. Marks and joiners (U+200C to U+200F), which some
/// scripts need, are allowed.
bool is_plain_line(std::string_view text);

/// The text from its first visible character on.
std::string_view without_leading_invisible(std::string_view text);

// Quotes text from outside for messages: cut and without control characters. Pure.

/// `text` in double quotes, cut after 80 code points, with invisible characters and quotes escaped
/// (visible_text.h), so it can neither forge a log line nor control a terminal. User, password and
/// query of a URL are masked.
std::string in_quotes(std::string_view text);

/// `text` as one word of a POSIX shell, in single quotes where it needs them: for commands that can be
/// copied.
std::string shell_word(std::string_view text);

// What spreadsheets take for blanks, and what they write in place of values. Pure.

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
