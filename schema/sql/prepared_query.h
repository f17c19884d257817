// schema/sql: the SELECTs on the hot path. Each connection prepares them once and reuses them, which SOCI
// does not; a row is read in place. Everything else uses soci::statement. Included by schema/'s .cpp files
// only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schema/sql/database.h"

namespace giftsync::sql {

class PreparedQuery {
 public:
  /// A SELECT with parameters of these names (":list" for "list"). No name may be a prefix of another.
  PreparedQuery(soci::session& session, const std::string& text,
                std::vector<std::string> parameters = {"list"});
  ~PreparedQuery();
  PreparedQuery(const PreparedQuery&) = delete;
  PreparedQuery& operator=(const PreparedQuery&) = delete;

  /// Runs the SELECT to its end and calls `row()` for each row. Each parameter is a text: a list_of(),
  /// or the digits of a value, which the comparison converts to a number. `row` must not use the
  /// session: another prepared query might invalidate this one.
  template <class RowWork>
  void each_row(const std::vector<std::string>& values, RowWork&& row) {
    run(values);
    while (next()) row();
  }
  /// Columns of the current row, from 0; valid during `row()`. An absent value is empty or 0.
  std::string_view text(int column) const;
  std::int64_t integer(int column) const;
  bool is_null(int column) const;

 private:
  void run(const std::vector<std::string>& values);
  bool next();

  struct Rows;
  std::unique_ptr<Rows> rows_;
};

}  // namespace giftsync::sql
