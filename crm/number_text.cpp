#include "crm/number_text.h"

#include <algorithm>

namespace giftsync::crm {
namespace {

constexpr std::size_t kMaxExactDigits = 15;       // of a double, in which SQLite stores decimals
constexpr std::size_t kMaxExactWholeDigits = 18;  // of a 64-bit integer
constexpr int kMaxExponent = 30;                  // beyond it no number is exact

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  if (!all_digits(whole) || (whole.size() > 1 && whole.front() == '0')) return false;
  if (dot == std::string_view::npos) return whole.size() <= kMaxExactWholeDigits;
  const std::string_view decimals = text.substr(dot + 1);
  return all_digits(decimals) && whole.size() + decimals.size() <= kMaxExactDigits;
}

/// "e+08" without its letter; empty when it is none.
std::optional<int> exponent_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (!all_digits(text) || text.size() > 3) return std::nullopt;
  const int exponent = std::stoi(std::string(text));
  if (exponent > kMaxExponent) return std::nullopt;
  return negative ? -exponent : exponent;
}

/// The digits with their point so many places further to the right.
std::string shift_decimal_point(const std::string& whole, const std::string& decimals, int places) {
  std::string digits = whole + decimals;
  int point = static_cast<int>(whole.size()) + places;
  if (point < 1) {
    digits.insert(0, static_cast<std::size_t>(1 - point), '0');
    point = 1;
  }
  const auto before = static_cast<std::size_t>(point);
  if (digits.size() < before) digits.append(before - digits.size(), '0');
  std::string front = digits.substr(0, before);
  std::string fraction = digits.substr(before);
  front.erase(0, std::min(front.find_first_not_of('0'), front.size() - 1));
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return fraction.empty() ? front : front + "." + fraction;
}

}  // namespace

std::optional<std::string> normalize_number(std::string_view text) {
  const std::size_t letter = text.find_first_of("eE");
  if (letter == std::string_view::npos)
    return is_number(text) ? std::optional(std::string(text)) : std::nullopt;
  const std::string_view mantissa = text.substr(0, letter);
  const std::optional<int> exponent = exponent_of(text.substr(letter + 1));
  if (!exponent || !is_number(mantissa)) return std::nullopt;
  const std::string sign = mantissa.starts_with('-') ? "-" : "";
  const std::string_view amount = mantissa.substr(sign.size());
  const std::size_t dot = std::min(amount.find('.'), amount.size());
  if (dot != 1) return std::nullopt;
  const std::string decimals(amount.substr(std::min(dot + 1, amount.size())));
  std::string plain = sign + shift_decimal_point(std::string(amount.substr(0, dot)), decimals, *exponent);
  return is_number(plain) ? std::optional(std::move(plain)) : std::nullopt;
}

}  // namespace giftsync::crm
