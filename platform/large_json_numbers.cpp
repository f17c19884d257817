#include "platform/large_json_numbers.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>

namespace giftsync::platform {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kWhitespace = " \t\r\n";

void strip_prefix(std::string_view& text, std::string_view characters) {
  text.remove_prefix(std::min(text.find_first_not_of(characters), text.size()));
}

/// Whether `text` begins with digits; removes them.
bool consume_digits(std::string_view& text) {
  const std::size_t before = text.size();
  strip_prefix(text, kDigits);
  return text.size() < before;
}

/// By the grammar of RFC 8259; `is_integer` is false for a fraction or an exponent.
bool is_number(std::string_view text, bool& is_integer) {
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.starts_with('0'))
    text.remove_prefix(1);
  else if (!consume_digits(text))
    return false;
  is_integer = text.empty();
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!consume_digits(text)) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (!consume_digits(text)) return false;
  }
  return text.empty();
}

template <class Number>
bool fits(std::string_view text) {
  Number number{};
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
}

/// A double distinguishes this many digits; a cursor with more digits would be changed.
bool exceeds_double_precision(std::string_view token) {
  const std::string_view digits = token.substr(0, token.find_first_of("eE"));
  return std::count_if(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }) >
         std::numeric_limits<double>::digits10;
}

bool is_too_large(std::string_view token) {
  bool is_integer = false;
  if (!is_number(token, is_integer)) return false;
  return is_integer ? !fits<std::int64_t>(token) : !fits<double>(token) || exceeds_double_precision(token);
}

/// Whether a value may be here: after the beginning, white space or one of "[,:", and not before a colon.
/// Elsewhere replacing a number by a text could turn invalid JSON into valid JSON.
bool is_value_position(std::string_view text, std::size_t begin, std::size_t end) {
  constexpr std::string_view kBefore = "[,: \t\r\n";
  if (begin > 0 && kBefore.find(text[begin - 1]) == std::string_view::npos) return false;
  std::string_view rest = text.substr(end);
  strip_prefix(rest, kWhitespace);
  return rest.empty() || rest.front() == ',' || rest.front() == ']' || rest.front() == '}';
}

/// `text` with each part replaced by `replacement` of it.
template <class Replacement>
std::string replace_parts(std::string_view text, const std::vector<std::string_view>& parts,
                          Replacement replacement) {
  std::string all;
  all.reserve(text.size() + 2 * parts.size());
  const char* from = text.data();
  for (const std::string_view part : parts) {
    all.append(from, part.data()).append(replacement(part));
    from = part.data() + part.size();
  }
  return all.append(from, text.data() + text.size());
}

}  // namespace

std::size_t end_of_quoted(std::string_view text, std::size_t begin) {
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      return i + 1;
  }
  return text.size();
}

std::vector<std::string_view> find_large_numbers(std::string_view text) {
  constexpr std::string_view kNumberCharacters = "0123456789+-.eE";
  std::vector<std::string_view> found;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '-' || (c >= '0' && c <= '9')) {
      const std::size_t end = std::min(text.find_first_not_of(kNumberCharacters, i), text.size());
      const std::string_view token = text.substr(i, end - i);
      if (is_too_large(token) && is_value_position(text, i, end)) found.push_back(token);
      i = end;
    } else {
      i = c == '"' ? end_of_quoted(text, i) : i + 1;
    }
  }
  return found;
}

std::string with_quoted_parts(std::string_view text, const std::vector<std::string_view>& parts) {
  return replace_parts(text, parts, [](std::string_view number) { return '"' + std::string(number) + '"'; });
}

std::string with_zeroed_parts(std::string_view text, const std::vector<std::string_view>& parts) {
  return replace_parts(text, parts,
                       [](std::string_view number) { return '0' + std::string(number.size() - 1, ' '); });
}

}  // namespace giftsync::platform
