#include "daemon/http/http_message.h"

#include <algorithm>

namespace giftsync::daemon::http {
namespace {

unsigned char ascii_lowered(char c) {
  const auto octet = static_cast<unsigned char>(c);
  return octet >= 'A' && octet <= 'Z' ? static_cast<unsigned char>(octet - 'A' + 'a') : octet;
}

}  // namespace

bool HeaderLess::operator()(std::string_view a, std::string_view b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [](char x, char y) { return ascii_lowered(x) < ascii_lowered(y); });
}

std::optional<std::string> HttpRequest::header(std::string_view name) const {
  const auto [first, last] = headers.equal_range(name);
  if (first == last || std::next(first) != last) return std::nullopt;
  return first->second;
}

HttpResponse text_response(int status, std::string content_type, std::string body) {
  return {
      status, {{"Content-Type", std::move(content_type)}, {"Cache-Control", "no-store"}}, std::move(body)};
}

HttpResponse with_header(HttpResponse response, std::string name, std::string value) {
  response.headers.emplace_back(std::move(name), std::move(value));
  return response;
}

HttpResponse with_retry_after(HttpResponse response, std::int64_t seconds) {
  return with_header(std::move(response), "Retry-After", std::to_string(std::max<std::int64_t>(seconds, 1)));
}

}  // namespace giftsync::daemon::http
