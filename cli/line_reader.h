// cli: reads a file line by line; memory holds one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>

namespace giftsync::cli {

class LineReader {
 public:
  static constexpr std::size_t kMaxLineBytes = std::size_t{64} << 10;

  explicit LineReader(std::istream& in);

  struct Line {
    std::size_t number = 0;  ///< from 1
    std::string_view text;   ///< without line end, valid until the next call; empty if too_long
    bool too_long = false;   ///< longer than kMaxLineBytes; the rest of it is skipped
  };
  /// Empty at the end.
  std::optional<Line> next();
  /// The size of the lines read so far.
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::istream& in_;
  std::string buffer_;
  std::size_t number_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace giftsync::cli
