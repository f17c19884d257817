// daemon/http: where a header and a chunk's line end, in bytes that arrive piece by piece, and what can
// already be seen to be wrong with them: a client is told now, not when its deadline passes. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace giftsync::daemon {

constexpr std::size_t kMaxHeadBytes =
    16 * 1024;  ///< request line and header; also a chunk's line, and the trailer
constexpr std::size_t kMaxHeaderFields = 64;

/// How far something reaches into the bytes at hand.
struct Extent {
  std::size_t length = 0;  ///< with its end; 0: the end has not arrived
  std::string_view fault;  ///< a sentence (a literal); empty: nothing wrong so far
};

/// Looks for the empty line behind a header; goes on where it stopped. Faults: a bare LF, a line that begins
/// with white space (obs-fold), too many fields, too many bytes.
class HeadSearch {
 public:
  /// `bytes`: all that arrived from the header's first byte on.
  Extent look(std::string_view bytes);

 private:
  std::size_t scanned_ = 0;
  std::size_t line_begin_ = 0;
  std::size_t lines_ = 0;
};

/// A chunk's line at the front of `bytes`; of the last chunk (size 0) the whole trailer with it.
/// `behind_chunk`: the CR LF behind the data of the chunk before comes first, and counts. Faults: that CR LF
/// is missing, the size is not 1 to 16 hexadecimal digits, a bare LF, too many bytes. Extensions and trailer
/// fields are not judged.
Extent look_at_chunk_line(std::string_view bytes, bool behind_chunk);

}  // namespace giftsync::daemon
