// daemon/cli: rows of a CSV file (RFC 4180: commas, quotes doubled inside quotes, line ends inside quotes),
// each with the line where it begins. Strict: a stray quote is a fault, not a guess. Holds one row at a time.
#pragma once

#include <cstddef>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace giftsync::daemon {

struct CsvRow {
  std::size_t line = 0;  ///< where the row begins, from 1
  std::vector<std::string> cells;
};

class CsvReader {
 public:
  static constexpr std::size_t kMostRowBytes = std::size_t{16} << 20;

  /// A byte order mark at the start is skipped. `name` is the file's, for faults.
  CsvReader(std::istream& in, std::string name);
  ~CsvReader();
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;

  /// The next row; blank lines are none. Empty at the end, and after a fault.
  std::optional<CsvRow> next();
  /// "items.csv:3: ..."; empty when all is well so far.
  const std::string& fault() const { return fault_; }

 private:
  class Parser;
  bool fill();
  void feed_line();
  void blame(std::size_t line, const std::string& what);

  std::istream& in_;
  const std::string name_;
  std::unique_ptr<Parser> parser_;
  std::string buffer_;  // read but not fed yet, from at_
  std::size_t at_ = 0;
  std::size_t line_ = 1;  // of buffer_[at_]
  bool ended_ = false;
  std::string fault_;
};

}  // namespace giftsync::daemon
