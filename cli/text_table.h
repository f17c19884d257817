// cli: a text table: columns aligned by code points, cut to the width of the terminal; nothing is cut in a
// pipe or a file. It is written page by page, so that memory holds one page; the first page determines the
// widths.
#pragma once

#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "platform/time.h"

namespace giftsync::cli {

/// The text on one line: white space as blanks, invisible characters escaped (platform/visible_text.h), so
/// that stored text cannot control the terminal.
std::string printable(std::string_view text);

/// "2026-11-21 12:31" in UTC; empty for no time.
std::string minute_text(const std::optional<platform::UtcMillis>& time);

/// Sets the maximum width of tables on this stream; 0 (the default) means unlimited.
void set_line_width(std::ostream& out, long columns);

class TextTable {
 public:
  static constexpr std::size_t kPageRows = 200;

  enum class Kind {
    whole,        ///< never cut: ids, words
    number,       ///< never cut, right-aligned
    elastic,      ///< cut with "…" if the table is too wide
    elastic_last  ///< cut after the elastic columns
  };
  struct Column {
    std::string title;
    Kind kind = Kind::whole;
  };
  struct Row {
    std::vector<std::string> cells;  ///< one per column
    std::string below = {};          ///< printed uncut and indented under the row, unless empty
  };

  TextTable(std::ostream& out, std::vector<Column> columns);
  /// One cell per column. A non-empty `below` is printed uncut and indented under the row.
  void add(std::vector<std::string> cells, const std::string& below = {});
  /// Writes the remaining rows. A table without rows writes nothing, not even its titles.
  void finish();

 private:
  void write_page();
  void compute_widths();
  std::size_t widest_of(Kind kind) const;
  void write_cells(const std::vector<std::string>& cells);

  std::ostream& out_;
  const std::vector<Column> columns_;
  std::vector<std::size_t> widths_;  // empty until the first page
  std::vector<Row> page_;
};

}  // namespace giftsync::cli
