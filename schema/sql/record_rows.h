// schema/sql: the rows of a record, by the list of its fields (schema/record_fields.h). A member is stored as
// its soci::type_conversion says; enumerations are words. Statements that join, lock or claim stay written
// out, and take the list of columns from here. Included by schema/'s .cpp files only.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "schema/record_fields.h"
#include "schema/sql/bulk_rows.h"
#include "schema/sql/prepared_query.h"
#include "schema/sql/queries.h"

namespace giftsync::sql {

/// "r.id, r.account_id"; without an alias "id, account_id". `expression(field, "r.id")` may select something
/// else.
template <class Fields, class Expression>
std::string select_list(const Fields& fields, std::string_view alias, Expression&& expression) {
  std::string list;
  fields.each([&](const auto& field) {
    std::string column(alias);
    column.append(alias.empty() ? "" : ".").append(field.column);
    list.append(list.empty() ? "" : ", ").append(expression(field, column));
  });
  return list;
}
template <class Fields>
std::string select_list(const Fields& fields, std::string_view alias = "") {
  return select_list(fields, alias, [](const auto&, const std::string& column) { return column; });
}

/// A column of the current row as a member. An absent value becomes an empty optional, else 0 or an empty
/// text; an empty text becomes an empty optional word.
template <class Value>
void read_value(const PreparedQuery& row, int at, Value& value) {
  if constexpr (std::is_same_v<Value, std::string>) {
    value = row.text(at);
  } else if constexpr (std::is_integral_v<Value>) {
    value = static_cast<Value>(row.integer(at));
  } else if constexpr (record_field::kIsOptional<Value>) {
    using Required = typename Value::value_type;
    if (row.is_null(at) || (std::is_enum_v<Required> && row.text(at).empty())) return value.reset();
    read_value(row, at, value.emplace());
  } else if constexpr (std::is_enum_v<Value>) {
    soci::type_conversion<Value>::from_base(std::string(row.text(at)), soci::i_ok, value);
  } else {
    soci::type_conversion<Value>::from_base(row.integer(at), soci::i_ok, value);
  }
}

/// The record of the current row, whose columns from index `at` on are the select_list().
template <class Fields>
typename Fields::Record read_record(const Fields& fields, const PreparedQuery& row, int at = 0) {
  typename Fields::Record record;
  fields.each([&](const auto& field) { read_value(row, at++, field.of(record)); });
  return record;
}

/// The records of a SELECT or RETURNING whose columns are the select_list(). `uses`: its soci::use.
template <class Fields, class... Uses>
std::vector<typename Fields::Record> select_records(const Fields& fields, soci::session& session,
                                                    std::string_view text, Uses&&... uses) {
  typename Fields::Record row;
  return fields.of(
      row, [&](auto&... value) { return select_rows(row, session, text, uses..., soci::into(value)...); });
}

/// The records of their own table. `rest`: what follows the table's name. `uses`: its soci::use.
template <class Fields, class... Uses>
std::vector<typename Fields::Record> find_records(const Fields& fields, soci::session& session,
                                                  const std::string& rest, Uses&&... uses) {
  return select_records(fields, session,
                        "SELECT " + select_list(fields) + " FROM " + std::string(fields.table) + " " + rest,
                        uses...);
}

template <class Value>
Cell cell_of(const Value& value) {
  if constexpr (std::is_same_v<Value, std::string>) {
    return std::string_view(value);
  } else if constexpr (std::is_integral_v<Value>) {
    return std::int64_t{value};
  } else if constexpr (record_field::kIsOptional<Value>) {
    if (value) return cell_of(*value);
    return std::is_enum_v<typename Value::value_type> ? Cell(std::string_view()) : Cell();
  } else if constexpr (std::is_enum_v<Value>) {
    return to_word(value);
  } else if constexpr (std::is_same_v<Value, Money>) {
    return value.minor_units;
  } else {
    return value.value;
  }
}

template <class Value>
constexpr BulkRows::Type bulk_type_of() {
  if constexpr (record_field::kIsOptional<Value>)
    return bulk_type_of<typename Value::value_type>();
  else
    return std::is_same_v<Value, std::string> || std::is_enum_v<Value> ? BulkRows::Type::text
                                                                       : BulkRows::Type::integer;
}

/// The columns of a bulk statement.
template <class Fields>
std::vector<BulkRows::Column> bulk_columns(const Fields& fields) {
  std::vector<BulkRows::Column> columns;
  fields.each([&]<class One>(const One& field) {
    columns.push_back({field.column, bulk_type_of<typename One::Value>()});
  });
  return columns;
}

/// The cells of such a row. Texts belong to the record.
template <class Fields>
std::array<Cell, Fields::kCount> cells_of(const Fields& fields, const typename Fields::Record& record) {
  std::array<Cell, Fields::kCount> cells;
  std::size_t at = 0;
  fields.each([&](const auto& field) { cells[at++] = cell_of(field.of(record)); });
  return cells;
}

/// Inserts one record; returns whether it was inserted. `suffix`: "ON CONFLICT (id) DO NOTHING".
template <class Fields>
bool insert_record(soci::session& session, const Fields& fields, const typename Fields::Record& record,
                   std::string_view suffix = "") {
  std::string columns, values;
  fields.each([&](const auto& field) {
    columns.append(columns.empty() ? "" : ", ").append(field.column);
    values.append(values.empty() ? ":" : ", :").append(field.column);
  });
  const std::string text = "INSERT INTO " + std::string(fields.table) + " (" + columns + ") VALUES (" +
                           values + ") " + std::string(suffix);
  return fields.of(
      record, [&](const auto&... value) { return change_rows(session, text, soci::use(value)...) == 1; });
}

/// Updates the rows that `where` selects to this record, but for the columns in `kept`; returns how many.
/// `where` may name fields as parameters: "WHERE id = :id".
template <class Fields>
std::int64_t update_record(soci::session& session, const Fields& fields,
                           const typename Fields::Record& record,
                           std::initializer_list<std::string_view> kept, const std::string& where) {
  soci::statement statement(session);
  std::string assignments;
  fields.each([&](const auto& field) {
    const std::string column(field.column);
    const bool is_set = std::find(kept.begin(), kept.end(), field.column) == kept.end();
    if (is_set)
      assignments.append(assignments.empty() ? "" : ", ").append(column).append(" = :").append(column);
    if (is_set || (where + " ").find(":" + column + " ") != std::string::npos)
      statement.exchange(soci::use(field.of(record), column));
  });
  statement.alloc();
  statement.prepare("UPDATE " + std::string(fields.table) + " SET " + assignments + " " + where, kRunOnce);
  statement.define_and_bind();
  statement.execute(true);
  return statement.get_affected_rows();
}

}  // namespace giftsync::sql
