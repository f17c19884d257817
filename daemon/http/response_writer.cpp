#include "daemon/http/response_writer.h"

#include <Poco/DateTimeFormat.h>
#include <Poco/DateTimeFormatter.h>
#include <Poco/Timestamp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/beast/http/status.hpp>
#include <charconv>
#include <exception>

#include "platform/digest.h"
#include "platform/json.h"

namespace giftsync::http {
namespace {

std::string_view reason_phrase(int status) {
  const auto reason =
      boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(static_cast<unsigned>(status)));
  return {reason.data(), reason.size()};
}

bool is_server_header(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames{"Connection", "Content-Length", "Date", "Request-Id",
                                                   "Transfer-Encoding"};
  const HeaderLess less;
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view server_header) {
    return !less(server_header, name) && !less(name, server_header);
  });
}

void append_number(std::string& text, std::size_t number) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  text.append(digits, end);
}

void append_header_value(std::string& text, std::string_view value) {
  const std::size_t begin = text.size();
  text.append(value);
  std::replace_if(
      text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
}

bool has_no_body(int status) {
  return status == 204 || status == 304;
}

}  // namespace

HttpResponse problem_response(int status, std::string_view detail) {
  const nlohmann::ordered_json problem{{"type", "about:blank"},
                                       {"title", reason_phrase(status)},
                                       {"status", status},
                                       {"detail", detail},
                                       {"message", detail}};
  return {status, {{"Content-Type", "application/problem+json"}}, problem.dump(), true};
}

std::string_view HttpDate::now() {
  const std::time_t second = std::time(nullptr);
  if (second != second_) {
    second_ = second;
    text_ = Poco::DateTimeFormatter::format(Poco::Timestamp::fromEpochTime(second),
                                            Poco::DateTimeFormat::HTTP_FORMAT);
  }
  return text_;
}

std::string RequestIds::next() {
  if (used_ == sizeof random_) {
    // Fails only on kernels older than Linux 3.17.
    if (::getentropy(random_, sizeof random_) != 0) std::terminate();
    used_ = 0;
  }
  const std::string_view id(random_ + used_, kIdBytes);
  used_ += kIdBytes;
  return to_hex(id);
}

void write_response_head(const HttpResponse& response, const ResponseFrame& frame, std::string& head) {
  head.assign("HTTP/1.1 ");
  append_number(head, static_cast<std::size_t>(response.status));
  head.append(" ").append(reason_phrase(response.status));
  head.append("\r\nDate: ").append(frame.date);
  head.append("\r\nRequest-Id: ").append(frame.request_id);
  head.append(frame.close ? "\r\nConnection: close" : "\r\nConnection: keep-alive");
  if (frame.has_hsts) head.append("\r\nStrict-Transport-Security: max-age=31536000");
  for (const auto& [name, value] : response.headers) {
    if (is_server_header(name)) continue;
    head.append("\r\n").append(name).append(": ");
    append_header_value(head, value);
  }
  if (frame.is_chunked && !has_no_body(response.status)) {
    head.append("\r\nTransfer-Encoding: chunked");
  } else if (!response.next_chunk && !has_no_body(response.status)) {
    head.append("\r\nContent-Length: ");
    append_number(head, response.body.size());
  }
  head.append("\r\n\r\n");
}

std::string chunk_line(std::size_t size) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, size, 16).ptr;
  return std::string(digits, end) + "\r\n";
}

bool may_have_body(std::string_view method, int status) {
  return method != "HEAD" && !has_no_body(status);
}

}  // namespace giftsync::http
