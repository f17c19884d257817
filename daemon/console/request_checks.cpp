#include "daemon/console/request_checks.h"

#include "daemon/config/text_checks.h"
#include "daemon/http/json_request.h"
#include "platform/digest.h"
#include "platform/http_client.h"
#include "platform/text.h"

namespace giftsync::console {
namespace {

std::string cookie_text(const ConsoleUrl& url, const std::string& name, const std::string& value) {
  // __Host- demands the path "/".
  const std::string path = url.base == "/console" ? "/" : url.base + "/";
  return name + "=" + value + "; Path=" + path + "; HttpOnly; SameSite=Lax" +
         (url.is_secure ? "; Secure" : "");
}

}  // namespace

ConsoleUrl::ConsoleUrl(const std::string& admin_url)
    : host(config::host_of_url(admin_url)), is_secure(ascii_lower(admin_url).starts_with("https:")) {
  const std::size_t path = admin_url.find('/', admin_url.find("://") + 3);
  origin = config::origin_of_url(admin_url);
  const std::string prefix = path == std::string::npos ? "" : admin_url.substr(path);
  base = prefix + "/console";
  cookie_name = std::string(!is_secure ? "" : prefix.empty() ? "__Host-" : "__Secure-") + "giftsync_session";
}

bool has_right_host(const http::HttpRequest& request, const ConsoleUrl& url) {
  const auto host = request.header("Host");
  return host && config::host_of_url("http://" + *host) == url.host;
}

std::string set_cookie(const ConsoleUrl& url, const std::string& value) {
  return cookie_text(url, url.cookie_name, value) + (value.empty() ? "; Max-Age=0" : "");
}

std::string short_cookie_name(const ConsoleUrl& url, std::string_view purpose) {
  return url.cookie_name + "_" + std::string(purpose);
}

std::string set_short_cookie(const ConsoleUrl& url, std::string_view purpose, const std::string& value,
                             std::int64_t seconds) {
  return cookie_text(url, short_cookie_name(url, purpose), value) + "; Max-Age=" + std::to_string(seconds);
}

std::string origin_fault(const http::HttpRequest& request, const ConsoleUrl& url) {
  if (!http::is_form(request)) return "the content is not a form";
  const auto fetch_site = request.header("Sec-Fetch-Site");
  const auto origin = request.header("Origin");
  if (fetch_site && *fetch_site != "same-origin") return "another site posted the form";
  if (origin && *origin != "null" && ascii_lower(*origin) != url.origin) return "the form has another origin";
  if (!fetch_site && (!origin || *origin == "null")) return "the browser does not say where the form is from";
  return {};
}

std::string form_token(std::string_view form_secret, std::string_view path) {
  return to_base64url(hmac_sha256(form_secret, path));
}

std::string query_of(const std::map<std::string, std::string>& parameters) {
  std::string query;
  for (const auto& [name, value] : parameters) {
    if (value.empty()) continue;
    query += (query.empty() ? "" : "&") + percent_encoded(name) + "=" + percent_encoded(value);
  }
  return query;
}

}  // namespace giftsync::console
