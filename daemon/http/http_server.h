// daemon/http: the HTTP server. It owns sockets, framing, deadlines and connection limits, and passes
// complete requests to one handler. Asio's types stay inside this folder, so another server can replace them
// (ARCH-7). One thread waits for all sockets (ARCH-25); handlers run on the threads of bounded pools.
//
// Framing is strict (HTTP-15): Content-Length with Transfer-Encoding, two different or malformed lengths, a
// missing or double Host, NUL, bad chunks or a bare LF get 400 problem+json and a close. A body is read
// completely or its connection is closed; unread bytes never become the next request. Every response carries
// Request-Id (HTTP-38).
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/http/connection_registry.h"
#include "daemon/http/handler_pool.h"
#include "daemon/http/http_handler.h"
#include "daemon/http/tls.h"

namespace giftsync::http {

struct HttpServerOptions {
  std::string listen;  ///< "127.0.0.1:8480", "[::1]:8480", "0.0.0.0:0" (0: any free port)
  /// Sockets that listen already. The one whose address `listen` is, is served instead of a new one; others
  /// are left alone.
  std::span<const int> inherited_sockets;
  std::size_t max_body_bytes =
      1 << 20;  ///< beyond it the handler sees body_too_large and the connection is closed
  std::size_t max_connections = 1000;  ///< beyond it the oldest idle connection is evicted
  std::size_t max_connections_per_address =
      256;                                   ///< beyond it the address' own oldest idle connection is evicted
  std::int64_t head_deadline_millis = 5000;  ///< first byte of a request to the end of its header
  std::int64_t body_deadline_millis = 20000;     ///< whole body
  std::int64_t idle_deadline_millis = 30000;     ///< between requests
  std::int64_t write_deadline_millis = 20000;    ///< whole response; one in parts must also keep moving
  std::int64_t queue_deadline_millis = 5000;     ///< beyond it a request that waits for a thread is not run
  std::shared_ptr<BodyBudget> body_budget;       ///< shared with other servers; null: one of its own
  std::vector<std::string> trusted_proxies;      ///< addresses or CIDR blocks whose X-Forwarded-For counts
  OnResponse on_response = {};                   ///< null: not called
  std::shared_ptr<PoolMeters> pool_meters = {};  ///< shared with other servers; null: of its own
  std::shared_ptr<TlsContext> tls = {};          ///< of connections that begin from now on; null: plain HTTP
  bool sends_hsts = false;  ///< with responses that go by TLS, here or at a trusted proxy
};

class HttpServer {
 public:
  /// Binds and listens, but serves only after start(). Throws std::runtime_error with the address and the
  /// reason, for example that it is in use: by another program, or by a daemon that has the same socket.
  HttpServer(const HttpServerOptions& options, HttpHandler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  void start();
  /// Exchanges what is served while clients are connected: requests that begin from now on are handled by
  /// `handler` within the limits of `options`; those in progress end as they began, with the former handler.
  /// `options.listen` and `options.body_budget` are ignored. Any thread.
  /// `use` is released when the next exchange has happened and the last of its requests has ended.
  void exchange(const HttpServerOptions& options, HttpHandler handler, std::shared_ptr<const void> use = {});
  /// Two-phase stop: no new connections, idle ones closed after `idle_millis`, requests in flight answered
  /// within `grace_millis`, then all threads joined. A second call does nothing. Until it is closed, an idle
  /// connection may make one more request, whose response says that it closes.
  void stop(std::int64_t grace_millis, std::int64_t idle_millis = 0);

  /// "127.0.0.1:8480", with the real port.
  std::string listen_address() const;
  /// "https://127.0.0.1:8480": as connections speak that begin now. Any thread.
  std::string url() const;
  std::size_t open_connections() const;
  /// The listening socket's descriptor. Not during and after stop().
  int socket() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Opens the listening socket and explains failures.

/// Binds and listens on "127.0.0.1:8480", "[::1]:8480" or "0.0.0.0:0" ("[::]:0" takes IPv4 too). A second
/// listener on the port fails. Throws std::runtime_error with the address, the reason and what to do.
boost::asio::ip::tcp::acceptor open_listener(boost::asio::io_context& io, const std::string& listen);

/// Takes over that of `sockets` which listens on this address, if one does: with a descriptor of its own.
std::optional<boost::asio::ip::tcp::acceptor> adopt_listener(boost::asio::io_context& io,
                                                             const std::string& listen,
                                                             std::span<const int> sockets);

/// "127.0.0.1:8480" of "localhost:8480". Throws std::runtime_error when it is no address with a port.
std::string resolved_address(const std::string& listen);

/// Where a TCP socket listens, as address_text(); nothing when it does not.
std::optional<std::string> address_of_socket(int socket);

/// "127.0.0.1:8480" or "[::1]:8480".
std::string address_text(const boost::asio::ip::tcp::endpoint& endpoint);

/// Raises this process' soft limit of open files so that `connections` fit beside all other descriptors, as
/// far as the hard limit allows. Without free descriptors no connection could be accepted to evict an idle
/// one.
void reserve_descriptors(std::size_t connections);

}  // namespace giftsync::http
