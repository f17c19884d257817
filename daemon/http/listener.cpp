#include "daemon/http/listener.h"

#include <Poco/Exception.h>
#include <Poco/Net/SocketAddress.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace giftsync::daemon::http {
namespace {

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

Poco::Net::SocketAddress parse_listen(const std::string& listen) {
  try {
    return Poco::Net::SocketAddress(listen);
  } catch (const Poco::Exception&) {
    throw_error(listen,
                "this is not an address with a port. Write for example 127.0.0.1:8480 or [::1]:8480 in "
                "server.listen");
  }
}

}  // namespace

Poco::Net::ServerSocket open_listener(const std::string& listen) {
  const Poco::Net::SocketAddress address = parse_listen(listen);
  try {
    Poco::Net::ServerSocket listener;
    // Poco's shorter overloads set SO_REUSEPORT as well, and two daemons would share the port.
    listener.bind(address, true, false);
    listener.listen(kBacklog);
    return listener;
  } catch (const Poco::Exception& error) {
    throw_error(listen, error.code() != 0 ? advice_for(error.code()) : error.displayText());
  }
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
