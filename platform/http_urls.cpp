// URLs and header values of http_client.h.
#include <curl/curl.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <memory>
#include <sstream>
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

/// The text up to the next `separator` outside <> and quotes, trimmed; `rest` then begins behind it.
std::string_view take_part(std::string_view& rest, char separator) {
  char closing = 0;  // what ends the brackets or quotes at this position
  std::size_t at = 0;
  for (; at < rest.size() && (closing != 0 || rest[at] != separator); ++at) {
    if (closing == '"' && rest[at] == '\\')
      ++at;
    else if (closing != 0)
      closing = rest[at] == closing ? '\0' : closing;
    else if (rest[at] == '"' || rest[at] == '<')
      closing = rest[at] == '<' ? '>' : '"';
  }
  const std::string_view part = trimmed(rest.substr(0, at));
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return part;
}

/// The content of a quoted-string; another text unchanged.
std::string unquoted(std::string_view text) {
  text = trimmed(text);
  if (!text.starts_with('"')) return std::string(text);
  std::string content;
  for (std::size_t at = 1; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\' && at + 1 < text.size()) ++at;
    content += text[at];
  }
  return content;
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

tl::expected<std::string, std::string> within_origin(const std::string& url, const std::string& target) {
  const CurlUrl from = parse_url(url);
  const CurlUrl to = parse_url(target);
  if (!from || !to) return tl::make_unexpected("to what is no URL");
  if (!url_part(to, CURLUPART_USER).empty() || !url_part(to, CURLUPART_PASSWORD).empty())
    return tl::make_unexpected("to a URL with a user");
  const auto part_of = [](const CurlUrl& one, CURLUPart part) { return ascii_lower(url_part(one, part)); };
  if (part_of(from, CURLUPART_HOST) != part_of(to, CURLUPART_HOST))
    return tl::make_unexpected("to another host");
  const std::string scheme = part_of(from, CURLUPART_SCHEME);
  const std::string target_scheme = part_of(to, CURLUPART_SCHEME);
  const std::string port = url_part(from, CURLUPART_PORT);
  const std::string target_port = url_part(to, CURLUPART_PORT);
  if (scheme == "https" && target_scheme == "http" && (target_port == "80" || target_port == port)) {
    curl_url_set(to.get(), CURLUPART_SCHEME, "https", 0);
    curl_url_set(to.get(), CURLUPART_PORT, port == "443" ? nullptr : port.c_str(), 0);
    return url_part(to, CURLUPART_URL, 0);
  }
  if (scheme == "http" && target_scheme == "https")
    return tl::make_unexpected("from http to https; write https in its url");
  if (scheme != target_scheme) return tl::make_unexpected("to another scheme (" + target_scheme + ")");
  if (port != target_port) return tl::make_unexpected("to another port (" + target_port + ")");
  return target;
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
  while (!rest.empty()) {
    std::string_view parameters = take_part(rest, ',');
    const std::string_view target = take_part(parameters, ';');
    if (!target.starts_with('<') || !target.ends_with('>')) continue;
    std::optional<std::string> relations;  // of several, the first counts
    bool has_anchor = false;
    while (!parameters.empty()) {
      std::string_view value = take_part(parameters, ';');
      const std::string name = ascii_lower(take_part(value, '='));
      if (name == "anchor") has_anchor = true;
      if (name == "rel" && !relations) relations = unquoted(value);
    }
    std::istringstream words(ascii_lower(relations.value_or("")));
    const bool is_next = std::find(std::istream_iterator<std::string>(words), {}, "next") !=
                         std::istream_iterator<std::string>();
    if (is_next && !has_anchor) return std::string(target.substr(1, target.size() - 2));
  }
  return {};
}

std::optional<UtcMillis> from_http_date(const std::string& text) {
  const std::time_t seconds = curl_getdate(text.c_str(), nullptr);
  if (seconds < 0) return std::nullopt;
  return UtcMillis{static_cast<std::int64_t>(seconds) * kSecondMillis};
}

}  // namespace giftsync::platform
