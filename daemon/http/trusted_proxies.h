// daemon/http: whose X-Forwarded-For counts (design 3.4, `server.trusted_proxies`). A header that anybody can
// send is believed only as far as the chain of trusted hops reaches.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/http/connection_address.h"

namespace giftsync::daemon {

class TrustedProxies {
 public:
  TrustedProxies() = default;
  /// Throws std::invalid_argument with the sentence of fault() for the first entry that has one.
  explicit TrustedProxies(const std::vector<std::string>& entries);

  /// What is wrong with one entry, as a sentence; nullopt when it is an address ("10.0.0.7", "2001:db8::7")
  /// or a CIDR block ("10.0.0.0/8", "fd00::/8"). Bits behind the prefix do not count. Pure.
  static std::optional<std::string> fault(std::string_view entry);

  bool trusts(const IpAddress& address) const;

  /// The client behind `peer`: the right-most hop of the X-Forwarded-For values (in the order of the header
  /// lines) that is not trusted. An untrusted peer is the client itself. A hop that is no address ends the
  /// search at the last good one; a chain of nothing but trusted hops yields its first.
  IpAddress client_behind(const IpAddress& peer, const std::vector<std::string_view>& forwarded_for) const;

 private:
  struct Block {
    IpAddress address;
    unsigned prefix_bits;  ///< of the sixteen-octet form
  };
  static std::optional<Block> parse(std::string_view entry);

  std::vector<Block> blocks_;
};

}  // namespace giftsync::daemon
