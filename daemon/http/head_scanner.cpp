#include "daemon/http/head_scanner.h"

#include <algorithm>

namespace giftsync::daemon::http {
namespace {

constexpr std::size_t kNotFound = std::string_view::npos;
constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kEmptyLine = "\r\n\r\n";
constexpr std::size_t kMaxSizeDigits = 16;  ///< of 64 bits

constexpr std::string_view kBareLineFeedMessage = "A line ends with LF alone; HTTP lines end with CR LF.";

ScanResult scan_error(std::string_view message) {
  return {0, message};
}

bool has_bare_line_feed(std::string_view text) {
  for (std::size_t lf = text.find('\n'); lf != kNotFound; lf = text.find('\n', lf + 1)) {
    if (lf == 0 || text[lf - 1] != '\r') return true;
  }
  return false;
}

/// The hexadecimal digits at the start of a chunk's line; kNotFound when the received bytes cannot become a
/// size.
std::size_t count_size_digits(std::string_view line) {
  const std::size_t digits = std::min(line.find_first_not_of("0123456789abcdefABCDEF"), line.size());
  const bool has_valid_terminator =
      digits == line.size() || std::string_view("\r; \t").find(line[digits]) != kNotFound;
  if (!line.empty() && (digits == 0 || digits > kMaxSizeDigits || !has_valid_terminator)) return kNotFound;
  return digits;
}

}  // namespace

ScanResult HeadScanner::scan(std::string_view bytes) {
  for (;;) {
    const std::size_t lf = bytes.find('\n', scanned_);
    if (lf >= kMaxHeadBytes && bytes.size() >= kMaxHeadBytes) {
      return scan_error("The header is longer than 16,384 bytes.");
    }
    if (lf == kNotFound) {
      scanned_ = bytes.size();
      return {};
    }
    if (lf == 0 || bytes[lf - 1] != '\r') return scan_error(kBareLineFeedMessage);
    const char first = bytes[line_begin_];
    if (first == '\r') return {lf + 1, {}};
    if (first == ' ' || first == '\t') return scan_error("A header line begins with white space.");
    if (++lines_ > kMaxHeaderFields + 1) return scan_error("The header has more than 64 fields.");
    scanned_ = line_begin_ = lf + 1;
  }
}

ScanResult scan_chunk_line(std::string_view bytes, bool behind_chunk) {
  const std::size_t begin = behind_chunk ? std::min(kLineEnd.size(), bytes.size()) : 0;
  if (!kLineEnd.starts_with(bytes.substr(0, begin)))
    return scan_error("A chunk is longer than its size says.");
  const std::string_view rest = bytes.substr(begin);
  const std::size_t lf = rest.find('\n');
  const std::string_view line = rest.substr(0, lf);
  const std::size_t digits = count_size_digits(line);
  if (digits == kNotFound)
    return scan_error("A chunk size is not a hexadecimal number of at most 16 digits.");

  const bool is_last = line.find_first_not_of('0') >= digits;
  std::size_t end = lf == kNotFound ? kNotFound : lf + 1;
  if (end != kNotFound && is_last) {
    const std::size_t empty_line = line.empty() ? kNotFound : rest.find(kEmptyLine, lf - 1);
    end = empty_line == kNotFound ? kNotFound : empty_line + kEmptyLine.size();
  }
  if (has_bare_line_feed(rest.substr(0, end))) return scan_error(kBareLineFeedMessage);
  if (end != kNotFound && begin + end <= kMaxHeadBytes) return {begin + end, {}};
  if (bytes.size() >= kMaxHeadBytes)
    return scan_error("A chunk's line or the trailer is longer than 16,384 bytes.");
  return {};
}

}  // namespace giftsync::daemon::http
