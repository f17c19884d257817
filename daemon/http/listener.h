// daemon/http: opens the listening socket and explains failures.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <string>

namespace giftsync::daemon::http {

/// Binds and listens on "127.0.0.1:8480", "[::1]:8480" or "0.0.0.0:0" ("[::]:0" takes IPv4 too). A second
/// listener on the port fails. Throws std::runtime_error with the address, the reason and what to do.
boost::asio::ip::tcp::acceptor open_listener(boost::asio::io_context& io, const std::string& listen);

/// "127.0.0.1:8480" or "[::1]:8480".
std::string address_text(const boost::asio::ip::tcp::endpoint& endpoint);

/// Raises this process' soft limit of open files so that `connections` fit beside all other descriptors, as
/// far as the hard limit allows. Without free descriptors no connection could be accepted to evict an idle
/// one.
void reserve_descriptors(std::size_t connections);

}  // namespace giftsync::daemon::http
