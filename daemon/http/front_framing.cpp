#include "daemon/http/front_framing.h"

#include "daemon/http/front_request_parser.h"

namespace giftsync::daemon {
namespace {

namespace http = boost::beast::http;

std::string_view sentence_for(const boost::beast::error_code& error) {
  if (error == http::error::bad_version) return "The request line does not end with HTTP/1.0 or HTTP/1.1.";
  if (error == http::error::bad_method) return "The request line does not begin with a method.";
  if (error == http::error::bad_target) return "The request line has a malformed target.";
  if (error == http::error::bad_field) return "A header line does not begin with a name and a colon.";
  if (error == http::error::bad_value) return "A header value has a control character or is malformed.";
  if (error == http::error::bad_line_ending) return "A line does not end with CR LF.";
  if (error == http::error::bad_content_length)
    return "Content-Length is not one plain number, or stands beside another length.";
  if (error == http::error::bad_transfer_encoding)
    return "Transfer-Encoding is not exactly \"chunked\", or stands beside a length.";
  if (error == http::error::bad_chunk)
    return "A chunk has no size in hexadecimal, or is not followed by CR LF.";
  if (error == http::error::bad_chunk_extension)
    return "A chunk size is followed by something that is no extension.";
  return "The request is not well-formed HTTP/1.1.";
}

}  // namespace

RequestFraming::RequestFraming(std::size_t max_body_bytes) : max_body_bytes_(max_body_bytes) {
  restart();
}
RequestFraming::~RequestFraming() = default;

void RequestFraming::restart() {
  request_ = HttpRequest{};
  parser_ = std::make_unique<Parser>(request_, max_body_bytes_);
  stage_ = Stage::head;
  fault_ = {};
  head_search_ = HeadSearch{};
  skipped_empty_line_ = false;
}

bool RequestFraming::keep_alive() const {
  return stage_ == Stage::whole && parser_->keep_alive();
}
bool RequestFraming::expects_continue() const {
  return stage_ == Stage::body && parser_->expects_continue();
}

void RequestFraming::fail(std::string_view sentence) {
  fault_ = sentence;
  stage_ = Stage::faulty;
}

std::size_t RequestFraming::take(std::string_view bytes) {
  if (stage_ == Stage::body) return take_body(bytes);
  if (stage_ != Stage::head) return 0;
  const std::size_t head = take_head(bytes);
  return stage_ == Stage::body ? head + take_body(bytes.substr(head)) : head;
}

std::size_t RequestFraming::take_head(std::string_view bytes) {
  std::size_t skipped = 0;
  if (!skipped_empty_line_ && bytes.starts_with("\r\n")) {
    // Some old clients send one empty line behind a body (RFC 9112 2.2).
    skipped_empty_line_ = true;
    skipped = 2;
    head_search_ = HeadSearch{};
  }
  const Extent head = head_search_.look(bytes.substr(skipped));
  if (!head.fault.empty()) fail(head.fault);
  if (head.length != 0) parse_head(bytes.substr(skipped, head.length));
  return skipped + head.length;
}

void RequestFraming::parse_head(std::string_view head) {
  boost::beast::error_code error;
  parser_->put(boost::asio::buffer(head.data(), head.size()), error);
  const bool too_large = error == http::error::body_limit;
  if (!parser_->fault().empty()) return fail(parser_->fault());
  if (error && !too_large) return fail(sentence_for(error));
  if (const auto sentence = parser_->head_fault(); !sentence.empty()) return fail(sentence);
  if (too_large) {
    stage_ = Stage::too_large;
  } else {
    stage_ = parser_->is_done() ? Stage::whole : Stage::body;
  }
}

// Beast 1.74 asserts when the last chunk comes in pieces ("0 CR LF", then "CR"), so it sees whole lines only,
// the last one with its trailer.
std::size_t RequestFraming::take_body(std::string_view bytes) {
  std::size_t taken = 0;
  while (stage_ == Stage::body && taken < bytes.size()) {
    std::string_view piece = bytes.substr(taken);
    if (parser_->is_at_chunk_line()) {
      const Extent line = look_at_chunk_line(piece, parser_->is_behind_chunk());
      if (!line.fault.empty()) fail(line.fault);
      if (line.length == 0) break;
      piece = piece.substr(0, line.length);
    }
    taken += parse_body(piece);
  }
  return taken;
}

std::size_t RequestFraming::parse_body(std::string_view bytes) {
  boost::beast::error_code error;
  const std::size_t taken = parser_->put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  if (!parser_->fault().empty()) {
    fail(parser_->fault());
  } else if (error == http::error::body_limit) {
    stage_ = Stage::too_large;
    request_.body.clear();
  } else if (error) {
    fail(sentence_for(error));
  } else if (parser_->is_done()) {
    stage_ = Stage::whole;
  }
  return taken;
}

}  // namespace giftsync::daemon
