// daemon/console: what a request must have before a page sees it: the right host, a session's cookie, and of
// a post the right origin and form token (CON-10 to CON-12). Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/http/http_message.h"

namespace giftsync::console {

/// The console's address as browsers see it.
struct ConsoleUrl {
  explicit ConsoleUrl(const std::string& admin_url);

  std::string origin;     ///< "https://admin.example.com:8443", in lower case
  std::string host;       ///< "admin.example.com", without a port
  std::string base;       ///< "/console", or "/gifts/console" below a path of admin_url
  bool is_secure = true;  ///< https
  /// The name of the session's cookie: with the prefix __Host-, below a path __Secure-, and plain without TLS
  /// on this host.
  std::string cookie_name;
};

/// Whether the request names the console's host. The port is not compared: proxies drop it.
bool has_right_host(const http::HttpRequest& request, const ConsoleUrl& url);

/// The value of Set-Cookie of the session. An empty `value` deletes the cookie.
std::string set_cookie(const ConsoleUrl& url, const std::string& value);

/// What the browser carries for a moment beside the session, such as "return". 0 seconds delete it.
std::string short_cookie_name(const ConsoleUrl& url, std::string_view purpose);
std::string set_short_cookie(const ConsoleUrl& url, std::string_view purpose, const std::string& value,
                             std::int64_t seconds);

/// Why the post is refused; empty when it comes from a page of the console. Absent headers refuse.
std::string origin_fault(const http::HttpRequest& request, const ConsoleUrl& url);

/// The token of the forms that post to this path of the console, such as "/sign-out".
std::string form_token(std::string_view form_secret, std::string_view path);

/// "a=1&b=x%20y", in the order of the names, without empty values.
std::string query_of(const std::map<std::string, std::string>& parameters);

}  // namespace giftsync::console
