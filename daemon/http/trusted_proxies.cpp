#include "daemon/http/trusted_proxies.h"

#include <algorithm>
#include <stdexcept>

#include "platform/text.h"

namespace giftsync::http {
namespace {

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

std::optional<std::string> TrustedProxies::entry_error(std::string_view entry) {
  if (parse_ip_network(entry)) return std::nullopt;
  return "\"" + std::string(entry) +
         "\" is neither an IP address (10.0.0.7, 2001:db8::7) nor a CIDR block (10.0.0.0/8, fd00::/8)";
}

TrustedProxies::TrustedProxies(const std::vector<std::string>& entries) {
  for (const std::string& entry : entries) {
    if (const auto message = entry_error(entry))
      throw std::invalid_argument("server.trusted_proxies: " + *message);
    networks_.push_back(*parse_ip_network(entry));
  }
}

bool TrustedProxies::trusts(const IpAddress& address) const {
  return std::any_of(networks_.begin(), networks_.end(),
                     [&](const IpNetwork& network) { return network.contains(address); });
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
