#include "daemon/http/authorization.h"

#include <algorithm>
#include <string_view>

#include "platform/text.h"

namespace giftsync::daemon::http {
namespace {

constexpr std::string_view kScheme = "bearer";
constexpr std::size_t kMaxKeyLength = 512;

bool is_visible_ascii(char c) {
  return c > ' ' && c <= '~';
}

}  // namespace

std::optional<std::string> api_key_from_header(const HttpRequest& request) {
  const auto header = request.header("Authorization");
  if (!header) return std::nullopt;
  std::string_view key = platform::trimmed(*header);
  if (platform::ascii_lower(key.substr(0, kScheme.size())) == kScheme) {
    const std::string_view rest = key.substr(kScheme.size());
    const bool is_scheme = rest.empty() || rest.front() == ' ' || rest.front() == '\t';
    if (is_scheme) key = platform::trimmed(rest);
  }
  const bool is_plausible =
      !key.empty() && key.size() <= kMaxKeyLength && std::all_of(key.begin(), key.end(), is_visible_ascii);
  return is_plausible ? std::optional<std::string>(key) : std::nullopt;
}

}  // namespace giftsync::daemon::http
