#include "daemon/salesforce/response_text.h"

#include <fmt/format.h>

#include <string_view>

#include "platform/quoted_text.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::daemon::salesforce {
namespace {

constexpr std::size_t kShownCharacters = 200;

/// Bytes first: what is not UTF-8 may have no code points to count.
std::string beginning(std::string_view text) {
  return platform::visible_text(platform::truncated(text.substr(0, 4 * kShownCharacters), kShownCharacters));
}

}  // namespace

std::string describe_unexpected(const platform::HttpResponse& response) {
  std::string text = fmt::format("HTTP {}", response.status);
  const std::string location = response.header("location");
  if (!location.empty()) text += ", a redirect to " + platform::in_quotes(location);
  const std::string type = response.header("content-type");
  if (!type.empty()) text += ", " + beginning(type);
  const std::string_view body = platform::trimmed(response.body);
  if (body.empty()) return text + ", without a body";
  return text + ": " + beginning(body);
}

}  // namespace giftsync::daemon::salesforce
