#include "schema/crm/managed/typed_value.h"

#include <algorithm>

#include "platform/iso8601.h"
#include "platform/text.h"
#include "schema/crm/number_text.h"

namespace giftsync::schema::crm::managed {
namespace {

bool is_date(std::string_view text) {
  return text.size() == 10 && platform::from_rfc3339(std::string(text) + "T00:00:00Z").has_value();
}

std::optional<platform::UtcMillis> time_of(std::string_view text) {
  return is_date(text) ? platform::from_rfc3339(std::string(text) + "T00:00:00Z")
                       : platform::from_iso8601(text);
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

namespace {

std::size_t index_of(sql_common::ColumnType type) {
  return static_cast<std::size_t>(type);
}

/// Numbers, dates and times begin so.
bool may_have_type(std::string_view cell) {
  return cell.front() == '-' || (cell.front() >= '0' && cell.front() <= '9');
}

bool suits(std::string_view cell, sql_common::ColumnType type) {
  if (!may_have_type(cell)) return false;
  if (type == sql_common::ColumnType::number) return normalize_number(cell).has_value();
  return type == sql_common::ColumnType::date ? is_date(cell) : time_of(cell).has_value();
}

}  // namespace

void TypeDetector::add(std::string_view cell, std::size_t line, std::string_view id) {
  cell = platform::trimmed(cell);
  if (cell.empty()) return;
  ++values_;
  for (const sql_common::ColumnType type : kTypes) {
    Counted& counted = counted_[index_of(type)];
    if (suits(cell, type))
      ++counted.values;
    else if (!counted.other)
      counted.other = OtherValue{type, line, std::string(id), std::string(cell)};
  }
}

void TypeDetector::merge(const TypeDetector& more) {
  values_ += more.values_;
  for (const sql_common::ColumnType type : kTypes) {
    Counted& counted = counted_[index_of(type)];
    counted.values += more.counted_[index_of(type)].values;
    if (!counted.other) counted.other = more.counted_[index_of(type)].other;
  }
}

sql_common::ColumnType TypeDetector::type() const {
  if (values_ == 0) return sql_common::ColumnType::text;
  const auto found = std::find_if(kTypes.begin(), kTypes.end(), [&](sql_common::ColumnType type) {
    return counted_[index_of(type)].values == values_;
  });
  return found == kTypes.end() ? sql_common::ColumnType::text : *found;
}

std::optional<OtherValue> TypeDetector::text_cause() const {
  if (type() != sql_common::ColumnType::text) return std::nullopt;
  const auto most =
      std::max_element(kTypes.begin(), kTypes.end(), [&](sql_common::ColumnType a, sql_common::ColumnType b) {
        return counted_[index_of(a)].values < counted_[index_of(b)].values;
      });
  const Counted& counted = counted_[index_of(*most)];
  if (counted.values == 0 || counted.values * 2 < values_) return std::nullopt;
  return counted.other;
}

}  // namespace giftsync::schema::crm::managed
