#include "daemon/config/text_checks.h"

#include <arpa/inet.h>
#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

#include "daemon/content/messages.h"
#include "platform/digest.h"
#include "platform/ip_address.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "schema/contact_normalization.h"
#include "schema/enums.h"

namespace giftsync::config {
namespace {

constexpr std::size_t kMaxNamespace = 15;
constexpr std::size_t kMaxFieldName = 80;
constexpr std::size_t kMaxTableName = 63;
constexpr std::size_t kMaxPlainText = 255;

bool is_name(std::string_view text) {
  return !text.empty() && is_ascii_letter(text.front()) && std::all_of(text.begin(), text.end(), [](char c) {
    return is_ascii_letter_or_digit(c) || c == '_';
  });
}

std::optional<int> number_up_to(std::string_view digits, int maximum) {
  const auto number = parse_number<int>(digits);
  return number && *number >= 0 && *number <= maximum ? number : std::nullopt;
}

/// "u:secret@h", also "u:secret" whose "@h" was forgotten: a port has digits only. Lower case.
bool authority_has_password(std::string_view authority) {
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos)
    return authority.substr(0, at).find(':') != std::string_view::npos;
  while (!authority.empty()) {
    std::string_view host = authority.substr(0, authority.find(','));
    authority.remove_prefix(std::min(host.size() + 1, authority.size()));
    if (host.starts_with('[')) host.remove_prefix(std::min(host.find(']'), host.size()));
    const std::size_t colon = host.find(':');
    if (colon != std::string_view::npos && !number_up_to(host.substr(colon + 1), 65535)) return true;
  }
  return false;
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = text[i] == '%' ? from_hex(text.substr(i + 1, 2)) : std::nullopt;
    decoded += byte && byte->size() == 1 ? byte->front() : text[i];
    if (byte && byte->size() == 1) i += 2;
  }
  return decoded;
}

/// Whether a parameter behind "?" is a password. Lower case.
bool query_has_password(std::string_view uri) {
  std::string_view query = uri.substr(std::min(uri.find('?'), uri.size()));
  while (!query.empty()) {
    query.remove_prefix(1);  // "?" or "&"
    const std::string_view parameter = query.substr(0, query.find('&'));
    query.remove_prefix(parameter.size());
    if (ascii_lower(percent_decoded(parameter.substr(0, parameter.find('=')))).find("password") !=
        std::string::npos)
      return true;
  }
  return false;
}

/// Whether the internet does not route its network (RFC 1918, RFC 4193), or it is link-local.
bool is_private(const IpAddress& address) {
  const auto& octets = address.octets;
  if (!address.is_v4())
    return (octets[0] & 0xFE) == 0xFC || (octets[0] == 0xFE && (octets[1] & 0xC0) == 0x80);
  const auto a = octets[12];
  const auto b = octets[13];
  return a == 10 || (a == 172 && b >= 16 && b < 32) || (a == 192 && b == 168) || (a == 169 && b == 254);
}

bool is_address(int family, std::string_view text) {
  in6_addr buffer{};  // large enough for either family
  return inet_pton(family, std::string(text).c_str(), &buffer) == 1;
}

}  // namespace

bool has_only_lower_case(std::string_view text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || others.find(c) != std::string_view::npos;
  });
}

TextFault check_listen_address(std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || text.ends_with(']')) return "whose port is missing";
  const std::string_view host = std::string_view(text).substr(0, colon);
  if (!number_up_to(std::string_view(text).substr(colon + 1), 65535))
    return "whose port is not a number from 0 to 65535";
  if (host.empty() || host == "*")
    return "which has no address (0.0.0.0 listens on all of IPv4, [::] on all)";
  if (host.starts_with('[') && host.ends_with(']')) {
    if (is_address(AF_INET6, host.substr(1, host.size() - 2))) return std::nullopt;
    return "whose part in brackets is not an IPv6 address";
  }
  if (host.find(':') != std::string_view::npos) return "whose IPv6 address is not in brackets";
  if (host == "localhost") return "which is a name (127.0.0.1 is this host)";
  if (!is_address(AF_INET, host)) return "which does not begin with a numeric address";
  return std::nullopt;
}

TextFault check_address_block(std::string& text) {
  const std::size_t slash = text.find('/');
  const std::string_view address = std::string_view(text).substr(0, slash);
  const bool is_v6 = address.find(':') != std::string_view::npos;
  if (!is_address(is_v6 ? AF_INET6 : AF_INET, address)) return "which does not begin with a numeric address";
  if (slash == std::string::npos) return std::nullopt;
  const int maximum = is_v6 ? 128 : 32;
  if (number_up_to(std::string_view(text).substr(slash + 1), maximum)) return std::nullopt;
  return "whose prefix length is not a number from 0 to " + std::to_string(maximum);
}

TextFault check_email_address(std::string& text) {
  text = std::string(trimmed(text));
  if (std::optional<std::string> fault = email_error(text)) return "which " + *fault;
  return std::nullopt;
}

TextFault check_region(std::string& text) {
  if (is_phone_region(text)) return std::nullopt;
  return "which is not a region with phone numbers";
}

TextFault check_namespace(std::string& text) {
  if (!is_name(text)) return "which is not a letter followed by letters, digits and underscores";
  if (text.size() > kMaxNamespace) return "which has more than 15 characters";
  if (text.find("__") != std::string::npos) return "which has two underscores in a row";
  if (text.ends_with('_')) return "which ends with an underscore";
  return std::nullopt;
}

TextFault check_api_version(std::string& text) {
  constexpr int kLeast = 60;
  const std::size_t dot = text.find('.');
  const auto major = number_up_to(std::string_view(text).substr(0, dot), 999);
  if (!major || text.front() == '0' || (dot != std::string::npos && text.substr(dot) != ".0"))
    return "which is not a version such as 62.0";
  if (*major < kLeast) return "which is older than 60.0";
  if (dot == std::string::npos) text += ".0";
  return std::nullopt;
}

TextFault check_field_name(std::string& text) {
  if (!is_name(text)) return "which is not a letter followed by letters, digits and underscores";
  if (text.size() > kMaxFieldName) return "which has more than 80 characters";
  return std::nullopt;
}

TextFault check_table_name(std::string& text) {
  const std::size_t dot = text.find('.');
  const std::string_view schema = dot == std::string::npos ? "x" : std::string_view(text).substr(0, dot);
  const std::string_view table = std::string_view(text).substr(dot == std::string::npos ? 0 : dot + 1);
  if (!is_name(schema) || !is_name(table))
    return "which is not a name of letters, digits and underscores, or two of them with a dot between";
  if (schema.size() > kMaxTableName || table.size() > kMaxTableName)
    return "which has more than 63 characters";
  return std::nullopt;
}

TextFault check_colour(std::string& text) {
  text = ascii_lower(text);
  const bool is_hex = text.size() == 7 && text.front() == '#' &&
                      text.find_first_not_of("0123456789abcdef", 1) == std::string::npos;
  if (!is_hex) return "which is not # and six hex digits";
  return std::nullopt;
}

TextFault check_language(std::string& text) {
  text = ascii_lower(text);
  if (content::find_messages(text) != nullptr) return std::nullopt;
  std::string known;
  for (const content::Messages& messages : content::all_messages())
    known += (known.empty() ? "" : ", ") + messages.language();
  return "which is not available; available: " + known;
}

TextFault check_plain_text(std::string& text) {
  if (!is_plain_line(text)) return "which has control characters or bidirectional overrides";
  if (count_code_points(text) > kMaxPlainText) return "which has more than 255 characters";
  return std::nullopt;
}

bool is_connection_uri(std::string_view connection) {
  return connection.starts_with("postgresql://") || connection.starts_with("postgres://");
}

bool has_password(std::string_view connection) {
  const std::string lower = ascii_lower(connection);
  if (const std::size_t scheme_end = lower.find("://"); scheme_end != std::string::npos) {
    const std::string_view rest = std::string_view(lower).substr(scheme_end + 3);
    const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
    if (authority_has_password(rest.substr(0, end)) || query_has_password(rest)) return true;
  }
  // Also with "://", which may be a part of a value: "password=ab://cd".
  for (std::size_t at = 0; (at = lower.find("password", at)) != std::string::npos; ++at) {
    const std::string_view rest =
        trimmed(std::string_view(lower).substr(at + std::string_view("password").size()));
    if (rest.starts_with('=')) return true;
  }
  return false;
}

bool is_loopback_host(std::string_view host) {
  if (host == "localhost" || host.ends_with(".localhost")) return true;
  const auto address = parse_ip_address(host);
  return address && (address->is_v4() ? address->octets[12] == 127 : address->text() == "::1");
}

bool is_public_host(std::string_view host) {
  if (is_loopback_host(host)) return false;
  if (const auto address = parse_ip_address(host)) return !is_private(*address);
  constexpr std::array<std::string_view, 5> kInternal{".local", ".internal", ".lan", ".home.arpa", ".test"};
  return host.find('.') != std::string_view::npos &&
         std::none_of(kInternal.begin(), kInternal.end(),
                      [&](std::string_view domain) { return host.ends_with(domain); });
}

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
  const std::string host = ascii_lower(part_of(url, CURLUPART_HOST));
  const bool is_ascii = std::all_of(host.begin(), host.end(), [](char c) { return (c & 0x80) == 0; });
  const std::string name = is_ascii ? std::string() : normalized_domain(host);
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
  const std::string scheme = ascii_lower(text.substr(0, end_of_scheme));
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
  return ascii_lower(part_of(parts.get(), CURLUPART_SCHEME)) + "://" + host_of(parts.get()) +
         (port.empty() ? "" : ":" + port);
}

bool is_secure_admin_url(const std::string& url) {
  return ascii_lower(url).starts_with("https:") || is_loopback_host(host_of_url(url));
}

TextFault check_web_url(std::string& text) {
  UrlParts url(curl_url(), curl_url_cleanup);
  if (TextFault fault = check_url(text, "http", "https", url)) return fault;
  strip_trailing_slashes(text);
  return std::nullopt;
}

TextFault check_org_url(std::string& text) {
  if (TextFault fault = check_web_url(text)) return fault;
  if (ascii_lower(text).starts_with("http:") && !is_loopback_host(host_of_url(text)))
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
  text = ascii_lower(text);
  const auto fits = [&](char c, char form) {
    return form == '-' ? c == '-' : kHex.find(c) != std::string_view::npos;
  };
  if (text.size() == kForm.size() && std::equal(text.begin(), text.end(), kForm.begin(), fits))
    return std::nullopt;
  return "which is not an id";
}

TextFault check_plan(std::string& text) {
  return plan_from_word(text) ? std::nullopt : TextFault("which is not a plan");
}

TextFault check_domain(std::string& text) {
  std::string key = normalized_domain(text);
  if (key.empty()) return "which is not a domain";
  text = std::move(key);
  return std::nullopt;
}

TextFault check_domain_pattern(std::string& text) {
  constexpr std::string_view kSubdomains = "*.";
  const bool is_of_subdomains = text.starts_with(kSubdomains);
  std::string domain = is_of_subdomains ? text.substr(kSubdomains.size()) : text;
  if (TextFault fault = check_domain(domain)) return fault;
  text = (is_of_subdomains ? std::string(kSubdomains) : "") + domain;
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

TextFault check_record_url(std::string& text) {
  std::string example = text;
  const auto take = [&](std::string_view placeholder) {
    const std::size_t at = example.find(placeholder);
    if (at != std::string::npos) example.replace(at, placeholder.size(), "x");
    return at != std::string::npos;
  };
  const std::size_t host = text.find("://");
  const std::size_t path = host == std::string::npos ? host : text.find_first_of("/?", host + 3);
  if (text.find('{') < path) return "which has a placeholder in its host";
  if (!take("{id}")) return "which has no {id}";
  take("{object}");
  if (example.find_first_of("{}") != std::string::npos)
    return "which has a placeholder twice, or another than {object} and {id}";
  return check_sign_in_url(example);
}

TextFault check_currency(std::string& text) {
  constexpr std::size_t kLetters = 3;
  const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
  if (text.size() == kLetters && std::all_of(text.begin(), text.end(), is_capital)) return std::nullopt;
  return "which is not three capital letters";
}

TextFault check_smtp_url(std::string& text) {
  UrlParts url(curl_url(), curl_url_cleanup);
  if (TextFault fault = check_url(text, "smtp", "smtps", url)) return fault;
  const std::string path = part_of(url.get(), CURLUPART_PATH);
  if (!path.empty() && path != "/") return "which has more than a host and a port";
  strip_trailing_slashes(text);
  return std::nullopt;
}

}  // namespace giftsync::config
