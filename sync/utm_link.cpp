#include "sync/utm_link.h"

#include "platform/text.h"

namespace giftsync::sync {
namespace {

constexpr std::string_view kParameterName = "utm_campaign_id";

/// All but the unreserved characters of RFC 3986.
std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kUnreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (kUnreserved.find(c) != std::string_view::npos)
      encoded += c;
    else
      encoded.append({'%', kHex[byte >> 4], kHex[byte & 15]});
  }
  return encoded;
}

bool has_campaign(std::string_view query) {
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    if (pair.substr(0, pair.find('=')) == kParameterName) return true;
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
  }
  return false;
}

bool is_web_link(std::string_view url) {
  const std::string scheme = platform::ascii_lower(url.substr(0, std::string_view("https://").size()));
  return scheme.starts_with("http://") || scheme.starts_with("https://");
}

}  // namespace

std::string add_utm_campaign(std::string_view url, std::string_view campaign) {
  if (campaign.empty() || !is_web_link(url)) return std::string(url);
  const std::size_t hash = url.find('#');
  const std::string_view fragment = hash == std::string_view::npos ? "" : url.substr(hash);
  const std::string_view page = url.substr(0, hash);
  const std::size_t query_mark = page.find('?');
  const std::string_view query = query_mark == std::string_view::npos ? "" : page.substr(query_mark + 1);
  if (has_campaign(query)) return std::string(url);
  std::string result(page);
  if (query_mark == std::string_view::npos)
    result += '?';
  else if (!query.empty() && !query.ends_with('&'))
    result += '&';
  return result.append(kParameterName).append("=").append(percent_encoded(campaign)).append(fragment);
}

}  // namespace giftsync::sync
