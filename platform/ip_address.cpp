#include "platform/ip_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

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

std::optional<IpAddress> peer_address(int descriptor) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return std::nullopt;
  if (storage.ss_family == AF_INET) return from_v4(reinterpret_cast<const sockaddr_in&>(storage).sin_addr);
  if (storage.ss_family == AF_INET6) return from_v6(reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr);
  return std::nullopt;
}

}  // namespace giftsync
