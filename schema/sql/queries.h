// schema/sql: statements in one call: what a SELECT finds as values, or how many rows a change touched; and
// words and flags as values for SOCI. For the statements of Database's callers. Included by schema/'s .cpp
// files only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/sql/database.h"

namespace giftsync::sql {

/// Runs a statement with its soci::use; returns how many rows it changed.
template <class... Exchanged>
std::int64_t change_rows(soci::session& session, std::string_view text, Exchanged&&... exchanged) {
  soci::statement statement = bound(session, text, exchanged...);
  statement.execute(true);
  return statement.get_affected_rows();
}

/// The rows of a SELECT or RETURNING. `exchanged` fetches into `row`, which is copied after each fetch.
template <class Row, class... Exchanged>
std::vector<Row> select_rows(const Row& row, soci::session& session, std::string_view text,
                             Exchanged&&... exchanged) {
  soci::statement statement = bound(session, text, exchanged...);
  std::vector<Row> rows;
  each_row(statement, [&] { rows.push_back(row); });
  return rows;
}

/// The same for a single column.
template <class Value, class... Exchanged>
std::vector<Value> select_column(soci::session& session, std::string_view text, Exchanged&&... exchanged) {
  Value value{};
  return select_rows(value, session, text, exchanged..., soci::into(value));
}

/// The first row, if there is one.
template <class Row>
std::optional<Row> first_of(const std::vector<Row>& rows) {
  return rows.empty() ? std::nullopt : std::optional(rows.front());
}

/// The only column of a SELECT's only row, for example a count; a default value when there is no row.
template <class Value, class... Exchanged>
Value select_value(soci::session& session, std::string_view text, Exchanged&&... exchanged) {
  return first_of(select_column<Value>(session, text, exchanged...)).value_or(Value{});
}

/// Whether `rows` ("table WHERE condition") are any; the first one is enough.
template <class... Exchanged>
bool has_row(soci::session& session, const std::string& rows, Exchanged&&... exchanged) {
  return select_value<std::int64_t>(session,
                                    "SELECT count(*) FROM (SELECT 1 FROM " + rows + " LIMIT 1) first_row",
                                    exchanged...) > 0;
}

/// A pattern that LIKE ... ESCAPE '!' matches with this text alone.
inline std::string like_pattern(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (c == '!' || c == '%' || c == '_') pattern += '!';
    pattern += c;
  }
  return pattern;
}

/// An enumeration that is stored as a word; an unknown word is read as `otherwise`.
template <class Enum, auto parse, Enum otherwise>
struct WordConversion {
  using base_type = std::string;
  static void from_base(const std::string& in, soci::indicator, Enum& out) {
    out = parse(in).value_or(otherwise);
  }
  static void to_base(const Enum& in, std::string& out, soci::indicator& ind) {
    out = to_word(in);
    ind = soci::i_ok;
  }
};

}  // namespace giftsync::sql

namespace soci {

/// Stored as 0 or 1.
template <>
struct type_conversion<bool> {
  using base_type = long long;
  static void from_base(long long in, indicator, bool& out) { out = in != 0; }
  static void to_base(bool in, long long& out, indicator& ind) {
    out = in ? 1 : 0;
    ind = i_ok;
  }
};

}  // namespace soci
