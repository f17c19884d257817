// platform: one HTTP GET (libcurl). TLS is verified, redirects are not followed, and the caller bounds bytes
// and time. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace giftsync::platform {

struct HttpGetRequest {
  std::string url;
  std::vector<std::string> headers;               ///< "Name: value"; may contain secrets
  std::string ca_file;                            ///< empty: the system's certificate authorities
  std::size_t max_bytes = std::size_t{16} << 20;  ///< of the decoded body
  std::int64_t timeout_millis = 60'000;
  bool https_only = false;
  bool bypass_proxy = false;  ///< ignore http_proxy, for requests to this host itself
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

/// Resolves `relative_url` against `base`; empty when the result is not a URL.
std::string resolve_url(const std::string& base, const std::string& relative_url);
/// Whether both have the same scheme, host and port.
bool is_same_origin(const std::string& one, const std::string& other);
/// `url` with one more query parameter; the value is escaped.
std::string with_query_parameter(const std::string& url, const std::string& name, const std::string& value);
/// The URL of rel="next" in a Link header (RFC 8288); empty when there is none.
std::string next_link_url(const std::string& link_header);

}  // namespace giftsync::platform
