// daemon/sources: one HTTP GET (libcurl): TLS checked, no redirect followed by itself, no more bytes and no
// longer than the caller allows. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace giftsync::daemon {

struct WebRequest {
  std::string url;
  std::vector<std::string> headers;               ///< "Name: value"; may hold secrets
  std::string ca_file;                            ///< empty: the system's authorities
  std::size_t max_bytes = std::size_t{16} << 20;  ///< of the body as it is once it is decoded
  std::int64_t timeout_millis = 60'000;
  bool https_only = false;
  bool without_proxy = false;  ///< whatever http_proxy says: for this host itself
};

struct WebAnswer {
  int status = 0;     ///< 0: there was no whole answer; `fault` says why
  std::string fault;  ///< without headers, body or query of the request
  std::string body;
  std::string etag;
  std::string link;
  std::string retry_after;
  std::string location;
};

/// `keep_going` is asked about once a second; false ends the call.
using WebFetch = std::function<WebAnswer(const WebRequest&, const std::function<bool()>& keep_going)>;

/// An answer whose encoding is none, or is not what it says, is asked for once more and taken as it is.
WebAnswer fetch_web(const WebRequest& request, const std::function<bool()>& keep_going);

/// `reference` as a link in a document at `base` means; empty when it is none.
std::string resolved_url(const std::string& base, const std::string& reference);
/// Same scheme, host and port.
bool same_origin(const std::string& one, const std::string& other);
/// The URL with one more query parameter, its value escaped.
std::string with_parameter(const std::string& url, const std::string& name, const std::string& value);
/// The URL of rel="next" in a Link header (RFC 8288); empty when there is none.
std::string next_link(const std::string& link_header);

}  // namespace giftsync::daemon
