// daemon/http: which peers' X-Forwarded-For counts (HTTP-18, `server.trusted_proxies`). Every client can send
// the header, so it is trusted only along the chain of trusted hops.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/ip_address.h"

namespace giftsync::http {

class TrustedProxies {
 public:
  TrustedProxies() = default;
  /// Throws std::invalid_argument with the message of entry_error() for the first entry that has one.
  explicit TrustedProxies(const std::vector<std::string>& entries);

  /// The error of one entry; nullopt when it is an address ("10.0.0.7", "2001:db8::7") or a CIDR block
  /// ("10.0.0.0/8", "fd00::/8"). Bits after the prefix are ignored. Pure.
  static std::optional<std::string> entry_error(std::string_view entry);

  bool trusts(const IpAddress& address) const;

  /// The client behind `peer`: the right-most hop of the X-Forwarded-For values (in the order of the header
  /// lines) that is not trusted. An untrusted peer is the client itself. A hop that is not an address ends
  /// the search at the last valid one; a chain of trusted hops only yields its first.
  IpAddress client_behind(const IpAddress& peer, const std::vector<std::string_view>& forwarded_for) const;

 private:
  std::vector<IpNetwork> networks_;
};

}  // namespace giftsync::http
