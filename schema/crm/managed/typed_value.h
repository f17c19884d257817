// schema/crm/managed: types one cell of an imported CSV file and normalizes its value, so that importing
// the same file again changes nothing. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schema/crm/sql_common/columns.h"

namespace giftsync::schema::crm::managed {

/// The cell as it is stored in a column of the type; empty when it suits no value of it. The cell is not
/// empty.
///   number     "-80000.50": no leading zeros (those mark codes such as "00501"), at most 15 significant
///   digits, or
///              18 when it is whole: what both back ends hold exactly; "9.0E8" is stored as "900000000"
///   date       "2022-05-07"
///   date_time  RFC 3339, also with "+0000" as Salesforce writes it; a date alone is its midnight in UTC
///   checkbox   true, false, 1, 0
std::optional<std::string> normalize_cell(std::string_view cell, sql_common::ColumnType type,
                                          sql::Dialect dialect);

/// The expected format, for the reason of a refusal: "a number such as 80000.50".
std::string_view expected_format(sql_common::ColumnType type);

/// The type of a new column, from all its cells: number, date or date and time if every non-empty cell is
/// one, else text.
class TypeDetector {
 public:
  void add(std::string_view cell);
  sql_common::ColumnType type() const;
  bool has_values() const { return any_; }

 private:
  bool any_ = false;
  bool numbers_ = true;
  bool dates_ = true;
  bool times_ = true;
};

}  // namespace giftsync::schema::crm::managed
