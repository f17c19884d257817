#include "daemon/http/http_front.h"

#include <Poco/Net/TCPServer.h>
#include <Poco/Net/TCPServerParams.h>
#include <Poco/ThreadPool.h>
#include <sys/socket.h>

#include <atomic>
#include <utility>

#include "daemon/http/connection_census.h"
#include "daemon/http/front_connection.h"
#include "daemon/http/front_listener.h"
#include "daemon/http/trusted_proxies.h"

namespace giftsync::daemon {
namespace {

/// Threads beyond max_connections: newcomers that are just pushing out an idle connection.
constexpr std::size_t kThreadMargin = 64;
/// Reserved, not resident; a handler that reaches down to SQL or TLS fits.
constexpr int kStackBytes = 512 * 1024;
constexpr int kThreadIdleSeconds = 60;
constexpr int kMostQueued = 1024;
/// How long a thread of Poco's dispatcher waits for its next connection. One that begins to wait just when
/// the dispatcher is stopped is not woken, so a stop may take this long (Poco's default is ten seconds).
constexpr long kDispatcherWaitMillis = 250;

}  // namespace

// Threads: Poco accepts on one thread and gives every connection one of the pool. Members are destroyed from
// the last to the first: the server before its threads, these before what the connections share.
struct HttpFront::Doors {
  Doors(FrontOptions given_options, HttpHandler given_handler)
      : options(std::move(given_options)),
        handler(std::move(given_handler)),
        proxies(options.trusted_proxies),
        census(options.max_connections, options.max_connections_per_address),
        listener(open_listener(options.listen)),
        address(listener.address().toString()),
        threads(2, static_cast<int>(thread_count() + 1), kThreadIdleSeconds, kStackBytes),
        server(new FrontConnectionFactory(shared), threads, listener, parameters()) {
    reserve_descriptors(thread_count());
    server.setConnectionFilter(new ArrivalFilter(census));
  }

  std::size_t thread_count() const { return options.max_connections + kThreadMargin; }

  Poco::Net::TCPServerParams::Ptr parameters() const {
    Poco::Net::TCPServerParams::Ptr params = new Poco::Net::TCPServerParams;
    params->setMaxThreads(static_cast<int>(thread_count()));
    params->setMaxQueued(kMostQueued);
    params->setThreadIdleTime(Poco::Timespan(kDispatcherWaitMillis * Poco::Timespan::MILLISECONDS));
    return params;
  }

  const FrontOptions options;
  const HttpHandler handler;
  const TrustedProxies proxies;
  ConnectionCensus census;
  const FrontShared shared{options, handler, proxies, census};
  Poco::Net::ServerSocket listener;
  const std::string address;
  Poco::ThreadPool threads;
  Poco::Net::TCPServer server;
  std::atomic<bool> stopped{false};
};

HttpFront::HttpFront(FrontOptions options, HttpHandler handler)
    : doors_(std::make_unique<Doors>(std::move(options), std::move(handler))) {}

HttpFront::~HttpFront() {
  stop(0);
}

void HttpFront::start() {
  doors_->server.start();
}

void HttpFront::stop(std::int64_t grace_millis) {
  if (doors_->stopped.exchange(true)) return;
  // First phase: the listener wakes its thread and refuses newcomers, and who rests is sent home.
  ::shutdown(doors_->listener.impl()->sockfd(), SHUT_RDWR);
  doors_->server.stop();
  doors_->listener.close();
  doors_->census.close_resting();
  // Second phase: requests in flight are answered, as far as their time goes.
  const auto deadline = ConnectionCensus::Clock::now() + std::chrono::milliseconds(grace_millis);
  if (!doors_->census.wait_until_empty(deadline)) doors_->census.close_all();
  doors_->threads.joinAll();
}

std::string HttpFront::listens_on() const {
  return doors_->address;
}

std::size_t HttpFront::open_connections() const {
  return doors_->census.open();
}

}  // namespace giftsync::daemon
