// cli: rows of a CSV file (RFC 4180: commas, quotes doubled inside quotes, line ends inside quotes), each
// with its first line number. CR, LF and CR LF end a row, also mixed. Reads what spreadsheets save (OPS-21):
// semicolons or tabs if the header has them and no comma, a first line "sep=;", and UTF-16. Strict: a stray
// quote is a fault. Memory holds one row.
#pragma once

#include <cstddef>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace giftsync::cli {

struct CsvRow {
  std::size_t line = 0;  ///< where the row begins, from 1
  std::vector<std::string> cells;
};

/// The first row of a file whose columns have known names.
struct CsvHeader {
  std::map<std::string, std::size_t> column_at;  ///< by name in lower case
  std::size_t columns = 0;
  std::vector<std::string> faults;  ///< without file and line

  /// Why the cells are no row below this header.
  std::optional<std::string> row_fault(const std::vector<std::string>& cells) const;
  /// Without spaces at both ends; empty where the file has no such column.
  std::string cell(const std::vector<std::string>& cells, const std::string& column) const;
};

/// Names are `required` and `optional`, in any case and order.
CsvHeader read_csv_header(const std::vector<std::string>& cells, const std::vector<std::string>& required,
                          const std::vector<std::string>& optional);

class CsvReader {
 public:
  static constexpr std::size_t kMaxRowBytes = std::size_t{16} << 20;

  /// `name` is the file name for fault messages.
  CsvReader(std::istream& in, std::string name);
  ~CsvReader();
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;

  /// The next row; skips rows without any text. Below the first one empty cells beyond its last name are no
  /// cells. Cells are without no-break spaces and their kind at both ends. Empty at the end and after a
  /// fault.
  std::optional<CsvRow> next();
  /// "items.csv:3: ..."; empty if there is no fault so far.
  const std::string& fault() const { return fault_; }

 private:
  class Parser;
  struct Utf16;
  void begin();
  bool fill();
  void feed_line();
  bool is_row(CsvRow& row);
  void set_fault(std::size_t line, const std::string& what);

  std::istream& file_;
  std::istream* in_;
  const std::string name_;
  std::unique_ptr<Utf16> utf16_;  // in_, when the file is not UTF-8
  std::unique_ptr<Parser> parser_;
  std::string buffer_;  // read but not fed yet, from at_
  std::size_t at_ = 0;
  std::size_t line_ = 1;  // of buffer_[at_]
  bool after_cr_ = false;
  bool names_separator_ = false;  // the first row does
  std::size_t columns_ = 0;       // of the header
  bool ended_ = false;
  std::string fault_;
};

}  // namespace giftsync::cli
