#include "daemon/listeners.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace giftsync::daemon {
namespace {

constexpr std::int64_t kStopGraceMillis = 10'000;

http::HttpServerOptions options_for(const config::Settings& settings, const std::string& listen,
                                    std::shared_ptr<http::BodyBudget> body_budget = {}) {
  http::HttpServerOptions options;
  options.listen = listen;
  options.max_body_bytes = static_cast<std::size_t>(settings.limits.max_body_bytes);
  options.max_connections = static_cast<std::size_t>(settings.limits.max_connections);
  options.max_connections_per_address = static_cast<std::size_t>(settings.limits.max_connections_per_address);
  options.trusted_proxies = settings.server.trusted_proxies;
  options.body_budget = std::move(body_budget);
  return options;
}

http::HttpResponse serve_nothing(const http::HttpRequest&) {
  return {503, {}, {}};
}

/// `router` must outlive the handler.
http::HttpHandler handler_of(http::Router& router, http::ListenerScope scope) {
  return {std::bind_front(&http::Router::handle, &router, scope),
          std::bind_front(&http::Router::plan, &router, scope)};
}

}  // namespace

struct Listeners::Address {
  std::string listen;
  http::ListenerScope scope;
};

std::vector<Listeners::Address> Listeners::addresses_of(const config::ServerSettings& server) {
  if (server.admin_listen.empty()) return {{server.listen, {true, true}}};
  return {{server.listen, {true, false}}, {server.admin_listen, {false, true}}};
}

std::vector<Listeners::Listener*> Listeners::find_open(const std::vector<Address>& addresses) {
  std::vector<Listener*> found;
  for (const Address& address : addresses) {
    const auto listener = std::find_if(listeners_.begin(), listeners_.end(), [&](Listener& one) {
      // Port 0 may be named twice.
      return one.listen == address.listen && std::find(found.begin(), found.end(), &one) == found.end();
    });
    found.push_back(listener == listeners_.end() ? nullptr : &*listener);
  }
  return found;
}

std::vector<std::string> Listeners::open(const config::Settings& settings) {
  discard_opened();
  const std::vector<Address> addresses = addresses_of(settings.server);
  const std::vector<Listener*> open = find_open(addresses);
  std::vector<Listener> opened;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const Listener* listener = open[i];
    if (!listener) {
      const std::string& listen = addresses[i].listen;
      opened.push_back({listen, std::make_unique<http::HttpServer>(
                                    options_for(settings, listen, body_budget_), serve_nothing)});
      listener = &opened.back();
    }
    names.push_back(listener->server->listen_address());
  }
  opened_ = std::move(opened);
  return names;
}

void Listeners::serve(const config::Settings& settings, http::Router& router,
                      const std::shared_ptr<const void>& use) noexcept {
  const std::vector<Address> addresses = addresses_of(settings.server);
  const std::vector<Listener*> open = find_open(addresses);
  std::vector<Listener> next;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto& [listen, scope] = addresses[i];
    if (open[i]) {
      next.push_back({listen, std::move(open[i]->server)});
    } else {
      next.push_back(std::move(opened_.front()));
      opened_.erase(opened_.begin());
    }
    http::HttpServer& server = *next.back().server;
    server.exchange(options_for(settings, listen), handler_of(router, scope), use);
    if (!open[i]) server.start();
  }
  const std::vector<Listener> former = std::exchange(listeners_, std::move(next));
  for (const Listener& listener : former) {
    if (listener.server) listener.server->stop(kStopGraceMillis);
  }
}

void Listeners::stop() {
  for (const Listener& listener : listeners_) listener.server->stop(kStopGraceMillis);
}

std::vector<std::string> Listeners::addresses() const {
  std::vector<std::string> addresses;
  for (const Listener& listener : listeners_) addresses.push_back(listener.server->listen_address());
  return addresses;
}

}  // namespace giftsync::daemon
