#include "daemon/console/request_checks.h"

#include <Poco/Exception.h>
#include <Poco/URI.h>

#include <algorithm>

#include "daemon/config/text_checks.h"
#include "daemon/http/form_request.h"
#include "platform/digest.h"
#include "platform/text.h"

namespace giftsync::daemon::console {
namespace {

constexpr std::size_t kMaxReturnPathBytes = 500;

std::string percent_encoded(const std::string& text) {
  std::string encoded;
  Poco::URI::encode(text, "!#$%&'()*+,/:;=?@[]", encoded);
  return encoded;
}

}  // namespace

ConsoleUrl::ConsoleUrl(const std::string& admin_url)
    : host(config::host_of_url(admin_url)),
      is_secure(platform::ascii_lower(admin_url).starts_with("https:")) {
  const std::size_t path = admin_url.find('/', admin_url.find("://") + 3);
  origin = platform::ascii_lower(admin_url.substr(0, path));
  const std::string prefix = path == std::string::npos ? "" : admin_url.substr(path);
  base = prefix + "/console";
  cookie_name = std::string(!is_secure ? "" : prefix.empty() ? "__Host-" : "__Secure-") + "giftsync_session";
}

bool has_right_host(const http::HttpRequest& request, const ConsoleUrl& url) {
  const auto host = request.header("Host");
  return host && config::host_of_url("http://" + *host) == url.host;
}

std::string set_cookie(const ConsoleUrl& url, const std::string& value) {
  // __Host- demands the path "/".
  const std::string path = url.base == "/console" ? "/" : url.base + "/";
  return url.cookie_name + "=" + value + "; Path=" + path + "; HttpOnly; SameSite=Lax" +
         (url.is_secure ? "; Secure" : "") + (value.empty() ? "; Max-Age=0" : "");
}

std::string origin_fault(const http::HttpRequest& request, const ConsoleUrl& url) {
  if (!http::is_form(request)) return "the content is not a form";
  const auto fetch_site = request.header("Sec-Fetch-Site");
  const auto origin = request.header("Origin");
  if (fetch_site && *fetch_site != "same-origin") return "another site posted the form";
  if (origin && *origin != "null" && platform::ascii_lower(*origin) != url.origin)
    return "the form has another origin";
  if (!fetch_site && (!origin || *origin == "null")) return "the browser does not say where the form is from";
  return {};
}

std::string form_token(std::string_view form_secret, std::string_view path) {
  return platform::to_base64url(platform::hmac_sha256(form_secret, path));
}

std::string safe_return_path(const ConsoleUrl& url, std::string_view path) {
  const std::string first = url.base + "/";
  const bool is_plain =
      std::all_of(path.begin(), path.end(), [](char c) { return c > ' ' && c < '\x7f' && c != '\\'; });
  const std::string_view file = path.substr(0, path.find_first_of("?#"));
  std::string decoded;
  try {
    Poco::URI::decode(std::string(file), decoded);
  } catch (const Poco::Exception&) {
    return first;
  }
  const bool is_safe = is_plain && path.size() <= kMaxReturnPathBytes && path.starts_with(first) &&
                       decoded.find("//") == std::string::npos && decoded.find("..") == std::string::npos &&
                       decoded.find('\\') == std::string::npos && decoded.find('%') == std::string::npos;
  return is_safe ? std::string(path) : first;
}

std::string query_of(const std::map<std::string, std::string>& parameters) {
  std::string query;
  for (const auto& [name, value] : parameters) {
    if (value.empty()) continue;
    query += (query.empty() ? "" : "&") + percent_encoded(name) + "=" + percent_encoded(value);
  }
  return query;
}

}  // namespace giftsync::daemon::console
