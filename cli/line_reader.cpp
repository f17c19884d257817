#include "cli/line_reader.h"

#include <limits>

namespace giftsync::cli {

LineReader::LineReader(std::istream& in) : in_(in), buffer_(kMaxLineBytes + 2, '\0') {}

std::optional<LineReader::Line> LineReader::next() {
  in_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  const auto taken = static_cast<std::size_t>(in_.gcount());
  if (taken == 0) return std::nullopt;
  ++number_;
  bytes_ += taken;
  if (in_.fail() && !in_.eof()) {  // the buffer is full without a line end
    in_.clear();
    in_.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    bytes_ += static_cast<std::uint64_t>(in_.gcount());
    return Line{number_, {}, true};
  }
  // gcount() includes the line end, but not the end of the file.
  std::string_view text(buffer_.data(), in_.eof() ? taken : taken - 1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return Line{number_, text, false};
}

}  // namespace giftsync::cli
