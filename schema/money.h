// schema: money is a whole number of minor units (cents); no double ever touches it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace giftsync::schema {

struct Money {
  std::int64_t minor_units = 0;
  friend auto operator<=>(const Money&, const Money&) = default;
};

constexpr Money operator+(Money a, Money b) {
  return {a.minor_units + b.minor_units};
}

/// What is known of both: absent only when neither is.
constexpr std::optional<Money> operator+(std::optional<Money> a, std::optional<Money> b) {
  return a && b ? std::optional(*a + *b) : a ? a : b;
}

/// The largest amount that Currency(16,2) holds: 99,999,999,999,999.99.
inline constexpr Money kMaxMoney{9'999'999'999'999'999};

/// "5.50", "-0.05": always two decimals.
std::string to_decimal(Money amount);
/// Empty for an amount that is not known.
std::string to_decimal(std::optional<Money> amount);

/// Reads "5", "5.5", "5.50" and "-0.05"; empty for anything else, for more than two decimals and beyond
/// kMaxMoney.
std::optional<Money> from_decimal(std::string_view text);

}  // namespace giftsync::schema
