// crm/sql/managed: types one cell of an imported CSV file and normalizes its value, so that importing
// the same file again changes nothing. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "crm/sql/columns.h"

namespace giftsync::crm::managed {

/// The cell as it is stored in a column of the type; empty when it suits no value of it. The cell is not
/// empty.
///   number     "-80000.50": no leading zeros (those mark codes such as "00501"), at most 15 significant
///   digits, or
///              18 when it is whole: what both back ends hold exactly; "9.0E8" is stored as "900000000"
///   date       "2022-05-07"
///   date_time  RFC 3339, also with "+0000" as Salesforce writes it; a date alone is its midnight in UTC
///   checkbox   true, false, 1, 0
std::optional<std::string> normalize_cell(std::string_view cell, crm::sql_crm::ColumnType type,
                                          sql::Dialect dialect);

/// The expected format, for the reason of a refusal: "a number such as 80000.50".
std::string_view expected_format(crm::sql_crm::ColumnType type);

/// A value that keeps a column from being of a type that most of its values have.
struct OtherValue {
  crm::sql_crm::ColumnType most;  ///< the type of the others
  std::size_t line = 0;           ///< of the file; 0: it is a row of the table
  std::string id;                 ///< the row's, when it is one of the table
  std::string value;
};

/// The type of a column, from all its values: number, date or date and time if every non-empty value is one,
/// else text.
class TypeDetector {
 public:
  /// `line` or `id` tells where the value is.
  void add(std::string_view cell, std::size_t line, std::string_view id = {});
  /// Adds the values of `more`.
  void merge(const TypeDetector& more);
  crm::sql_crm::ColumnType type() const;
  bool has_values() const { return values_ > 0; }
  /// The first value that makes the column text although at least half of its values have another type.
  std::optional<OtherValue> text_cause() const;

 private:
  static constexpr std::array kTypes{crm::sql_crm::ColumnType::number, crm::sql_crm::ColumnType::date,
                                     crm::sql_crm::ColumnType::date_time};
  struct Counted {
    std::size_t values = 0;
    std::optional<OtherValue> other;  ///< the first that is not of this type
  };

  std::size_t values_ = 0;
  std::array<Counted, 5> counted_;  // by type; those of kTypes are used
};

// Changes the types of a table's custom columns: text that holds only numbers, dates or
// times becomes that (SYNC-37). Included by schema/'s .cpp files only.

/// "NUMERIC".
std::string_view sql_type_name(crm::sql_crm::ColumnType type);

/// One import at a time adds columns, changes their types and counts rows.
void lock_for_import(soci::session& session);

void add_column(soci::session& session, const std::string& table, const std::string& name,
                crm::sql_crm::ColumnType type);

/// Converts a text column whose values all suit the type. An admin's own index or view may prevent it: then
/// it stays text, and the result is false.
bool change_type(soci::session& session, const std::string& table, const std::string& column,
                 crm::sql_crm::ColumnType type);

/// The type of a text column's values, without the rows that `skipped` names. Reads page by page; stops when
/// most values are no more than text.
TypeDetector detect_stored_type(soci::session& session, const std::string& table, const std::string& column,
                                const std::function<bool(const std::string& id)>& skipped);

enum class TypeChangeOutcome {
  done,
  prevented,   ///< by an object of the database
  not_needed,  ///< the column or its values have changed meanwhile
};
/// Converts a text column to the type that all its values have.
TypeChangeOutcome change_type_of_values(sql::Database& database, const std::string& table,
                                        const std::string& column, crm::sql_crm::ColumnType type);

}  // namespace giftsync::crm::managed
