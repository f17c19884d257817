// daemon/http: the request-target, taken apart (RFC 9112 3.2).
#pragma once

#include <string>
#include <string_view>

namespace giftsync::daemon {

struct RequestTarget {
  std::string path;   ///< percent-decoded, begins with '/', UTF-8 without control characters
  std::string query;  ///< raw, without '?'
  std::string
      authority;  ///< of the absolute form ("http://host:80/path"); empty for the origin form ("/path")
};

constexpr std::size_t kMaxTargetBytes = 8192;

/// Fills `target`. Returns what is wrong as a sentence, empty when nothing is. The asterisk form and
/// CONNECT's authority form are refused: giftsync serves resources only.
std::string_view read_target(std::string_view raw, RequestTarget& target);

/// True when `host` can be the value of a Host header: a name or address and perhaps a port, not empty.
bool is_host(std::string_view host);

}  // namespace giftsync::daemon
