#include "daemon/http/form_request.h"

#include <algorithm>

#include "platform/text.h"

namespace giftsync::daemon::http {

std::optional<std::string> cookie_of(const HttpRequest& request, std::string_view name) {
  std::optional<std::string> found;
  const auto [first, last] = request.headers.equal_range("Cookie");
  for (auto header = first; header != last; ++header) {
    std::string_view rest = header->second;
    while (!rest.empty()) {
      const std::string_view pair = platform::trimmed(rest.substr(0, rest.find(';')));
      rest.remove_prefix(std::min(rest.find(';'), rest.size() - 1) + 1);
      if (pair.size() <= name.size() || !pair.starts_with(name) || pair[name.size()] != '=') continue;
      if (found) return std::nullopt;
      found = std::string(pair.substr(name.size() + 1));
    }
  }
  return found;
}

bool is_form(const HttpRequest& request) {
  const std::string type = request.header("Content-Type").value_or("");
  return platform::ascii_lower(platform::trimmed(std::string_view(type).substr(0, type.find(';')))) ==
         "application/x-www-form-urlencoded";
}

}  // namespace giftsync::daemon::http
