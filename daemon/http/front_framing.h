// daemon/http: where one request ends and the next begins. Bytes go in as they arrive, whole requests come
// out; anything two readers could understand differently is a fault (design 3.4, RFC 9112). No sockets, no
// clock.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "daemon/http/front_lines.h"
#include "daemon/http/http_message.h"

namespace giftsync::daemon {

/// Reads one request after the other. One thread at a time. Boost.Beast's parser does the grammar; what it
/// lets pass and we do not is checked here: equal Content-Lengths, lists of them, obs-fold, a bare LF (told
/// at once, not at the deadline), transfer codings other than chunked, Host, the size of header, chunk line
/// and trailer as a whole.
class RequestFraming {
 public:
  enum class Stage {
    head,       ///< more bytes are needed for the header
    body,       ///< the header is complete, more bytes are needed for the body
    whole,      ///< request() is complete
    too_large,  ///< the header is good, but the body is or will be longer than allowed; request() has no body
    faulty,     ///< fault() says why; nothing behind this can be trusted
  };

  explicit RequestFraming(std::size_t max_body_bytes);
  ~RequestFraming();

  /// Begins the next request.
  void restart();

  /// Takes what it can use of `bytes` and returns how many those are. In stages head and body the rest must
  /// be offered again at the front of the next call, with more behind it. In the other stages it takes
  /// nothing.
  std::size_t take(std::string_view bytes);

  Stage stage() const { return stage_; }
  /// A sentence for the client. Only in stage faulty.
  std::string_view fault() const { return fault_; }
  /// Method, path, query and headers once stage head is over; the body in stage whole.
  HttpRequest& request() { return request_; }
  /// The client lets the connection be used again. Only in stage whole.
  bool keep_alive() const;
  /// The client waits for "100 Continue" before it sends the body. Only in stage body.
  bool expects_continue() const;

 private:
  class Parser;

  std::size_t take_head(std::string_view bytes);
  std::size_t take_body(std::string_view bytes);
  void parse_head(std::string_view head);
  std::size_t parse_body(std::string_view bytes);
  void fail(std::string_view sentence);

  const std::size_t max_body_bytes_;
  std::unique_ptr<Parser> parser_;
  HttpRequest request_;
  Stage stage_ = Stage::head;
  std::string_view fault_;  ///< always a literal
  HeadSearch head_search_;
  bool skipped_empty_line_ = false;
};

}  // namespace giftsync::daemon
