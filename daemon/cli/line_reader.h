// daemon/cli: the lines of a file of any length in the memory of one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>

namespace giftsync::daemon {

class LineReader {
 public:
  static constexpr std::size_t kMostLineBytes = std::size_t{64} << 10;

  explicit LineReader(std::istream& in);

  struct Line {
    std::size_t number = 0;  ///< from 1
    std::string_view text;   ///< without its line end, until the next call; empty when too_long
    bool too_long = false;   ///< longer than kMostLineBytes; the rest of it is skipped
  };
  /// Empty at the end.
  std::optional<Line> next();
  /// Of the lines read so far.
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::istream& in_;
  std::string buffer_;
  std::size_t number_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace giftsync::daemon
