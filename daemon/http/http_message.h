// daemon/http: a request and a response as plain values. Nothing outside this folder knows which library
// serves them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace giftsync::daemon {

/// Compares header names without regard to ASCII case.
struct HeaderLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const;
};

struct HttpRequest {
  std::string method;  ///< as sent: "POST"
  std::string path;    ///< decoded path without query; always begins with '/'
  std::string query;   ///< raw, without '?'
  std::multimap<std::string, std::string, HeaderLess> headers;
  std::string body;  ///< whole body; empty when `body_too_large`
  bool body_too_large = false;
  std::string client;      ///< numeric address of the client, after trusted proxies
  std::string request_id;  ///< made by the front, sent back as Request-Id

  /// The header's value when it appears exactly once, else nullopt.
  std::optional<std::string> header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;  ///< without Content-Length, Date, Request-Id
  std::string body;
  bool close = false;  ///< close the connection after this answer
  // For the log alone; never sent.
  std::string code = {};    ///< of a refusal: "refused_api_key", "invalid: recipients[0].email empty"
  std::string caller = {};  ///< the first characters of the caller's key or token, by which listings show it
};

}  // namespace giftsync::daemon
