// daemon: the composition root. It builds the components in order (store, secret, CRM, transport, writer,
// endpoints, workers), is the only place that names adapters, and destroys them in reverse order. An
// application has one set of settings for its whole life; a reload builds another one beside it
// (daemon/daemon.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/config/settings.h"
#include "daemon/http/router.h"
#include "platform/trusted_clock.h"
#include "wiring/config_error.h"

namespace giftsync::daemon {

/// Main thread only, except for the router.
class Application {
 public:
  /// Migrates the store; no worker runs yet. Throws ConfigError or platform::DependencyError. `trusted_clock`
  /// must outlive this object. `instance_id`: of the daemon, which its readiness probe tells.
  Application(const config::Settings& settings, platform::TrustedClock& trusted_clock,
              const std::string& instance_id);
  /// Waits for the workers' current steps. No request may be in progress.
  ~Application();
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  struct Leases {
    std::string owner;                      ///< a name that no running application has
    std::string daemon;                     ///< host and address, the same for all applications of a daemon
    std::vector<std::string> ended_owners;  ///< whose leases are released
  };
  /// Starts the workers. Throws platform::DependencyError.
  /// `keep_record` is called by a worker every few seconds and may throw the same.
  void start(const Leases& leases, std::function<void()> keep_record);
  /// The workers begin nothing more. Requests are still handled.
  void request_stop();
  /// Handles requests on any thread.
  http::Router& router();
  /// False when a worker's heartbeat is too old; the systemd watchdog is then not notified.
  bool workers_alive() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace giftsync::daemon
