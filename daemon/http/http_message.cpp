#include "daemon/http/http_message.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>

namespace giftsync::http {

bool HeaderLess::operator()(std::string_view a, std::string_view b) const {
  return boost::beast::iless{}({a.data(), a.size()}, {b.data(), b.size()});
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

}  // namespace giftsync::http
