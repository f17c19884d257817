// daemon/http: the one front. It owns sockets, framing, deadlines and caps, and hands whole requests to one
// handler. Poco's types stop here: a stricter or event-driven front can take this file's place.
//
// Framing is strict (design 3.4): Content-Length with Transfer-Encoding, two different or malformed lengths,
// a missing or double Host, NUL, bad chunks, bare LF: 400 problem+json and close. A body is always read whole
// or its connection closed: unread bytes never become the next request. Every answer carries Request-Id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/http/http_message.h"

namespace giftsync::daemon {

struct FrontOptions {
  std::string listen;                    ///< "127.0.0.1:8480", "[::1]:8480", "0.0.0.0:0" (0: any free port)
  std::size_t max_body_bytes = 1 << 20;  ///< beyond it: the handler sees body_too_large, then close
  std::size_t max_connections = 1000;    ///< the oldest idle one of all makes room
  std::size_t max_connections_per_address =
      256;                                     ///< beyond it the address loses its own oldest idle connection
  std::int64_t head_deadline_millis = 5000;    ///< first byte of a request to end of its header
  std::int64_t body_deadline_millis = 20000;   ///< whole body
  std::int64_t idle_deadline_millis = 30000;   ///< between requests
  std::int64_t write_deadline_millis = 20000;  ///< whole answer
  std::vector<std::string> trusted_proxies;    ///< addresses or CIDR blocks whose X-Forwarded-For counts
};

/// Answers one request. Called on many threads at once; must not throw.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

class HttpFront {
 public:
  /// Binds and listens (throws std::system_error-like std::runtime_error naming the address and the reason,
  /// e.g. in use), but answers only after start().
  HttpFront(FrontOptions options, HttpHandler handler);
  ~HttpFront();
  HttpFront(const HttpFront&) = delete;
  HttpFront& operator=(const HttpFront&) = delete;

  void start();
  /// Two-phase stop: no new connections, idle ones closed, requests in flight answered (at most
  /// `grace_millis`), then everything joined. A second call does nothing.
  void stop(std::int64_t grace_millis);

  /// "127.0.0.1:8480", with the real port.
  std::string listens_on() const;
  std::size_t open_connections() const;

 private:
  struct Doors;
  std::unique_ptr<Doors> doors_;
};

}  // namespace giftsync::daemon
