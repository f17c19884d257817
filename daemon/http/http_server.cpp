#include "daemon/http/http_server.h"

#include <Poco/Net/TCPServer.h>
#include <Poco/Net/TCPServerParams.h>
#include <Poco/ThreadPool.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "daemon/http/connection_registry.h"
#include "daemon/http/http_connection.h"
#include "daemon/http/http_service.h"
#include "daemon/http/listener.h"

namespace giftsync::daemon::http {
namespace {

/// Threads beyond max_connections, for new connections that are just evicting an idle one.
constexpr std::size_t kThreadMargin = 64;
/// Reserved, not resident; enough for a handler that calls SQL or TLS.
constexpr int kStackBytes = 512 * 1024;
constexpr int kThreadIdleSeconds = 60;
constexpr int kMaxQueued = 1024;
/// How long a thread of Poco's dispatcher waits for its next connection. A thread that begins to wait just
/// when the dispatcher stops is not woken, so a stop may take this long (Poco's default is ten seconds).
constexpr long kDispatcherWaitMillis = 250;

}  // namespace

// Poco accepts on one thread and gives each connection a thread of the pool. Members are destroyed from the
// last to the first: the server before its threads, the threads before the state that connections share.
struct HttpServer::Impl {
  Impl(const HttpServerOptions& options, HttpHandler handler)
      : max_connections(options.max_connections),
        service(std::make_shared<HttpService>(options, std::move(handler))),
        registry(options.max_connections, options.max_connections_per_address),
        listener(open_listener(options.listen)),
        address(listener.address().toString()),
        threads(2, static_cast<int>(thread_count() + 1), kThreadIdleSeconds, kStackBytes),
        server(new HttpConnectionFactory(context), threads, listener, parameters()) {
    reserve_descriptors(thread_count());
    server.setConnectionFilter(new AcceptRecorder(registry));
  }

  std::size_t thread_count() const { return max_connections + kThreadMargin; }

  Poco::Net::TCPServerParams::Ptr parameters() const {
    Poco::Net::TCPServerParams::Ptr params = new Poco::Net::TCPServerParams;
    params->setMaxThreads(static_cast<int>(thread_count()));
    params->setMaxQueued(kMaxQueued);
    params->setThreadIdleTime(Poco::Timespan(kDispatcherWaitMillis * Poco::Timespan::MILLISECONDS));
    return params;
  }

  const std::size_t max_connections;
  CurrentService service;
  ConnectionRegistry registry;
  const ConnectionContext context{service, registry};
  Poco::Net::ServerSocket listener;
  const std::string address;
  Poco::ThreadPool threads;
  Poco::Net::TCPServer server;
  std::atomic<bool> stopped{false};
};

HttpServer::HttpServer(const HttpServerOptions& options, HttpHandler handler)
    : impl_(std::make_unique<Impl>(options, std::move(handler))) {}

HttpServer::~HttpServer() {
  stop(0);
}

void HttpServer::start() {
  impl_->server.start();
}

void HttpServer::exchange(const HttpServerOptions& options, HttpHandler handler,
                          std::shared_ptr<const void> use) {
  impl_->registry.set_limits(std::min(options.max_connections, impl_->max_connections),
                             options.max_connections_per_address);
  impl_->service.set(std::make_shared<HttpService>(options, std::move(handler), std::move(use)));
}

void HttpServer::stop(std::int64_t grace_millis) {
  if (impl_->stopped.exchange(true)) return;
  // First phase: the listener stops and idle connections are closed.
  ::shutdown(impl_->listener.impl()->sockfd(), SHUT_RDWR);
  impl_->server.stop();
  impl_->listener.close();
  impl_->registry.close_idle();
  // Second phase: requests in flight are answered within the grace period.
  const auto deadline = ConnectionRegistry::Clock::now() + std::chrono::milliseconds(grace_millis);
  if (!impl_->registry.wait_until_empty(deadline)) impl_->registry.close_all();
  impl_->threads.joinAll();
}

std::string HttpServer::listen_address() const {
  return impl_->address;
}

std::size_t HttpServer::max_connections() const {
  return impl_->max_connections;
}

std::size_t HttpServer::open_connections() const {
  return impl_->registry.open_count();
}

}  // namespace giftsync::daemon::http
