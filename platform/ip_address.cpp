#include "platform/ip_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "platform/text.h"

namespace giftsync {
namespace {

constexpr std::array<std::uint8_t, 12> kMappedPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

IpAddress from_v4(const in_addr& v4) {
  IpAddress address;
  std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), address.octets.begin());
  std::memcpy(address.octets.data() + kMappedPrefix.size(), &v4, sizeof v4);
  return address;
}

IpAddress from_v6(const in6_addr& v6) {
  IpAddress address;
  std::memcpy(address.octets.data(), &v6, sizeof v6);
  return address;
}

constexpr unsigned kMappedBits = 96;  ///< IPv4 begins here in the 16-byte form
constexpr unsigned kAllBits = 128;

struct SpecialRange {
  const char* network;
  std::string_view name;
};

/// The special-purpose registries of IANA, as far as their addresses are not globally reachable.
constexpr SpecialRange kSpecialRanges[] = {
    {"0.0.0.0/8", "unspecified"},   {"10.0.0.0/8", "private"},        {"100.64.0.0/10", "shared"},
    {"127.0.0.0/8", "loopback"},    {"169.254.0.0/16", "link-local"}, {"172.16.0.0/12", "private"},
    {"192.0.0.0/24", "reserved"},   {"192.0.2.0/24", "reserved"},     {"192.88.99.0/24", "reserved"},
    {"192.168.0.0/16", "private"},  {"198.18.0.0/15", "reserved"},    {"198.51.100.0/24", "reserved"},
    {"203.0.113.0/24", "reserved"}, {"224.0.0.0/4", "multicast"},     {"240.0.0.0/4", "reserved"},
    {"::/128", "unspecified"},      {"::1/128", "loopback"},          {"2001::/23", "reserved"},
    {"2001:db8::/32", "reserved"},  {"3fff::/20", "reserved"},        {"fc00::/7", "private"},
    {"fe80::/10", "link-local"},    {"fec0::/10", "private"},         {"ff00::/8", "multicast"},
};

IpNetwork network_of(const char* text) {
  return parse_ip_network(text).value();
}

bool is_in(const char* network, const IpAddress& address) {
  return network_of(network).contains(address);
}

/// The four octets from `at` on, each changed by `mask`.
IpAddress ipv4_at(const IpAddress& address, std::size_t at, std::uint8_t mask = 0) {
  IpAddress v4;
  std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), v4.octets.begin());
  for (std::size_t i = 0; i < 4; ++i)
    v4.octets[kMappedPrefix.size() + i] = static_cast<std::uint8_t>(address.octets[at + i] ^ mask);
  return v4;
}

}  // namespace

bool IpAddress::is_v4() const {
  return std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), octets.begin());
}

std::string IpAddress::text() const {
  char text[INET6_ADDRSTRLEN] = {};
  if (is_v4()) {
    inet_ntop(AF_INET, octets.data() + kMappedPrefix.size(), text, sizeof text);
  } else {
    inet_ntop(AF_INET6, octets.data(), text, sizeof text);
  }
  return text;
}

IpAddress IpAddress::rate_limit_prefix() const {
  if (is_v4()) return *this;
  IpAddress network;
  std::copy_n(octets.begin(), 8, network.octets.begin());
  return network;
}

std::optional<IpAddress> parse_ip_address(std::string_view text) {
  char terminated[INET6_ADDRSTRLEN] = {};
  if (text.size() >= sizeof terminated || text.find('\0') != std::string_view::npos) return std::nullopt;
  std::copy(text.begin(), text.end(), terminated);
  in_addr v4{};
  if (inet_pton(AF_INET, terminated, &v4) == 1) return from_v4(v4);
  in6_addr v6{};
  if (inet_pton(AF_INET6, terminated, &v6) == 1) return from_v6(v6);
  return std::nullopt;
}

std::string rate_limit_prefix(const std::string& client) {
  const std::optional<IpAddress> address = parse_ip_address(client);
  return address ? address->rate_limit_prefix().text() : client;
}

bool IpNetwork::contains(const IpAddress& other) const {
  const std::size_t whole_bytes = prefix_bits / 8;
  if (!std::equal(address.octets.begin(), address.octets.begin() + whole_bytes, other.octets.begin()))
    return false;
  const unsigned rest = prefix_bits % 8;
  return rest == 0 || ((address.octets[whole_bytes] ^ other.octets[whole_bytes]) >> (8 - rest)) == 0;
}

std::optional<IpNetwork> parse_ip_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = parse_ip_address(text.substr(0, slash));
  if (!address) return std::nullopt;
  if (slash == std::string_view::npos) return IpNetwork{*address, kAllBits};
  // "::ffff:10.0.0.0/104" is written as IPv6, so its prefix counts all 128 bits.
  const bool dotted = text.find(':') == std::string_view::npos;
  const auto bits = parse_number<unsigned>(text.substr(slash + 1));
  if (!bits || *bits > (dotted ? kAllBits - kMappedBits : kAllBits)) return std::nullopt;
  return IpNetwork{*address, dotted ? kMappedBits + *bits : *bits};
}

std::optional<IpAddress> embedded_ipv4(const IpAddress& address) {
  if (is_in("64:ff9b::/96", address)) return ipv4_at(address, 12);
  if (is_in("2002::/16", address)) return ipv4_at(address, 2);
  if (is_in("2001::/32", address)) return ipv4_at(address, 12, 0xFF);  // Teredo inverts the client's address
  return std::nullopt;
}

std::optional<std::string_view> special_range_of(const IpAddress& address) {
  if (const auto v4 = embedded_ipv4(address)) return special_range_of(*v4);
  for (const auto& [network, name] : kSpecialRanges)
    if (is_in(network, address)) return name;
  if (address.is_v4() || is_in("2000::/3", address)) return std::nullopt;
  return "reserved";  // only 2000::/3 is allocated
}

std::optional<IpAddress> ip_address_of(const sockaddr& address) {
  if (address.sa_family == AF_INET) return from_v4(reinterpret_cast<const sockaddr_in&>(address).sin_addr);
  if (address.sa_family == AF_INET6) return from_v6(reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
  return std::nullopt;
}

std::vector<IpAddress> resolve_host(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &first) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(first, freeaddrinfo);
  std::vector<IpAddress> addresses;
  for (const addrinfo* one = list.get(); one != nullptr; one = one->ai_next)
    if (const auto address = ip_address_of(*one->ai_addr)) addresses.push_back(*address);
  return addresses;
}

std::optional<IpAddress> peer_address(int descriptor) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return std::nullopt;
  return ip_address_of(reinterpret_cast<const sockaddr&>(storage));
}

}  // namespace giftsync
