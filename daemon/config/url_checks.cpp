#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "daemon/config/text_checks.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"
#include "schema/enums.h"

namespace giftsync::daemon::config {
namespace {

using UrlParts = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

struct ForbiddenPart {
  CURLUPart part;
  std::string_view clause;
};

bool has_part(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  const bool found = curl_url_get(url, part, &text, 0) == CURLUE_OK;
  curl_free(text);
  return found;
}

std::string part_of(CURLU* url, CURLUPart part, unsigned int flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return {};
  std::string copy(text);
  curl_free(text);
  return copy;
}

/// As browsers write it: in lower case, an international name in ASCII, an IPv6 address in brackets.
std::string host_of(CURLU* url) {
  const std::string host = platform::ascii_lower(part_of(url, CURLUPART_HOST));
  const bool is_ascii = std::all_of(host.begin(), host.end(), [](char c) { return (c & 0x80) == 0; });
  const std::string name = is_ascii ? std::string() : schema::normalized_domain(host);
  return name.empty() ? host : name;
}

void strip_trailing_slashes(std::string& text) {
  while (text.ends_with('/')) text.pop_back();
}

/// URL parts that the settings forbid. A user part would put a password into a URL.
constexpr std::array<ForbiddenPart, 4> kForbiddenParts{{{CURLUPART_USER, "which names a user"},
                                                        {CURLUPART_PASSWORD, "which carries a password"},
                                                        {CURLUPART_QUERY, "which has a query (?)"},
                                                        {CURLUPART_FRAGMENT, "which has a fragment (#)"}}};

TextFault check_url(const std::string& text, std::string_view first_scheme, std::string_view second_scheme,
                    UrlParts& url) {
  const std::size_t end_of_scheme = text.find("://");
  const std::string scheme = platform::ascii_lower(text.substr(0, end_of_scheme));
  if (end_of_scheme == std::string::npos || (scheme != first_scheme && scheme != second_scheme)) {
    const std::string other =
        first_scheme == second_scheme ? "" : " or " + std::string(second_scheme) + "://";
    return "which does not begin with " + std::string(first_scheme) + "://" + other;
  }
  // The library skips a third slash and drops an empty query.
  if (text.compare(end_of_scheme + 3, 1, "/") == 0) return "whose host is missing";
  if (text.ends_with('?')) return "which has a query (?)";
  if (text.ends_with('#')) return "which has a fragment (#)";
  const CURLUcode outcome = curl_url_set(url.get(), CURLUPART_URL, text.c_str(), CURLU_NON_SUPPORT_SCHEME);
  if (outcome != CURLUE_OK) return "which is not a URL (" + std::string(curl_url_strerror(outcome)) + ")";
  for (const ForbiddenPart& forbidden : kForbiddenParts) {
    if (has_part(url.get(), forbidden.part)) return std::string(forbidden.clause);
  }
  if (part_of(url.get(), CURLUPART_PORT) == "0") return "whose port is 0";
  return std::nullopt;
}

}  // namespace

std::string host_of_url(const std::string& url) {
  const UrlParts parts(curl_url(), curl_url_cleanup);
  if (curl_url_set(parts.get(), CURLUPART_URL, url.c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK) return {};
  const std::string host = host_of(parts.get());
  return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

std::string origin_of_url(const std::string& url) {
  const UrlParts parts(curl_url(), curl_url_cleanup);
  if (curl_url_set(parts.get(), CURLUPART_URL, url.c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK) return {};
  const std::string port = part_of(parts.get(), CURLUPART_PORT, CURLU_NO_DEFAULT_PORT);
  return platform::ascii_lower(part_of(parts.get(), CURLUPART_SCHEME)) + "://" + host_of(parts.get()) +
         (port.empty() ? "" : ":" + port);
}

bool is_secure_admin_url(const std::string& url) {
  return platform::ascii_lower(url).starts_with("https:") || is_loopback_host(host_of_url(url));
}

TextFault check_web_url(std::string& text) {
  UrlParts url(curl_url(), curl_url_cleanup);
  if (TextFault fault = check_url(text, "http", "https", url)) return fault;
  strip_trailing_slashes(text);
  return std::nullopt;
}

TextFault check_org_url(std::string& text) {
  if (TextFault fault = check_web_url(text)) return fault;
  if (platform::ascii_lower(text).starts_with("http:") && !is_loopback_host(host_of_url(text)))
    return "which is http:// to another host: the session would be sent unencrypted";
  if (text.find('/', text.find("://") + 3) != std::string::npos)
    return "which has more than a host and a port";
  return std::nullopt;
}

TextFault check_org_login(std::string& text) {
  return text == "production" || text == "sandbox" ? std::nullopt : check_org_url(text);
}

TextFault check_issuer_url(std::string& text) {
  UrlParts url(curl_url(), curl_url_cleanup);
  return check_url(text, "https", "https", url);
}

TextFault check_https_url(std::string& text) {
  if (TextFault fault = check_issuer_url(text)) return fault;
  strip_trailing_slashes(text);
  return std::nullopt;
}

TextFault check_sign_in_url(std::string& text) {
  std::string without_query = text.substr(0, text.find('?'));
  if (TextFault fault = check_issuer_url(without_query)) return fault;
  return check_feed_url(text);
}

TextFault check_connection_name(std::string& text) {
  constexpr std::size_t kMaxName = 64;
  if (!has_only_lower_case(text, "-"))
    return "which has characters other than lower-case letters, digits and -";
  if (text.size() > kMaxName) return "which has more than 64 characters";
  if (text.starts_with('-') || text.ends_with('-')) return "which has a - at its end or beginning";
  return std::nullopt;
}

TextFault check_signature_algorithm(std::string& text) {
  if (text == "RS256" || text == "ES256") return std::nullopt;
  return "which is not RS256 or ES256";
}

TextFault check_scope(std::string& text) {
  constexpr std::size_t kMaxScope = 100;
  const auto is_allowed = [](char c) { return c > ' ' && c < '\x7f' && c != '"' && c != '\\'; };
  if (!std::all_of(text.begin(), text.end(), is_allowed))
    return "which has a space or another character that no scope has";
  if (text.size() > kMaxScope) return "which has more than 100 characters";
  return std::nullopt;
}

TextFault check_tenant_id(std::string& text) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  constexpr std::string_view kHex = "0123456789abcdef";
  text = platform::ascii_lower(text);
  const auto fits = [&](char c, char form) {
    return form == '-' ? c == '-' : kHex.find(c) != std::string_view::npos;
  };
  if (text.size() == kForm.size() && std::equal(text.begin(), text.end(), kForm.begin(), fits))
    return std::nullopt;
  return "which is not an id";
}

TextFault check_plan(std::string& text) {
  return schema::plan_from_word(text) ? std::nullopt : TextFault("which is not a plan");
}

TextFault check_domain(std::string& text) {
  std::string key = schema::normalized_domain(text);
  if (key.empty()) return "which is not a domain";
  text = std::move(key);
  return std::nullopt;
}

TextFault check_feed_url(std::string& text) {
  UrlParts url(curl_url(), curl_url_cleanup);
  const std::string without_query = text.substr(0, text.find('?'));
  if (TextFault fault = check_url(without_query, "http", "https", url)) return fault;
  if (text.find('#') != std::string::npos) return "which has a fragment (#)";
  if (curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) return "which is not a URL";
  return std::nullopt;
}

TextFault check_item_url(std::string& text) {
  constexpr std::string_view kGiftId = "{gift_id}";
  const std::size_t at = text.find(kGiftId);
  if (at == std::string::npos || at == 0 || text[at - 1] != '/' || at + kGiftId.size() != text.size()) {
    return "whose last segment is not {gift_id}";
  }
  std::string example = text.substr(0, at) + "1";
  return check_web_url(example);
}

TextFault check_smtp_url(std::string& text) {
  UrlParts url(curl_url(), curl_url_cleanup);
  if (TextFault fault = check_url(text, "smtp", "smtps", url)) return fault;
  const std::string path = part_of(url.get(), CURLUPART_PATH);
  if (!path.empty() && path != "/") return "which has more than a host and a port";
  strip_trailing_slashes(text);
  return std::nullopt;
}

}  // namespace giftsync::daemon::config
