// daemon/http: finds the end of a header and of a chunk's line in bytes that arrive in pieces, and errors
// that are already visible, so a client gets its 400 at once and not at the deadline. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace giftsync::daemon::http {

constexpr std::size_t kMaxHeadBytes =
    16 * 1024;  ///< request line and header; also a chunk's line, and the trailer
constexpr std::size_t kMaxHeaderFields = 64;

/// The length of an item within the received bytes.
struct ScanResult {
  std::size_t length = 0;          ///< including its end; 0: the end has not arrived
  std::string_view error_message;  ///< a literal; empty: no error so far
};

/// Searches for the empty line after a header; continues where it stopped. Errors: a bare LF, a line that
/// begins with white space (obs-fold), too many fields, too many bytes.
class HeadScanner {
 public:
  /// `bytes`: all received bytes from the header's first one.
  ScanResult scan(std::string_view bytes);

 private:
  std::size_t scanned_ = 0;
  std::size_t line_begin_ = 0;
  std::size_t lines_ = 0;
};

/// A chunk's line at the front of `bytes`; for the last chunk (size 0) including the complete trailer.
/// `behind_chunk`: the CR LF after the previous chunk's data comes first and counts. Errors: that CR LF is
/// missing, the size is not 1 to 16 hexadecimal digits, a bare LF, too many bytes. Extensions and trailer
/// fields are not checked.
ScanResult scan_chunk_line(std::string_view bytes, bool behind_chunk);

}  // namespace giftsync::daemon::http
