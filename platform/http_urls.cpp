// URLs and header values of http_client.h.
#include <curl/curl.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <string_view>

#include "platform/http_client.h"
#include "platform/ip_address.h"
#include "platform/text.h"

namespace giftsync::platform {
namespace {

using CurlUrl = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

/// Null for a text that is not a URL.
CurlUrl parse_url(const std::string& text) {
  CurlUrl url(curl_url(), curl_url_cleanup);
  if (curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) url.reset();
  return url;
}

/// Empty when the URL has no such part.
std::string url_part(const CurlUrl& url, CURLUPart part, unsigned flags = CURLU_DEFAULT_PORT) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, flags) != CURLUE_OK) return {};
  std::string copy(text);
  curl_free(text);
  return copy;
}

/// `host` as in a URL, in lower case; an IPv6 address is in brackets.
bool is_loopback(std::string_view host) {
  if (host == "localhost") return true;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const std::optional<IpAddress> address = parse_ip_address(host);
  if (!address) return false;
  return address->is_v4() ? address->octets[12] == 127 : address == parse_ip_address("::1");
}

}  // namespace

std::string resolve_url(const std::string& base, const std::string& relative_url) {
  const CurlUrl url = parse_url(base);
  if (!url || relative_url.empty() ||
      curl_url_set(url.get(), CURLUPART_URL, relative_url.c_str(), 0) != CURLUE_OK)
    return {};
  return url_part(url, CURLUPART_URL, 0);
}

bool is_same_origin(const std::string& one, const std::string& other) {
  const CurlUrl a = parse_url(one);
  const CurlUrl b = parse_url(other);
  if (!a || !b) return false;
  for (const CURLUPart part : {CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT}) {
    if (ascii_lower(url_part(a, part)) != ascii_lower(url_part(b, part))) return false;
  }
  return url_part(b, CURLUPART_USER).empty() && url_part(b, CURLUPART_PASSWORD).empty();
}

bool is_https_or_loopback(const std::string& url) {
  const CurlUrl parsed = parse_url(url);
  if (!parsed) return false;
  const std::string scheme = ascii_lower(url_part(parsed, CURLUPART_SCHEME));
  return scheme == "https" ||
         (scheme == "http" && is_loopback(ascii_lower(url_part(parsed, CURLUPART_HOST))));
}

std::string with_query_parameter(const std::string& url, const std::string& name, const std::string& value) {
  return url + (url.find('?') == std::string::npos ? "?" : "&") + percent_encoded(name) + "=" +
         percent_encoded(value);
}

std::string percent_encoded(std::string_view text) {
  if (text.empty()) return {};  // libcurl would take the length 0 for an unknown one
  const std::unique_ptr<char, decltype(&curl_free)> copy(
      curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size())), curl_free);
  return copy ? copy.get() : "";
}

std::string next_link_url(const std::string& link_header) {
  std::string_view rest = link_header;
  while (true) {
    const std::size_t begin = rest.find('<');
    const std::size_t end = rest.find('>', begin);
    if (begin == std::string_view::npos || end == std::string_view::npos) return {};
    const std::string_view target = rest.substr(begin + 1, end - begin - 1);
    rest.remove_prefix(end + 1);
    const std::string parameters = ascii_lower(rest.substr(0, rest.find('<')));
    const std::size_t rel = parameters.find("rel=");
    if (rel == std::string::npos) continue;
    std::string_view value = std::string_view(parameters).substr(rel + 4);
    value = value.starts_with('"') ? value.substr(1, value.find('"', 1) - 1)
                                   : value.substr(0, value.find_first_of(",; "));
    for (std::string_view relation = value; !relation.empty();) {
      const std::size_t space = std::min(relation.find(' '), relation.size());
      if (relation.substr(0, space) == "next") return std::string(target);
      relation.remove_prefix(std::min(space + 1, relation.size()));
    }
  }
}

std::optional<UtcMillis> from_http_date(const std::string& text) {
  const std::time_t seconds = curl_getdate(text.c_str(), nullptr);
  if (seconds < 0) return std::nullopt;
  return UtcMillis{static_cast<std::int64_t>(seconds) * kSecondMillis};
}

}  // namespace giftsync::platform
