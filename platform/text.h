// platform: text rules shared by all folders. Text is UTF-8; limits count Unicode code points (ARCH-10).
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace giftsync {

/// True when the bytes are well-formed UTF-8 without NUL (PostgreSQL would cut a text at a NUL).
bool is_storable_text(std::string_view text);

/// Code points in well-formed UTF-8.
std::size_t count_code_points(std::string_view text);

/// The longest prefix of at most `code_points` code points.
std::string_view truncated(std::string_view text, std::size_t code_points);

/// Without white space (space, tab, CR, LF) at both ends.
std::string_view trimmed(std::string_view text);

/// Excel reads a file without it in the encoding of the country; RFC 8259 lets a reader ignore it (READ-2).
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
/// Without one at the beginning.
std::string_view without_byte_order_mark(std::string_view text);

constexpr bool is_ascii_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr bool is_ascii_letter_or_digit(char c) {
  return is_ascii_letter(c) || (c >= '0' && c <= '9');
}
/// ASCII letters in lower case, all else unchanged.
std::string ascii_lower(std::string_view text);
/// To compare faults, whose times, ports and ids differ.
std::string without_digits(std::string text);

/// The number that the whole text is, in decimal digits: no white space, no "+". Nullopt beyond Number's
/// range.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// Letters of every script in lower case, one code point for one, without language-specific rules. Invalid
/// UTF-8 becomes "?".
std::string lower_case(std::string_view text);
/// The same in upper case.
std::string upper_case(std::string_view text);

// Counts with their noun and verb, for messages.

/// "1 gift", "2 gifts", "0 gifts"; `singular` is the noun for one.
std::string pluralize(std::integral auto count, std::string_view singular) {
  return fmt::format("{} {}{}", count, singular, count == 1 ? "" : "s");
}

/// The verb that follows a count: "is" or "are", "has" or "have".
std::string_view plural_verb(std::integral auto count, std::string_view singular, std::string_view plural) {
  return count == 1 ? singular : plural;
}

// A suggestion for a misspelt word.

/// The known word with the fewest single-letter changes (insert, delete, replace, swap of neighbours) from
/// `word`, the first of equals; empty when even that one differs in more than a third of its letters (two in
/// a short one).
std::string suggestion_for(std::string_view word, const std::vector<std::string>& known);

}  // namespace giftsync
