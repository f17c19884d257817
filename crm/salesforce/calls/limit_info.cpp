// crm/salesforce: the header in which Salesforce tells the used calls.
#include "crm/salesforce/calls/call_governor.h"
#include "platform/text.h"

namespace giftsync::salesforce {
namespace {

/// "17/250(appName=x)": what follows the second number is a comment.
std::optional<CallQuota> quota_of(std::string_view text) {
  text = text.substr(0, text.find('('));
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto used = parse_number<std::int64_t>(trimmed(text.substr(0, slash)));
  const auto limit = parse_number<std::int64_t>(trimmed(text.substr(slash + 1)));
  if (!used || !limit || *used < 0 || *limit <= 0) return std::nullopt;
  return CallQuota{*used, *limit};
}

/// Items are separated by semicolons or commas: a client may join two headers of one name by a comma.
std::string_view take_item(std::string_view& header) {
  const std::size_t end = header.find_first_of(";,");
  const std::string_view item = trimmed(header.substr(0, end));
  header = end == std::string_view::npos ? std::string_view() : header.substr(end + 1);
  return item;
}

}  // namespace

std::optional<LimitInfo> parse_limit_info(std::string_view header) {
  std::optional<CallQuota> org;
  std::optional<CallQuota> app;
  while (!header.empty()) {
    const std::string_view item = take_item(header);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name = ascii_lower(trimmed(item.substr(0, equals)));
    const std::string_view value = item.substr(equals + 1);
    if (name == "api-usage") org = quota_of(value);
    if (name == "per-app-api-usage") app = quota_of(value);
  }
  if (!org) return std::nullopt;
  return LimitInfo{*org, app};
}

}  // namespace giftsync::salesforce
