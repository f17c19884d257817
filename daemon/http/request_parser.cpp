#include "daemon/http/request_parser.h"

#include <algorithm>

#include "daemon/http/request_target.h"

namespace giftsync::daemon::http {
namespace {

namespace beast_http = boost::beast::http;

/// Above this size memory grows with the received bytes: announcing a large body must not cost memory.
constexpr std::uint64_t kMaxInitialReserve = 16 * 1024;

std::string_view to_std_view(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

RequestFraming::Parser::Parser(HttpRequest& request, std::size_t max_body_bytes) : request_(request) {
  header_limit(kMaxHeadBytes);
  body_limit(max_body_bytes);
}

void RequestFraming::Parser::fail(std::string_view message, error_code& error) {
  error_message_ = message;
  error = beast_http::error::bad_field;  // any error stops Beast; the message is what counts
}

void RequestFraming::Parser::on_request_impl(beast_http::verb, string_view method, string_view target,
                                             int version, error_code& error) {
  RequestTarget request_target;
  if (const auto message = parse_request_target(to_std_view(target), request_target); !message.empty())
    return fail(message, error);
  version_ = version;
  request_.method = to_std_view(method);
  request_.path = std::move(request_target.path);
  request_.query = std::move(request_target.query);
  authority_ = std::move(request_target.authority);
}

void RequestFraming::Parser::on_response_impl(int, string_view, int, error_code&) {}

void RequestFraming::Parser::on_field_impl(beast_http::field field, string_view name, string_view value,
                                           error_code& error) {
  if (!in_header_) return;
  const std::string_view text = to_std_view(value);
  if (field == beast_http::field::host) {
    ++host_count_;
    if (host_count_ > 1) return fail("The header names Host twice.", error);
    if (!is_host_header_value(text)) return fail("Host is empty or not a host name.", error);
  }
  if (field == beast_http::field::content_length) check_content_length(text, error);
  if (field == beast_http::field::transfer_encoding) check_transfer_encoding(text, error);
  if (field == beast_http::field::expect) {
    expects_continue_ = version_ == 11 && boost::beast::iequals(value, "100-continue");
  }
  if (error) return;
  const bool replaced = field == beast_http::field::host && !authority_.empty();
  request_.headers.emplace(to_std_view(name), replaced ? authority_ : std::string(text));
}

void RequestFraming::Parser::check_content_length(std::string_view value, error_code& error) {
  if (has_length_) return fail("The header names Content-Length twice.", error);
  if (has_coding_) return fail("The header has both Transfer-Encoding and Content-Length.", error);
  // 19 digits cannot overflow 64 bits.
  if (value.empty() || value.size() > 19 || !std::all_of(value.begin(), value.end(), is_decimal)) {
    return fail("Content-Length is not one plain number of at most 19 digits.", error);
  }
  has_length_ = true;
}

void RequestFraming::Parser::check_transfer_encoding(std::string_view value, error_code& error) {
  if (has_coding_) return fail("The header names Transfer-Encoding twice.", error);
  if (has_length_) return fail("The header has both Content-Length and Transfer-Encoding.", error);
  if (version_ != 11) return fail("HTTP/1.0 has no Transfer-Encoding.", error);
  if (!boost::beast::iequals(string_view(value.data(), value.size()), "chunked")) {
    return fail("Transfer-Encoding is not exactly \"chunked\".", error);
  }
  has_coding_ = true;
}

std::string_view RequestFraming::Parser::head_error() const {
  if (version_ == 11 && host_count_ == 0) return "The header lacks Host, which HTTP/1.1 requires.";
  return {};
}

void RequestFraming::Parser::on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code&) {
  if (length) request_.body.reserve(std::min(*length, kMaxInitialReserve));
}

std::size_t RequestFraming::Parser::on_body_impl(string_view bytes, error_code&) {
  request_.body.append(bytes.data(), bytes.size());
  return bytes.size();
}

void RequestFraming::Parser::on_chunk_header_impl(std::uint64_t size, string_view extensions,
                                                  error_code& error) {
  has_chunk_ = is_in_chunk_ = size > 0;
  extension_bytes_ += extensions.size();
  if (extension_bytes_ > kMaxHeadBytes)
    fail("The chunk extensions are longer than 16,384 bytes in all.", error);
}

std::size_t RequestFraming::Parser::on_chunk_body_impl(std::uint64_t remain, string_view bytes, error_code&) {
  request_.body.append(bytes.data(), bytes.size());
  is_in_chunk_ = bytes.size() < remain;
  return bytes.size();
}

}  // namespace giftsync::daemon::http
