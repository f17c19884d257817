// daemon: the listening sockets. They outlive reloads: an application is served through them until the next
// one is, without a moment in which nothing listens (OPS-3). Main thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/config/settings.h"
#include "daemon/http/http_server.h"
#include "daemon/http/router.h"

namespace giftsync::daemon {

class Listeners {
 public:
  /// Opens the addresses of `settings` that are not open yet; they serve nothing before serve(). Returns all
  /// addresses of `settings` ("127.0.0.1:8480"). Throws std::runtime_error when one cannot be listened on;
  /// then nothing has changed.
  std::vector<std::string> open(const config::Settings& settings);
  /// After open() with the same settings: requests that begin from now on are handled by `router` within
  /// the limits of `settings`. Addresses that these settings do not name are closed, after their requests in
  /// progress. `use` is released when the next one
  /// is served and the last request has ended. Without a thread for a new address the process ends.
  void serve(const config::Settings& settings, http::Router& router,
             const std::shared_ptr<const void>& use) noexcept;
  /// Closes what open() has opened and serve() does not serve yet.
  void discard_opened() { opened_.clear(); }
  /// Requests in progress get their response first.
  void stop();
  /// "127.0.0.1:8480", one for each listener that serves.
  std::vector<std::string> addresses() const;

 private:
  struct Listener {
    std::string listen;  ///< as in the settings
    std::unique_ptr<http::HttpServer> server;
  };
  struct Address;
  static std::vector<Address> addresses_of(const config::ServerSettings& server);
  /// For each address the listener that is open there, each of them once; null where there is none.
  std::vector<Listener*> find_open(const std::vector<Address>& addresses);

  /// The budget of all servers together.
  const std::shared_ptr<http::BodyBudget> body_budget_ = std::make_shared<http::BodyBudget>();
  std::vector<Listener> listeners_;  ///< in the order of the settings
  std::vector<Listener> opened_;     ///< by open(), for serve()
};

}  // namespace giftsync::daemon
