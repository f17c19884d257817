// daemon/http: parses the request-target (RFC 9112 3.2).
#pragma once

#include <string>
#include <string_view>

namespace giftsync::daemon::http {

struct RequestTarget {
  std::string path;   ///< percent-decoded, begins with '/', UTF-8 without control characters
  std::string query;  ///< raw, without '?'
  std::string
      authority;  ///< of the absolute form ("http://host:80/path"); empty for the origin form ("/path")
};

constexpr std::size_t kMaxTargetBytes = 8192;

/// Fills `target`. Returns the error as a sentence, empty for none. The asterisk form and CONNECT's authority
/// form are refused: giftsync serves resources only.
std::string_view parse_request_target(std::string_view raw, RequestTarget& target);

/// True when `host` is valid in a Host header: a name or address with an optional port, not empty.
bool is_host_header_value(std::string_view host);

}  // namespace giftsync::daemon::http
