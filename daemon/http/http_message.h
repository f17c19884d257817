// daemon/http: a request and a response as plain values. No code outside this folder depends on the HTTP
// library.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace giftsync::http {

/// Compares header names and ignores ASCII case.
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
  std::string request_id;  ///< made by the server, sent back as Request-Id

  /// The header's value when it appears exactly once, else nullopt.
  std::optional<std::string> header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;  ///< without Content-Length, Date, Request-Id
  std::string body;
  bool close = false;    ///< close the connection after this response
  bool is_lost = false;  ///< close the connection instead of sending it (TEST-6)
  /// Null: `body` is the body. Otherwise its next part, empty at the end; called on a thread for handlers,
  /// each time when the client has taken the part before. A throw closes the connection before the end.
  std::function<std::string()> next_chunk = {};
  // For the log alone; never sent.
  std::string code =
      {};  ///< of a refusal, for the log: "refused_api_key", "invalid: recipients[0].email empty"
  std::string caller = {};  ///< public prefix of the caller's key or token, as listings show it
  std::string source = {};  ///< the source of status changes that was called
  std::string reason = {};  ///< of a refusal: a sentence without anything of the caller's values
};

/// A response of this Content-Type that no cache keeps.
HttpResponse text_response(int status, std::string content_type, std::string body);
/// The same response with one more header.
HttpResponse with_header(HttpResponse response, std::string name, std::string value);
/// With Retry-After, at least 1 s: 0 would cause a storm of retries.
HttpResponse with_retry_after(HttpResponse response, std::int64_t seconds);

}  // namespace giftsync::http
