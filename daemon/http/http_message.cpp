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

}  // namespace giftsync::daemon::http
