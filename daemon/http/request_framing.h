// daemon/http: splits received bytes into requests. Anything that two readers could understand differently is
// an error (HTTP-15, RFC 9112). No sockets, no clock.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "daemon/http/head_scanner.h"
#include "daemon/http/http_message.h"

namespace giftsync::daemon::http {

/// Reads one request after the other. One thread at a time. Boost.Beast's parser implements the grammar; this
/// class checks what Beast accepts and giftsync refuses: equal Content-Lengths, lists of them, obs-fold, a
/// bare LF (reported at once, not at the deadline), transfer codings other than chunked, Host, and the total
/// size of header, chunk line and trailer.
class RequestFraming {
 public:
  enum class Stage {
    head,       ///< more bytes are needed for the header
    body,       ///< the header is complete, more bytes are needed for the body
    complete,   ///< request() is complete
    too_large,  ///< the header is valid, but the body is or will be longer than allowed; request() has no
                ///< body
    invalid,    ///< error_message() says why; later bytes cannot be trusted
  };

  explicit RequestFraming(std::size_t max_body_bytes);
  ~RequestFraming();

  /// Begins the next request.
  void reset();
  /// `limit`: the largest body that is allowed after this header; called once the header is complete and
  /// valid, before any byte of the body is read.
  void set_body_limit(std::function<std::size_t(const HttpRequest& head)> limit) {
    body_limit_ = std::move(limit);
  }

  /// Consumes usable `bytes` and returns their number. In stages head and body the rest must be passed again
  /// at the front of the next call, followed by more. In the other stages it consumes nothing.
  std::size_t feed(std::string_view bytes);

  Stage stage() const { return stage_; }
  /// A message for the client. Only in stage invalid.
  std::string_view error_message() const { return error_message_; }
  /// Method, path, query and headers once stage head is over; the body in stage complete.
  HttpRequest& request() { return request_; }
  /// The client allows reuse of the connection. Only in stage complete.
  bool keep_alive() const;
  /// The client waits for "100 Continue" before it sends the body. Only in stage body.
  bool expects_continue() const;
  /// The announced size of the body, or for one in chunks what is allowed. Only in stage body.
  std::size_t largest_body() const { return largest_body_; }
  /// False: the client speaks HTTP/1.0. Once stage head is over.
  bool is_http_1_1() const;

 private:
  class Parser;

  std::size_t feed_head(std::string_view bytes);
  std::size_t feed_body(std::string_view bytes);
  void parse_head(std::string_view head);
  bool apply_body_limit();
  std::size_t parse_body(std::string_view bytes);
  void fail(std::string_view message);

  const std::size_t max_body_bytes_;
  std::function<std::size_t(const HttpRequest& head)> body_limit_;
  std::unique_ptr<Parser> parser_;
  HttpRequest request_;
  Stage stage_ = Stage::head;
  std::string_view error_message_;  ///< always a literal
  std::size_t largest_body_ = 0;
  HeadScanner head_scanner_;
  bool skipped_empty_line_ = false;
};

}  // namespace giftsync::daemon::http
