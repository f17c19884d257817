#include "daemon/http/request_framing.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "daemon/http/request_parser.h"

namespace giftsync::daemon::http {
namespace {

namespace beast_http = boost::beast::http;

std::string_view message_for(const boost::beast::error_code& error) {
  using Code = beast_http::error;
  constexpr std::pair<Code, std::string_view> kMessages[]{
      {Code::bad_version, "The request line does not end with HTTP/1.0 or HTTP/1.1."},
      {Code::bad_method, "The request line does not begin with a method."},
      {Code::bad_target, "The request line has a malformed target."},
      {Code::bad_field, "A header line does not begin with a name and a colon."},
      {Code::bad_value, "A header value has a control character or is malformed."},
      {Code::bad_line_ending, "A line does not end with CR LF."},
      {Code::bad_content_length, "Content-Length is not one plain number, or appears beside another length."},
      {Code::bad_transfer_encoding,
       "Transfer-Encoding is not exactly \"chunked\", or appears beside a length."},
      {Code::bad_chunk, "A chunk has no size in hexadecimal, or is not followed by CR LF."},
      {Code::bad_chunk_extension, "A chunk size is followed by something that is no extension."}};
  for (const auto& [code, message] : kMessages) {
    if (error == code) return message;
  }
  return "The request is not well-formed HTTP/1.1.";
}

}  // namespace

RequestFraming::RequestFraming(std::size_t max_body_bytes) : max_body_bytes_(max_body_bytes) {
  reset();
}
RequestFraming::~RequestFraming() = default;

void RequestFraming::reset() {
  request_ = HttpRequest{};
  parser_ = std::make_unique<Parser>(request_, max_body_bytes_);
  stage_ = Stage::head;
  error_message_ = {};
  head_scanner_ = HeadScanner{};
  skipped_empty_line_ = false;
}

bool RequestFraming::keep_alive() const {
  return stage_ == Stage::complete && parser_->keep_alive();
}
bool RequestFraming::is_http_1_1() const {
  return parser_->is_http_1_1();
}
bool RequestFraming::expects_continue() const {
  return stage_ == Stage::body && parser_->expects_continue();
}

void RequestFraming::fail(std::string_view message) {
  error_message_ = message;
  stage_ = Stage::invalid;
}

std::size_t RequestFraming::feed(std::string_view bytes) {
  if (stage_ == Stage::body) return feed_body(bytes);
  if (stage_ != Stage::head) return 0;
  const std::size_t head = feed_head(bytes);
  return stage_ == Stage::body ? head + feed_body(bytes.substr(head)) : head;
}

std::size_t RequestFraming::feed_head(std::string_view bytes) {
  std::size_t skipped = 0;
  if (!skipped_empty_line_ && bytes.starts_with("\r\n")) {
    // Some old clients send one empty line after a body (RFC 9112 2.2).
    skipped_empty_line_ = true;
    skipped = 2;
    head_scanner_ = HeadScanner{};
  }
  const ScanResult head = head_scanner_.scan(bytes.substr(skipped));
  if (!head.error_message.empty()) fail(head.error_message);
  if (head.length != 0) parse_head(bytes.substr(skipped, head.length));
  return skipped + head.length;
}

void RequestFraming::parse_head(std::string_view head) {
  boost::beast::error_code error;
  parser_->put(boost::asio::buffer(head.data(), head.size()), error);
  const bool too_large = error == beast_http::error::body_limit;
  if (!parser_->error_message().empty()) return fail(parser_->error_message());
  if (error && !too_large) return fail(message_for(error));
  if (const auto message = parser_->head_error(); !message.empty()) return fail(message);
  if (!apply_body_limit() || too_large) {
    stage_ = Stage::too_large;
  } else {
    stage_ = parser_->is_done() ? Stage::complete : Stage::body;
  }
}

/// False: the header announces a longer body than allowed.
bool RequestFraming::apply_body_limit() {
  const std::size_t limit = body_limit_ ? std::min(max_body_bytes_, body_limit_(request_)) : max_body_bytes_;
  const auto announced = parser_->content_length();
  largest_body_ = announced ? std::min<std::uint64_t>(*announced, limit) : limit;
  if (announced && *announced > limit) return false;
  parser_->body_limit(limit);
  return true;
}

// Beast 1.74 asserts when the last chunk arrives in pieces ("0 CR LF", then "CR"), so it gets complete lines
// only, the last one with its trailer.
std::size_t RequestFraming::feed_body(std::string_view bytes) {
  std::size_t consumed = 0;
  while (stage_ == Stage::body && consumed < bytes.size()) {
    std::string_view piece = bytes.substr(consumed);
    if (parser_->is_at_chunk_line()) {
      const ScanResult line = scan_chunk_line(piece, parser_->is_behind_chunk());
      if (!line.error_message.empty()) fail(line.error_message);
      if (line.length == 0) break;
      piece = piece.substr(0, line.length);
    }
    consumed += parse_body(piece);
  }
  return consumed;
}

std::size_t RequestFraming::parse_body(std::string_view bytes) {
  boost::beast::error_code error;
  const std::size_t consumed = parser_->put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  if (!parser_->error_message().empty()) {
    fail(parser_->error_message());
  } else if (error == beast_http::error::body_limit) {
    stage_ = Stage::too_large;
    request_.body.clear();
  } else if (error) {
    fail(message_for(error));
  } else if (parser_->is_done()) {
    stage_ = Stage::complete;
  }
  return consumed;
}

}  // namespace giftsync::daemon::http
