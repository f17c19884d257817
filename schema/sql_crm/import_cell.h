// schema/sql_crm: one cell of an imported CSV file: which types its text suits, and the one spelling under
// which it is stored, so that importing the same file again changes nothing. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schema/sql_crm/columns.h"

namespace giftsync::schema::sql_crm {

/// The cell as it is stored in a column of the type; empty when it suits no value of it. The cell is not
/// empty.
///   number     "-80000.50": no leading zeros (those mark codes such as "00501"), at most 15 significant
///   digits, or
///              18 when it is whole: what both back ends hold exactly; "9.0E8" is stored as "900000000"
///   date       "2022-05-07"
///   date_time  RFC 3339, also with "+0000" as Salesforce writes it; a date alone is its midnight in UTC
///   checkbox   true, false, 1, 0
std::optional<std::string> stored_cell(std::string_view cell, ColumnType type, Dialect dialect);

/// What is needed, for the reason of a refusal: "a number such as 80000.50".
std::string_view expectation(ColumnType type);

/// The type of a new column, from all its cells: number, date or date and time if every cell that is not
/// empty is one, else text.
class TypeSurvey {
 public:
  void add(std::string_view cell);
  ColumnType type() const;
  bool has_values() const { return any_; }

 private:
  bool any_ = false;
  bool numbers_ = true;
  bool dates_ = true;
  bool times_ = true;
};

}  // namespace giftsync::schema::sql_crm
