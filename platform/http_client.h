// platform: HTTP requests (libcurl). TLS is verified unless a request says otherwise, redirects are not
// followed, and the caller bounds bytes and time. HttpClient sends requests of any method over a connection
// that stays open; http_get() sends one GET. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "platform/ip_address.h"
#include "platform/time.h"

namespace giftsync {

/// Where a URL without TLS may lead.
enum class PlainHttp { nowhere, to_loopback, anywhere };

/// Asked before each socket is opened, with the address after the name was resolved: why it may not be, as a
/// clause ("10.0.0.7 is a private address"); nullopt: it may. So neither a second record of a name nor one
/// that changes leads elsewhere.
using AddressCheck = std::function<std::optional<std::string>(const IpAddress&)>;

struct HttpClientOptions {
  std::string ca_file = {};                       ///< empty: the system's certificate authorities
  std::size_t max_bytes = std::size_t{16} << 20;  ///< of the decoded body
  std::int64_t connect_timeout_millis = 10'000;
  std::int64_t timeout_millis = 120'000;  ///< of a whole request, the connection included
  std::int64_t stalled_seconds = 0;  ///< fewer than 10 bytes a second for so long end a request; 0: no limit
  PlainHttp plain_http = PlainHttp::to_loopback;
  bool bypass_proxy = false;  ///< ignore http_proxy, for requests to this host itself
  bool verify_tls = true;  ///< false: any certificate will do, for a server of this host that gets no secret
  AddressCheck address_check = {};   ///< null: every address is allowed
  bool cuts_body = false;            ///< a longer body is read to `max_bytes` and no fault
  bool asks_for_compression = true;  ///< false: no Accept-Encoding, and nothing is decoded
};

struct HttpRequest {
  std::string method = "GET";
  std::string url = {};
  std::vector<std::string> headers = {};  ///< "Name: value"; may contain secrets
  std::string body = {};                  ///< sent if not empty or the method is POST, PUT or PATCH
  bool compress_body = false;             ///< with gzip, if the body has more than 1 KiB
  bool may_repeat = false;  ///< may arrive twice: is sent again when the open connection turns out to be dead
};

struct HttpResponse {
  int status = 0;                 ///< 0: no complete response; `error` says why
  std::string error;              ///< without the request's headers, body or query
  bool may_have_arrived = false;  ///< false: no byte of the request has left, so nothing was done
  bool is_too_large = false;      ///< an answer came, with more than `max_bytes`
  std::size_t sent_bytes = 0;     ///< of the body, as sent
  std::string body;               ///< decoded
  std::vector<std::pair<std::string, std::string>> headers;  ///< names in lower case, in their order

  /// The values of that name (lower case), joined by ", "; empty when there is none.
  std::string header(std::string_view name) const;
};

/// Called about once a second; false ends the request. May be null.
using KeepGoing = std::function<bool()>;

class HttpClient {
 public:
  explicit HttpClient(HttpClientOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// One connection stays open between requests; requests at the same time have one each. A request with a
  /// body is sent once, unless it may repeat: libcurl does not repeat it when the open connection is dead. A
  /// GET whose response has an unknown or wrong Content-Encoding is sent once more and its body taken without
  /// decoding.
  HttpResponse send(const HttpRequest& request, const KeepGoing& keep_going = nullptr);

 private:
  struct Connection;
  std::unique_ptr<Connection> take_connection();
  void keep_connection(std::unique_ptr<Connection> connection);

  const HttpClientOptions options_;
  std::mutex mutex_;
  std::unique_ptr<Connection> idle_;  // guarded by mutex_
};

struct HttpGetRequest {
  std::string url;
  std::vector<std::string> headers;               ///< "Name: value"; may contain secrets
  std::string ca_file;                            ///< empty: the system's certificate authorities
  std::size_t max_bytes = std::size_t{16} << 20;  ///< of the decoded body
  std::int64_t timeout_millis = 60'000;
  bool https_only = false;
  bool bypass_proxy = false;  ///< ignore http_proxy, for requests to this host itself
  bool verify_tls = true;  ///< false: any certificate will do, for a server of this host that gets no secret
};

struct HttpGetResponse {
  int status = 0;     ///< 0: no complete response; `error` says why
  std::string error;  ///< without the request's headers, body or query
  std::string body;
  std::string etag;
  std::string link;
  std::string retry_after;
  std::string location;
};

/// Calls `keep_going` about once a second; false ends the request.
using HttpGet =
    std::function<HttpGetResponse(const HttpGetRequest&, const std::function<bool()>& keep_going)>;

/// A response whose Content-Encoding is unknown or wrong is requested once more and taken without decoding.
HttpGetResponse http_get(const HttpGetRequest& request, const std::function<bool()>& keep_going);

/// What a URL consists of; an empty text for a part that it has not. The port is the scheme's if it names
/// none.
struct UrlParts {
  std::string scheme;  ///< in lower case
  std::string host;    ///< in lower case, an IPv6 address without brackets; IPv4 in its usual spelling
  std::string port;
  std::string user;
  std::string password;
  std::string fragment;
};
/// Nullopt for a text that is no absolute URL.
std::optional<UrlParts> url_parts(const std::string& url);

/// Resolves `relative_url` against `base`; empty when the result is not a URL.
std::string resolve_url(const std::string& base, const std::string& relative_url);
/// Whether both have the same scheme, host and port.
bool is_same_origin(const std::string& one, const std::string& other);
/// `target` with the scheme, host and port of `url`, so that the headers for `url` may be sent to it. Where
/// only its scheme is weaker (http for https, as written behind a TLS proxy), it becomes https. Otherwise the
/// end of a sentence, such as "to another host".
tl::expected<std::string, std::string> within_origin(const std::string& url, const std::string& target);
/// Whether a request to `url` is encrypted or stays on this host: https, or http to a loopback address or
/// "localhost".
bool is_https_or_loopback(const std::string& url);
/// `url` with one more query parameter; the value is escaped.
std::string with_query_parameter(const std::string& url, const std::string& name, const std::string& value);
/// `text` with all but letters, digits, "-", ".", "_" and "~" as %XX.
std::string percent_encoded(std::string_view text);
/// The target of the first link with the relation "next" in a Link header (RFC 8288), several lines joined by
/// ", "; empty when there is none. A link with an anchor is another document's.
std::string next_link_url(const std::string& link_header);
/// The time of a Date header; nullopt for other text.
std::optional<UtcMillis> from_http_date(const std::string& text);

}  // namespace giftsync
