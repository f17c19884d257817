// daemon: the composition root. It builds the components in order (store, secret, CRM, transport, writer,
// HTTP listeners, workers), is the only place that names adapters, and stops them in reverse order. Main
// thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/config/settings.h"
#include "platform/trusted_clock.h"
#include "wiring/config_error.h"

namespace giftsync::daemon {

class Application {
 public:
  /// Migrates the store, opens the listeners and starts the workers. Throws ConfigError,
  /// platform::DependencyError, or std::runtime_error when an address cannot be listened on. `trusted_clock`
  /// must outlive this object.
  Application(const config::Settings& settings, platform::TrustedClock& trusted_clock);
  /// Stops listeners, workers, writer and store, in this order; requests in flight get their response first.
  ~Application();
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  /// "127.0.0.1:8480", one for each listener.
  std::vector<std::string> listen_addresses() const;
  /// False when a worker's heartbeat is too old; the systemd watchdog is then not notified.
  bool workers_alive() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace giftsync::daemon
