#include "daemon/http/listener.h"

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <system_error>

#include "platform/text.h"

namespace giftsync::daemon::http {
namespace {

using boost::asio::ip::tcp;

constexpr int kBacklog = 1024;
constexpr rlim_t kOtherDescriptors = 512;  ///< store, mail, logs, polling

std::string advice_for(int error) {
  switch (error) {
    case EADDRINUSE:
      return "the address is already in use. Another program, perhaps a second giftsyncd, listens there: "
             "stop it, or "
             "choose another port in server.listen";
    case EADDRNOTAVAIL:
      return "no interface of this machine has this address. Choose one that it has, or 0.0.0.0 for all, in "
             "server.listen";
    case EACCES:
      return "permission denied. Ports below 1024 need CAP_NET_BIND_SERVICE: choose a higher port in "
             "server.listen, "
             "or grant it in the systemd unit";
    default:
      return std::system_category().message(error);
  }
}

[[noreturn]] void throw_error(const std::string& listen, const std::string& reason) {
  throw std::runtime_error("cannot listen on " + listen + ": " + reason + ".");
}

struct Split {
  std::string host;
  std::string port;
};

/// "[::1]:8480" without its brackets; an empty host when there is no port.
Split split_address(const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  if (colon == std::string::npos) return {};
  std::string host = listen.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return {host, listen.substr(colon + 1)};
}

tcp::endpoint parse_listen(boost::asio::io_context& io, const std::string& listen) {
  const auto [host, port] = split_address(listen);
  const auto number = platform::parse_number<std::uint16_t>(port);
  boost::system::error_code error;
  const auto found = host.empty() || !number
                         ? tcp::resolver::results_type()
                         : tcp::resolver(io).resolve(host, port, tcp::resolver::numeric_service, error);
  if (error || found.empty())
    throw_error(listen,
                "this is not an address with a port. Write for example 127.0.0.1:8480 or [::1]:8480 in "
                "server.listen");
  return found.begin()->endpoint();
}

}  // namespace

tcp::acceptor open_listener(boost::asio::io_context& io, const std::string& listen) {
  const tcp::endpoint endpoint = parse_listen(io, listen);
  try {
    tcp::acceptor acceptor(io, endpoint.protocol());
    acceptor.set_option(tcp::acceptor::reuse_address(true));
    // Otherwise accept() waits for the next connection, without end, when one was reset in the backlog.
    acceptor.set_option(tcp::acceptor::enable_connection_aborted(true));
    if (endpoint.address().is_v6()) acceptor.set_option(boost::asio::ip::v6_only(false));
    acceptor.bind(endpoint);
    acceptor.listen(kBacklog);
    acceptor.non_blocking(true);
    return acceptor;
  } catch (const boost::system::system_error& error) {
    throw_error(listen, advice_for(error.code().value()));
  }
}

std::string address_text(const tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(endpoint.port());
}

void reserve_descriptors(std::size_t connections) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min(static_cast<rlim_t>(connections) + kOtherDescriptors, limit.rlim_max);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace giftsync::daemon::http
