// daemon/http: formats a response as bytes, with the fields that the server adds.
#pragma once

#include <cstddef>
#include <ctime>
#include <string>
#include <string_view>

#include "daemon/http/http_message.h"

namespace giftsync::http {

/// An RFC 9457 response about the message framing: type "about:blank", title, status, detail and message (the
/// same text).
HttpResponse problem_response(int status, std::string_view detail);

/// The value of the Date field, formatted again once a second. One thread at a time.
class HttpDate {
 public:
  std::string_view now();

 private:
  std::time_t second_ = -1;
  std::string text_;
};

/// 128 random bits as 32 hexadecimal digits, from the kernel's generator, sixteen ids per call. One thread at
/// a time.
class RequestIds {
 public:
  std::string next();

 private:
  static constexpr std::size_t kIdBytes = 16;
  char random_[16 * kIdBytes];
  std::size_t used_ = sizeof random_;
};

/// What the server adds to a response.
struct ResponseFrame {
  std::string_view date;
  std::string_view request_id;
  bool close;               ///< no further request is served on this connection
  bool is_chunked = false;  ///< the body of HttpResponse::next_chunk is framed in chunks
  bool has_hsts = false;    ///< browsers use TLS alone from now on (HTTP-56)
};

/// Replaces `head` by status line, header and empty line. Content-Length is the body's size, also for HEAD;
/// 204 and 304 have none, nor has a body that is made in parts. Control characters in header values become
/// spaces, so a value with a caller's text cannot add a line. Fields that the server sets itself are skipped.
void write_response_head(const HttpResponse& response, const ResponseFrame& frame, std::string& head);

/// What precedes a chunk of `size` bytes; for size 0, which ends the body, all but the last CR LF.
std::string chunk_line(std::size_t size);

/// False for responses that never carry a body.
bool may_have_body(std::string_view method, int status);

}  // namespace giftsync::http
