#include "schema/crm/managed/typed_value.h"

#include <algorithm>

#include "platform/text.h"
#include "platform/time.h"

namespace giftsync::schema::crm::managed {
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

/// The number without an exponent; empty when it is none. Spreadsheets write large ones as "9.0E8": one digit
/// before the point, so that a code such as "12E4" is none.
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

bool is_date(std::string_view text) {
  return text.size() == 10 && platform::from_rfc3339(std::string(text) + "T00:00:00Z").has_value();
}

std::optional<platform::UtcMillis> time_of(std::string_view text) {
  std::string whole(text);
  if (is_date(text)) whole += "T00:00:00Z";
  const bool zone_without_colon = whole.size() > 5 &&
                                  (whole[whole.size() - 5] == '+' || whole[whole.size() - 5] == '-') &&
                                  all_digits(std::string_view(whole).substr(whole.size() - 4));
  if (zone_without_colon) whole.insert(whole.size() - 2, 1, ':');
  return platform::from_rfc3339(whole);
}

std::optional<std::string> normalize_checkbox(std::string_view text, sql::Dialect dialect) {
  const std::string lower = platform::ascii_lower(text);
  if (lower != "true" && lower != "false" && lower != "1" && lower != "0") return std::nullopt;
  const bool checked = lower == "true" || lower == "1";
  if (dialect == sql::Dialect::sqlite) return checked ? "1" : "0";
  return checked ? "true" : "false";
}

}  // namespace

std::optional<std::string> normalize_cell(std::string_view cell, sql_common::ColumnType type,
                                          sql::Dialect dialect) {
  if (type == sql_common::ColumnType::text) return std::string(cell);
  cell = platform::trimmed(cell);
  if (type == sql_common::ColumnType::checkbox) return normalize_checkbox(cell, dialect);
  if (type == sql_common::ColumnType::date_time) {
    const std::optional<platform::UtcMillis> time = time_of(cell);
    return time ? std::optional(platform::to_rfc3339(*time)) : std::nullopt;
  }
  if (type == sql_common::ColumnType::number) return normalize_number(cell);
  return is_date(cell) ? std::optional(std::string(cell)) : std::nullopt;
}

std::string_view expected_format(sql_common::ColumnType type) {
  switch (type) {
    case sql_common::ColumnType::number:
      return "a number such as 80000.50";
    case sql_common::ColumnType::date:
      return "a date such as 2026-11-21";
    case sql_common::ColumnType::date_time:
      return "a time such as 2026-11-21T12:31:07Z";
    case sql_common::ColumnType::checkbox:
      return "true or false";
    case sql_common::ColumnType::text:
      break;
  }
  return "text";
}

void TypeDetector::add(std::string_view cell) {
  cell = platform::trimmed(cell);
  if (cell.empty()) return;
  any_ = true;
  numbers_ = numbers_ && normalize_number(cell).has_value();
  dates_ = dates_ && is_date(cell);
  times_ = times_ && time_of(cell).has_value();
}

sql_common::ColumnType TypeDetector::type() const {
  if (!any_) return sql_common::ColumnType::text;
  if (numbers_) return sql_common::ColumnType::number;
  if (dates_) return sql_common::ColumnType::date;
  return times_ ? sql_common::ColumnType::date_time : sql_common::ColumnType::text;
}

}  // namespace giftsync::schema::crm::managed
