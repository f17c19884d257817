// schema: money is an integer number of minor units (cents), never a double.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace giftsync {

struct Money {
  std::int64_t minor_units = 0;
  friend auto operator<=>(const Money&, const Money&) = default;
};

constexpr Money operator+(Money a, Money b) {
  return {a.minor_units + b.minor_units};
}

/// The sum of the known amounts; absent only when both are unknown.
constexpr std::optional<Money> operator+(std::optional<Money> a, std::optional<Money> b) {
  return a && b ? std::optional(*a + *b) : a ? a : b;
}

/// The largest amount that Currency(16,2) holds: 99,999,999,999,999.99.
inline constexpr Money kMaxMoney{9'999'999'999'999'999};

/// The price of so many gifts; kMaxMoney where it is more, so that a budget that counts it is exceeded and no
/// sum overflows. Nothing when that of one is not known.
constexpr std::optional<Money> price_of_gifts(std::optional<Money> of_one, std::int64_t gifts) {
  if (!of_one || gifts <= 0) return of_one ? std::optional(Money{}) : std::nullopt;
  return of_one->minor_units > kMaxMoney.minor_units / gifts ? kMaxMoney : Money{of_one->minor_units * gifts};
}

/// "5.50", "-0.05": always two decimals.
std::string to_decimal(Money amount);
/// Empty for an unknown amount.
std::string to_decimal(std::optional<Money> amount);

/// For a person: "5.50 EUR"; "5.50" without a currency. Empty for an unknown amount.
std::string amount_text(std::optional<Money> amount, std::string_view currency);

/// Parses "5", "5.5", "5.50" and "-0.05"; empty for anything else, for more than two decimals and beyond
/// kMaxMoney.
std::optional<Money> from_decimal(std::string_view text);

}  // namespace giftsync
