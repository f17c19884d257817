// platform: a numeric IP address as a value, independent of the socket's family.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace giftsync {

/// 16 bytes; IPv4 as IPv4-mapped IPv6 (::ffff:192.0.2.1), so a client has one form on sockets of either
/// family.
struct IpAddress {
  std::array<std::uint8_t, 16> octets{};

  bool operator==(const IpAddress&) const = default;

  bool is_v4() const;
  /// "192.0.2.1", "2001:db8::1".
  std::string text() const;
  /// The address for IPv4, the /64 for IPv6. Limits count by it, since an IPv6 host can use any of the 2^64
  /// addresses of its /64.
  IpAddress rate_limit_prefix() const;
};

/// Parses "192.0.2.1" or "2001:db8::1" (no port, brackets or zone); nullopt for anything else, also for short
/// IPv4 forms such as "10.1".
std::optional<IpAddress> parse_ip_address(std::string_view text);

/// The key for limits per client: the text of rate_limit_prefix(), or `text` itself when it is not an
/// address.
std::string rate_limit_prefix(const std::string& client);

/// The peer address of a connected TCP socket; nullopt when the peer has disconnected.
std::optional<IpAddress> peer_address(int descriptor);

}  // namespace giftsync
