// daemon/http: an answer as bytes, with the fields that only the front knows.
#pragma once

#include <cstddef>
#include <ctime>
#include <string>
#include <string_view>

#include "daemon/http/http_message.h"

namespace giftsync::daemon {

/// An RFC 9457 answer about the message itself: type "about:blank", title, status, detail, message (=
/// detail).
HttpResponse problem_answer(int status, std::string_view detail);

/// The Date field's value, made anew once a second. One thread at a time.
class HttpDate {
 public:
  std::string_view now();

 private:
  std::time_t second_ = -1;
  std::string text_;
};

/// 128 random bits as 32 hexadecimal digits, from the kernel's generator, sixteen at a time. One thread at a
/// time.
class RequestIds {
 public:
  std::string next();

 private:
  static constexpr std::size_t kIdBytes = 16;
  unsigned char random_[16 * kIdBytes];
  std::size_t used_ = sizeof random_;
};

/// What the front adds to a response.
struct AnswerFrame {
  std::string_view date;
  std::string_view request_id;
  bool close;  ///< no further request is served on this connection
};

/// Replaces `head` by status line, header and empty line. Content-Length is the body's size, also for HEAD;
/// 204 and 304 have none. Control characters in the response's header values become spaces: a value that
/// carries a caller's text cannot add a line. Fields that the front itself sets are skipped.
void write_answer_head(const HttpResponse& response, const AnswerFrame& frame, std::string& head);

/// False for the answers that never carry a body, whatever the response holds.
bool carries_body(std::string_view method, int status);

}  // namespace giftsync::daemon
