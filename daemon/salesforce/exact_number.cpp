#include "daemon/salesforce/exact_number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "platform/text.h"

namespace giftsync::daemon::salesforce {
namespace {

constexpr int kMaxDigits = 40;

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<int> exponent_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const bool is_negative = text.starts_with('-');
  if (!all_digits(text.substr(is_negative ? 1 : 0))) return std::nullopt;
  const std::optional<int> exponent = platform::parse_number<int>(text);
  return exponent && *exponent >= -kMaxDigits && *exponent <= kMaxDigits ? exponent : std::nullopt;
}

/// The digits with a point after `whole` of them; `whole` may lie outside the digits.
std::string with_point(std::string digits, int whole) {
  if (whole < 1) {
    digits.insert(0, static_cast<std::size_t>(1 - whole), '0');
    whole = 1;
  }
  const auto point = static_cast<std::size_t>(whole);
  if (digits.size() < point) digits.append(point - digits.size(), '0');
  std::string front = digits.substr(0, point);
  std::string fraction = digits.substr(point);
  front.erase(0, std::min(front.find_first_not_of('0'), front.size() - 1));
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return fraction.empty() ? front : front + "." + fraction;
}

}  // namespace

std::optional<std::string> number_text(const platform::JsonValue& value) {
  if (const auto whole = value.integer()) return std::to_string(*whole);
  if (const auto digits = value.text()) return plain_number(*digits);
  const auto real = value.real();
  if (!real) return std::nullopt;
  // The shortest text of a double is the number's own: it has at most 15 digits, or it came as text.
  std::array<char, 64> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), *real);
  return plain_number({buffer.data(), written.ptr});
}

std::optional<std::string> plain_number(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  const std::size_t letter = text.find_first_of("eE");
  const std::optional<int> exponent =
      letter == std::string_view::npos ? std::optional(0) : exponent_of(text.substr(letter + 1));
  const std::string_view mantissa = text.substr(0, letter);
  const std::size_t dot = mantissa.find('.');
  const std::string_view whole = mantissa.substr(0, dot);
  const std::string_view fraction = dot == std::string_view::npos ? "0" : mantissa.substr(dot + 1);
  if (!exponent || !all_digits(whole) || !all_digits(fraction)) return std::nullopt;
  if (whole.size() + fraction.size() > kMaxDigits) return std::nullopt;
  std::string plain =
      with_point(std::string(whole) + std::string(fraction), static_cast<int>(whole.size()) + *exponent);
  return is_negative && plain != "0" ? "-" + plain : std::move(plain);
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  const std::optional<std::string> plain = plain_number(text);
  return plain ? platform::parse_number<std::int64_t>(*plain) : std::nullopt;
}

std::optional<schema::Money> money_of(std::string_view text) {
  const std::optional<std::string> plain = plain_number(text);
  return plain ? schema::from_decimal(*plain) : std::nullopt;
}

}  // namespace giftsync::daemon::salesforce
