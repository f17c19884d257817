// cli: rows of a CSV file (RFC 4180: commas, quotes doubled inside quotes, line ends inside quotes),
// each with its first line number. Strict: a stray quote is a fault. Memory holds one row.
#pragma once

#include <cstddef>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace giftsync::cli {

struct CsvRow {
  std::size_t line = 0;  ///< where the row begins, from 1
  std::vector<std::string> cells;
};

class CsvReader {
 public:
  static constexpr std::size_t kMaxRowBytes = std::size_t{16} << 20;

  /// A byte order mark at the start is skipped. `name` is the file name for fault messages.
  CsvReader(std::istream& in, std::string name);
  ~CsvReader();
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;

  /// The next row; skips blank lines. Empty at the end and after a fault.
  std::optional<CsvRow> next();
  /// "items.csv:3: ..."; empty if there is no fault so far.
  const std::string& fault() const { return fault_; }

 private:
  class Parser;
  bool fill();
  void feed_line();
  void set_fault(std::size_t line, const std::string& what);

  std::istream& in_;
  const std::string name_;
  std::unique_ptr<Parser> parser_;
  std::string buffer_;  // read but not fed yet, from at_
  std::size_t at_ = 0;
  std::size_t line_ = 1;  // of buffer_[at_]
  bool ended_ = false;
  std::string fault_;
};

}  // namespace giftsync::cli
