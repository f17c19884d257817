// daemon/http: what a server serves at present: its handler and limits, exchanged while clients are
// connected.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "daemon/http/http_handler.h"
#include "daemon/http/http_server.h"
#include "daemon/http/trusted_proxies.h"

namespace giftsync::http {

/// A request keeps the one that it began with until its response is sent.
struct HttpService {
  HttpService(HttpServerOptions server_options, HttpHandler request_handler,
              std::shared_ptr<const void> handler_use = {})
      : use(std::move(handler_use)),
        options(std::move(server_options)),
        handler(std::move(request_handler)),
        proxies(options.trusted_proxies) {}

  const std::shared_ptr<const void> use;  ///< of what the handler refers to

  const HttpServerOptions options;
  const HttpHandler handler;
  const TrustedProxies proxies;
};

/// Any thread.
class CurrentService {
 public:
  explicit CurrentService(std::shared_ptr<const HttpService> service) : service_(std::move(service)) {}

  std::shared_ptr<const HttpService> get() const {
    const std::lock_guard lock(mutex_);
    return service_;
  }
  void set(std::shared_ptr<const HttpService> service) {
    const std::lock_guard lock(mutex_);
    service_.swap(service);  // the former one is released after the lock
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const HttpService> service_;  // guarded by mutex_
};

}  // namespace giftsync::http
