// daemon/http: the listening socket, and why there is none.
#pragma once

#include <Poco/Net/ServerSocket.h>

#include <cstddef>
#include <string>

namespace giftsync::daemon {

/// Binds and listens on "127.0.0.1:8480", "[::1]:8480" or "0.0.0.0:0" ("[::]:0" takes IPv4 too). A second
/// listener on the port fails. Throws std::runtime_error with the address, the reason and what to do.
Poco::Net::ServerSocket open_listener(const std::string& listen);

/// Raises this process' soft limit of open files so far that `connections` fit beside everything else, as far
/// as the hard limit allows: out of descriptors, no connection could be accepted to push out an idle one.
void reserve_descriptors(std::size_t connections);

}  // namespace giftsync::daemon
