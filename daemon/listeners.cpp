#include "daemon/listeners.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace giftsync::daemon {
namespace {

constexpr std::int64_t kStopGraceMillis = 10'000;

struct Address {
  std::string listen;
  http::ListenerScope scope;
};

std::vector<Address> addresses_of(const config::ServerSettings& server) {
  if (server.admin_listen.empty()) return {{server.listen, {true, true}}};
  return {{server.listen, {true, false}}, {server.admin_listen, {false, true}}};
}

http::HttpServerOptions options_for(const config::Settings& settings, const std::string& listen) {
  http::HttpServerOptions options;
  options.listen = listen;
  options.max_body_bytes = static_cast<std::size_t>(settings.limits.max_body_bytes);
  options.max_connections = static_cast<std::size_t>(settings.limits.max_connections);
  options.max_connections_per_address = static_cast<std::size_t>(settings.limits.max_connections_per_address);
  options.trusted_proxies = settings.server.trusted_proxies;
  return options;
}

http::HttpResponse serve_nothing(const http::HttpRequest&) {
  return {503, {}, {}};
}

void warn_of_connection_limit(const http::HttpServer& server, const config::LimitSettings& limits) {
  if (static_cast<std::size_t>(limits.max_connections) > server.max_connections())
    spdlog::warn("limits.max_connections: {} takes effect after a restart; until then it is {} at {}",
                 limits.max_connections, server.max_connections(), server.listen_address());
}

}  // namespace

Listeners::Listener* Listeners::find(const std::string& listen) {
  const auto found = std::find_if(listeners_.begin(), listeners_.end(),
                                  [&](const Listener& one) { return one.listen == listen; });
  return found == listeners_.end() ? nullptr : &*found;
}

std::vector<std::string> Listeners::open(const config::Settings& settings) {
  std::vector<Listener> opened;
  std::vector<std::string> addresses;
  for (const Address& address : addresses_of(settings.server)) {
    const Listener* listener = find(address.listen);
    if (!listener) {
      opened.push_back(
          {address.listen, address.scope,
           std::make_unique<http::HttpServer>(options_for(settings, address.listen), serve_nothing)});
      listener = &opened.back();
    }
    addresses.push_back(listener->server->listen_address());
  }
  opened_ = std::move(opened);
  return addresses;
}

void Listeners::serve(const config::Settings& settings, const Handler& handler) noexcept {
  std::vector<Listener> next;
  for (const Address& address : addresses_of(settings.server)) {
    Listener* const open = find(address.listen);
    if (open) {
      warn_of_connection_limit(*open->server, settings.limits);
      next.push_back({address.listen, address.scope, std::move(open->server)});
    } else {
      next.push_back(std::move(opened_.front()));
      opened_.erase(opened_.begin());
    }
    Listener& listener = next.back();
    listener.server->exchange(options_for(settings, address.listen), std::bind_front(handler, address.scope));
    if (!open) listener.server->start();
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
