#include "daemon/sources/source_json.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "daemon/http/json_quote.h"

namespace giftsync::daemon {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kBlanks = " \t\r\n";

void drop_front_of(std::string_view& text, std::string_view characters) {
  text.remove_prefix(std::min(text.find_first_not_of(characters), text.size()));
}

/// Whether `text` begins with digits, which are taken off.
bool take_digits(std::string_view& text) {
  const std::size_t before = text.size();
  drop_front_of(text, kDigits);
  return text.size() < before;
}

/// By the grammar of RFC 8259; `is_whole` is false when there is a fraction or an exponent.
bool is_number(std::string_view text, bool& is_whole) {
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.starts_with('0'))
    text.remove_prefix(1);
  else if (!take_digits(text))
    return false;
  is_whole = text.empty();
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!take_digits(text)) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (!take_digits(text)) return false;
  }
  return text.empty();
}

template <class Number>
bool fits(std::string_view text) {
  Number number{};
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
}

/// A double tells so many digits apart; with more a cursor would come back as another one.
bool has_more_digits_than_a_double(std::string_view token) {
  const std::string_view digits = token.substr(0, token.find_first_of("eE"));
  return std::count_if(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }) >
         std::numeric_limits<double>::digits10;
}

bool is_too_large(std::string_view token) {
  bool is_whole = false;
  if (!is_number(token, is_whole)) return false;
  return is_whole ? !fits<std::int64_t>(token) : !fits<double>(token) || has_more_digits_than_a_double(token);
}

/// Where a value may stand: behind the beginning, a blank or one of "[,:", and not before a colon. Elsewhere
/// a text in the place of a number could make JSON of what is none.
bool is_in_place(std::string_view text, std::size_t begin, std::size_t end) {
  constexpr std::string_view kBefore = "[,: \t\r\n";
  if (begin > 0 && kBefore.find(text[begin - 1]) == std::string_view::npos) return false;
  std::string_view rest = text.substr(end);
  drop_front_of(rest, kBlanks);
  return rest.empty() || rest.front() == ',' || rest.front() == ']' || rest.front() == '}';
}

/// Parts of `text`, in its order.
std::vector<std::string_view> large_numbers_in(std::string_view text) {
  constexpr std::string_view kOfNumbers = "0123456789+-.eE";
  std::vector<std::string_view> found;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '-' || (c >= '0' && c <= '9')) {
      const std::size_t end = std::min(text.find_first_not_of(kOfNumbers, i), text.size());
      const std::string_view token = text.substr(i, end - i);
      if (is_too_large(token) && is_in_place(text, i, end)) found.push_back(token);
      i = end;
    } else {
      i = c == '"' ? behind_quoted(text, i) : i + 1;
    }
  }
  return found;
}

/// `text` with what `instead` makes of each of its parts.
template <class Instead>
std::string replaced(std::string_view text, const std::vector<std::string_view>& parts, Instead instead) {
  std::string all;
  all.reserve(text.size() + 2 * parts.size());
  const char* from = text.data();
  for (const std::string_view part : parts) {
    all.append(from, part.data()).append(instead(part));
    from = part.data() + part.size();
  }
  return all.append(from, text.data() + text.size());
}

std::string quoted(std::string_view number) {
  return '"' + std::string(number) + '"';
}

/// A number that is not too large, and as long.
std::string as_zero(std::string_view number) {
  return '0' + std::string(number.size() - 1, ' ');
}

}  // namespace

std::variant<JsonDocument, JsonFault> read_source_json(std::string_view text) {
  if (text.size() > kMaxJsonBytes) return read_json(text);  // which refuses it
  const std::vector<std::string_view> large = large_numbers_in(text);
  if (large.empty()) return read_json(text);
  auto read = read_json(replaced(text, large, quoted));
  if (std::holds_alternative<JsonDocument>(read)) return read;
  // Its place was counted with the quotes, which nobody sent.
  auto unquoted = read_json(replaced(text, large, as_zero));
  return std::holds_alternative<JsonFault>(unquoted) ? std::move(unquoted) : std::move(read);
}

}  // namespace giftsync::daemon
