// schema: text rules that every room shares. Text is UTF-8; limits count Unicode code points (design 2).
#pragma once

#include <string>
#include <string_view>

namespace giftsync::schema {

/// True when the bytes are well-formed UTF-8 without NUL (PostgreSQL would cut a text at a NUL).
bool is_storable_text(std::string_view text);

/// Code points in well-formed UTF-8.
std::size_t count_code_points(std::string_view text);

/// The longest beginning of at most `code_points` code points.
std::string_view truncated(std::string_view text, std::size_t code_points);

/// Without white space (space, tab, CR, LF) at either end.
std::string_view trimmed(std::string_view text);

/// ASCII letters to lower case, all else as it is.
std::string ascii_lower(std::string_view text);

/// Letters of every script to lower case, one code point for one, by no language's own rules. What is no
/// UTF-8 becomes "?".
std::string lower_case(std::string_view text);

}  // namespace giftsync::schema
