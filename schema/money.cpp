#include "schema/money.h"

namespace giftsync {

std::string to_decimal(std::optional<Money> amount) {
  return amount ? to_decimal(*amount) : std::string();
}

std::string to_decimal(Money amount) {
  const bool negative = amount.minor_units < 0;
  const auto magnitude = negative ? 0 - static_cast<std::uint64_t>(amount.minor_units)
                                  : static_cast<std::uint64_t>(amount.minor_units);
  std::string cents = std::to_string(magnitude % 100);
  if (cents.size() == 1) cents.insert(0, 1, '0');
  return (negative ? "-" : "") + std::to_string(magnitude / 100) + "." + cents;
}

std::string amount_text(std::optional<Money> amount, std::string_view currency) {
  std::string text = to_decimal(amount);
  return text.empty() || currency.empty() ? text : text.append(" ").append(currency);
}

std::optional<Money> from_decimal(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  const std::string_view decimals = dot == std::string_view::npos ? "" : text.substr(dot + 1);
  if (whole.empty() || whole.size() > 15 || decimals.size() > 2 ||
      (dot != std::string_view::npos && decimals.empty())) {
    return std::nullopt;
  }
  std::string digits(whole);
  digits.append(decimals).append(2 - decimals.size(), '0');
  std::int64_t minor_units = 0;
  for (char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    minor_units = minor_units * 10 + (c - '0');
  }
  if (minor_units > kMaxMoney.minor_units) return std::nullopt;
  return Money{negative ? -minor_units : minor_units};
}

}  // namespace giftsync
