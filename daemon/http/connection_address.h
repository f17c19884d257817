// daemon/http: a numeric IP address as a value, whichever family it came from.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace giftsync::daemon {

/// Sixteen octets; IPv4 as IPv4-mapped IPv6 (::ffff:192.0.2.1), so that a client has one spelling whether it
/// came to a socket of one family or of both.
struct IpAddress {
  std::array<std::uint8_t, 16> octets{};

  bool operator==(const IpAddress&) const = default;

  bool is_v4() const;
  /// "192.0.2.1", "2001:db8::1".
  std::string text() const;
  /// What one customer of an access provider is given: the address for IPv4, the /64 for IPv6. Caps count by
  /// it, since an IPv6 host chooses freely among 2^64 addresses.
  IpAddress subscriber() const;
};

/// Reads "192.0.2.1" or "2001:db8::1" (no port, no brackets, no zone); nullopt for anything else, shortened
/// IPv4 spellings such as "10.1" included.
std::optional<IpAddress> parse_ip_address(std::string_view text);

/// The address of the other end of a connected TCP socket; nullopt when it has gone already.
std::optional<IpAddress> peer_address(int descriptor);

}  // namespace giftsync::daemon
