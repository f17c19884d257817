// schema/sql: the few SELECTs that decide how fast the program is. A connection prepares each once and keeps
// it, which SOCI does not; a row is read where the back end has put it. Everything else goes through
// soci::statement. Included by schema/'s .cpp files only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schema/sql/database.h"

namespace giftsync::schema::sql {

class KeptQuery {
 public:
  /// A SELECT with parameters of these names (":list" for "list"), of which none is the beginning of another.
  KeptQuery(soci::session& session, const std::string& text, std::vector<std::string> parameters = {"list"});
  ~KeptQuery();
  KeptQuery(const KeptQuery&) = delete;
  KeptQuery& operator=(const KeptQuery&) = delete;

  /// Runs it to its end, calling `row()` for each row. A text for each parameter: a list_of(), or a value in
  /// its digits, which what it is compared with makes a number. `row` asks the session nothing: another
  /// kept statement might take this one's place.
  template <class RowWork>
  void each_row(const std::vector<std::string>& values, RowWork&& row) {
    run(values);
    while (next()) row();
  }
  /// Of the row at hand, columns from 0; valid during `row()`. An absent value is empty or 0.
  std::string_view text(int column) const;
  std::int64_t integer(int column) const;
  bool is_absent(int column) const;

 private:
  void run(const std::vector<std::string>& values);
  bool next();

  struct Rows;
  std::unique_ptr<Rows> rows_;
};

}  // namespace giftsync::schema::sql
