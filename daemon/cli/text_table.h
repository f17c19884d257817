// daemon/cli: a table for people: columns aligned by code points, as wide as the terminal that it is written
// to; in a pipe or a file nothing is cut. It is written page by page, so that a listing of any length needs
// the memory of one page; the first page settles the widths.
#pragma once

#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "schema/time.h"

namespace giftsync::daemon {

/// The text on one line, control characters shown as "?": what callers wrote cannot steer a terminal.
std::string printable(std::string_view text);

/// "2026-11-21 12:31", UTC, for tables; empty for no time.
std::string minute_text(const std::optional<schema::UtcMillis>& time);

/// Tables on this stream are at most so wide; 0, which every stream has at first: as wide as they are.
void set_line_width(std::ostream& out, long columns);

class TextTable {
 public:
  static constexpr std::size_t kPageRows = 200;

  enum class Kind {
    whole,    ///< never cut: ids, words
    number,   ///< never cut, to the right
    elastic,  ///< cut with "…" when the table would be too wide
    dear      ///< likewise, once the elastic ones have given what they can
  };
  struct Column {
    std::string title;
    Kind kind = Kind::whole;
  };

  TextTable(std::ostream& out, std::vector<Column> columns);
  /// One cell a column. `below` is printed indented under the row, in full, when it is not empty.
  void add(std::vector<std::string> cells, const std::string& below = {});
  /// Writes what is left; a table without rows writes nothing, not even its titles.
  void finish();

 private:
  struct Row {
    std::vector<std::string> cells;
    std::string below;
  };
  void write_page();
  void settle_widths();
  std::size_t widest_of(Kind kind) const;
  void write_cells(const std::vector<std::string>& cells);

  std::ostream& out_;
  const std::vector<Column> columns_;
  std::vector<std::size_t> widths_;  // empty until the first page
  std::vector<Row> page_;
};

}  // namespace giftsync::daemon
