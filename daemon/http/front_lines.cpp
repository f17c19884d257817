#include "daemon/http/front_lines.h"

#include <algorithm>

namespace giftsync::daemon {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kEmptyLine = "\r\n\r\n";
constexpr std::size_t kMaxSizeDigits = 16;  ///< of 64 bits

constexpr std::string_view kBareLineFeed = "A line ends with LF alone; HTTP lines end with CR LF.";

Extent fault(std::string_view sentence) {
  return {0, sentence};
}

bool has_bare_line_feed(std::string_view text) {
  for (std::size_t lf = text.find('\n'); lf != kNone; lf = text.find('\n', lf + 1)) {
    if (lf == 0 || text[lf - 1] != '\r') return true;
  }
  return false;
}

/// The hexadecimal digits that a chunk's line begins with; kNone when what has arrived of it cannot become a
/// size.
std::size_t count_size_digits(std::string_view line) {
  const std::size_t digits = std::min(line.find_first_not_of("0123456789abcdefABCDEF"), line.size());
  const bool is_followed_well =
      digits == line.size() || std::string_view("\r; \t").find(line[digits]) != kNone;
  if (!line.empty() && (digits == 0 || digits > kMaxSizeDigits || !is_followed_well)) return kNone;
  return digits;
}

}  // namespace

Extent HeadSearch::look(std::string_view bytes) {
  for (;;) {
    const std::size_t lf = bytes.find('\n', scanned_);
    if (lf >= kMaxHeadBytes && bytes.size() >= kMaxHeadBytes) {
      return fault("The header is longer than 16,384 bytes.");
    }
    if (lf == kNone) {
      scanned_ = bytes.size();
      return {};
    }
    if (lf == 0 || bytes[lf - 1] != '\r') return fault(kBareLineFeed);
    const char first = bytes[line_begin_];
    if (first == '\r') return {lf + 1, {}};
    if (first == ' ' || first == '\t') return fault("A header line begins with white space.");
    if (++lines_ > kMaxHeaderFields + 1) return fault("The header has more than 64 fields.");
    scanned_ = line_begin_ = lf + 1;
  }
}

Extent look_at_chunk_line(std::string_view bytes, bool behind_chunk) {
  const std::size_t begin = behind_chunk ? std::min(kLineEnd.size(), bytes.size()) : 0;
  if (!kLineEnd.starts_with(bytes.substr(0, begin))) return fault("A chunk is longer than its size says.");
  const std::string_view rest = bytes.substr(begin);
  const std::size_t lf = rest.find('\n');
  const std::string_view line = rest.substr(0, lf);
  const std::size_t digits = count_size_digits(line);
  if (digits == kNone) return fault("A chunk size is not a hexadecimal number of at most 16 digits.");

  const bool is_last = line.find_first_not_of('0') >= digits;
  std::size_t end = lf == kNone ? kNone : lf + 1;
  if (end != kNone && is_last) {
    const std::size_t empty_line = line.empty() ? kNone : rest.find(kEmptyLine, lf - 1);
    end = empty_line == kNone ? kNone : empty_line + kEmptyLine.size();
  }
  if (has_bare_line_feed(rest.substr(0, end))) return fault(kBareLineFeed);
  if (end != kNone) return {begin + end, {}};
  if (bytes.size() >= kMaxHeadBytes)
    return fault("A chunk's line or the trailer is longer than 16,384 bytes.");
  return {};
}

}  // namespace giftsync::daemon
