// platform: a numeric IP address as a value, independent of the socket's family.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sockaddr;

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

/// A block of addresses.
struct IpNetwork {
  IpAddress address{};
  unsigned prefix_bits = 0;  ///< of the 16-byte form

  bool contains(const IpAddress& other) const;
};

/// Parses an address ("10.0.0.7", "2001:db8::7") or a CIDR block ("10.0.0.0/8", "fd00::/8"); nullopt for
/// anything else. Bits after the prefix are ignored.
std::optional<IpNetwork> parse_ip_network(std::string_view text);

/// Why an address is not one of the public Internet: "loopback", "private", "link-local", "shared",
/// "multicast", "unspecified" or "reserved"; nullopt for a public one. IPv4 inside IPv6 (NAT64, 6to4, Teredo)
/// counts as the IPv4 address that it reaches. Pure.
std::optional<std::string_view> special_range_of(const IpAddress& address);
/// The IPv4 address that an IPv6 address reaches through NAT64, 6to4 or Teredo; nullopt for any other.
std::optional<IpAddress> embedded_ipv4(const IpAddress& address);

/// The address of a socket address of IPv4 or IPv6; nullopt for another family.
std::optional<IpAddress> ip_address_of(const sockaddr& address);

/// The addresses of a host: a name, or an address in any spelling that the system's resolver takes. Empty
/// when there is none. May wait for the resolver as long as the system lets it.
std::vector<IpAddress> resolve_host(const std::string& host);

/// The peer address of a connected TCP socket; nullopt when the peer has disconnected.
std::optional<IpAddress> peer_address(int descriptor);

}  // namespace giftsync
