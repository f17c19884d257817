// daemon/http: Boost.Beast's HTTP parser, which fills an HttpRequest directly. Included by
// request_framing.cpp only.
#pragma once

#include <boost/beast/http/basic_parser.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/http/http_message.h"

namespace giftsync::http {

// Finds the end of a header and of a chunk's line in bytes that arrive in pieces, and errors
// that are already visible, so a client gets its 400 at once and not at the deadline. Pure.

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

// Splits received bytes into requests. Anything that two readers could understand differently is
// an error (HTTP-15, RFC 9112). No sockets, no clock.

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

/// One request's parser. Its error_message() takes precedence over Beast's error code.
class RequestFraming::Parser final : public boost::beast::http::basic_parser<true> {
 public:
  Parser(HttpRequest& request, std::size_t max_body_bytes);

  std::string_view error_message() const { return error_message_; }
  /// Rules on the complete header; call it when the header is complete.
  std::string_view head_error() const;
  bool expects_continue() const { return expects_continue_; }
  bool is_http_1_1() const { return version_ == 11; }
  /// Announces a chunk's line.
  bool is_at_chunk_line() const { return has_coding_ && !is_in_chunk_; }
  /// Announces the CR LF after a chunk's data, followed by a chunk's line.
  bool is_behind_chunk() const { return has_chunk_ && !is_in_chunk_; }

 private:
  using string_view = boost::beast::string_view;
  using error_code = boost::beast::error_code;

  void on_request_impl(boost::beast::http::verb, string_view method, string_view target, int version,
                       error_code&) override;
  void on_response_impl(int, string_view, int, error_code&) override;
  void on_field_impl(boost::beast::http::field, string_view name, string_view value, error_code&) override;
  void on_header_impl(error_code&) override { in_header_ = false; }
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code&) override;
  std::size_t on_body_impl(string_view bytes, error_code&) override;
  void on_chunk_header_impl(std::uint64_t size, string_view extensions, error_code&) override;
  std::size_t on_chunk_body_impl(std::uint64_t remain, string_view bytes, error_code&) override;
  void on_finish_impl(error_code&) override {}

  void check_content_length(std::string_view value, error_code& error);
  void check_transfer_encoding(std::string_view value, error_code& error);
  void fail(std::string_view message, error_code& error);

  HttpRequest& request_;
  std::string authority_;  ///< of an absolute-form target: replaces Host
  std::string_view error_message_;
  int version_ = 0;  ///< 10 or 11
  int host_count_ = 0;
  bool in_header_ = true;  ///< fields after the header are trailers and are dropped
  bool has_length_ = false;
  bool has_coding_ = false;
  bool expects_continue_ = false;
  bool has_chunk_ = false;
  bool is_in_chunk_ = false;
  std::size_t extension_bytes_ = 0;
};

// Parses the request-target (RFC 9112 3.2).

struct RequestTarget {
  std::string path;   ///< percent-decoded, begins with '/', UTF-8 without control characters
  std::string query;  ///< raw, without '?'
  std::string
      authority;  ///< of the absolute form ("http://host:80/path"); empty for the origin form ("/path")
};

constexpr std::size_t kMaxTargetBytes = 8192;

/// Fills `target`. Returns the error as a sentence, empty for none. The asterisk form and CONNECT's authority
/// form are refused: giftsync serves resources only.
std::string_view parse_request_target(std::string_view raw, RequestTarget& target);

/// True when `host` is valid in a Host header: a name or address with an optional port, not empty.
bool is_host_header_value(std::string_view host);

}  // namespace giftsync::http
