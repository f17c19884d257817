#include "daemon/http/trusted_proxies.h"

#include <algorithm>
#include <stdexcept>

#include "platform/text.h"

namespace giftsync::http {
namespace {

constexpr unsigned kMappedBits = 96;  ///< IPv4 begins here in the 16-byte form
constexpr unsigned kAllBits = 128;

bool shares_prefix(const IpAddress& a, const IpAddress& b, unsigned bits) {
  const std::size_t whole_bytes = bits / 8;
  if (!std::equal(a.octets.begin(), a.octets.begin() + whole_bytes, b.octets.begin())) return false;
  const unsigned rest = bits % 8;
  return rest == 0 || ((a.octets[whole_bytes] ^ b.octets[whole_bytes]) >> (8 - rest)) == 0;
}

std::optional<unsigned> parse_prefix(std::string_view text, unsigned max_bits) {
  const auto bits = parse_number<unsigned>(text);
  return bits && *bits <= max_bits ? bits : std::nullopt;
}

/// Some proxies add the port: "192.0.2.1:4711", "[2001:db8::1]:4711".
std::string_view without_port(std::string_view hop) {
  if (!hop.empty() && hop.front() == '[') {
    const std::size_t close = hop.find(']');
    return close == std::string_view::npos ? hop : hop.substr(1, close - 1);
  }
  const std::size_t colon = hop.find(':');
  return colon == hop.rfind(':') ? hop.substr(0, colon) : hop;
}

}  // namespace

std::optional<TrustedProxies::Block> TrustedProxies::parse(std::string_view entry) {
  const std::size_t slash = entry.find('/');
  const auto address = parse_ip_address(entry.substr(0, slash));
  if (!address) return std::nullopt;
  if (slash == std::string_view::npos) return Block{*address, kAllBits};
  // "::ffff:10.0.0.0/104" is written as IPv6, so its prefix counts all 128 bits.
  const bool dotted = entry.find(':') == std::string_view::npos;
  const auto bits = parse_prefix(entry.substr(slash + 1), dotted ? kAllBits - kMappedBits : kAllBits);
  if (!bits) return std::nullopt;
  return Block{*address, dotted ? kMappedBits + *bits : *bits};
}

std::optional<std::string> TrustedProxies::entry_error(std::string_view entry) {
  if (parse(entry)) return std::nullopt;
  return "\"" + std::string(entry) +
         "\" is neither an IP address (10.0.0.7, 2001:db8::7) nor a CIDR block (10.0.0.0/8, fd00::/8)";
}

TrustedProxies::TrustedProxies(const std::vector<std::string>& entries) {
  for (const std::string& entry : entries) {
    if (const auto message = entry_error(entry))
      throw std::invalid_argument("server.trusted_proxies: " + *message);
    blocks_.push_back(*parse(entry));
  }
}

bool TrustedProxies::trusts(const IpAddress& address) const {
  return std::any_of(blocks_.begin(), blocks_.end(), [&](const Block& block) {
    return shares_prefix(block.address, address, block.prefix_bits);
  });
}

IpAddress TrustedProxies::client_behind(const IpAddress& peer,
                                        const std::vector<std::string_view>& forwarded_for) const {
  IpAddress client = peer;
  for (auto line = forwarded_for.rbegin(); line != forwarded_for.rend(); ++line) {
    std::string_view rest = *line;
    while (!rest.empty()) {
      if (!trusts(client)) return client;
      const std::size_t comma = rest.rfind(',');
      const std::size_t begin = comma == std::string_view::npos ? 0 : comma + 1;
      const auto hop = parse_ip_address(without_port(trimmed(rest.substr(begin))));
      if (!hop) return client;
      client = *hop;
      rest = rest.substr(0, comma == std::string_view::npos ? 0 : comma);
    }
  }
  return client;
}

}  // namespace giftsync::http
