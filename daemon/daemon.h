// daemon: the running daemon: its listeners and the application that they serve. A reload builds the next
// application beside the running one, exchanges them, and lets the former one end in the background: its
// requests, and a mail whose final dot has left, end with the settings that they began with (OPS-3). Main
// thread only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/application.h"
#include "daemon/config/settings.h"
#include "daemon/http/http_server.h"
#include "daemon/metrics/metrics.h"
#include "daemon/tls_settings.h"
#include "platform/clock.h"
#include "schema/store/daemon_instances.h"

namespace giftsync::daemon {

// The listening sockets. They outlive reloads: an application is served through them until the next
// one is, without a moment in which nothing listens (OPS-3). Main thread only.

class Listeners {
 public:
  /// `inherited`: sockets that listen already. Those whose address the settings name are served, so that no
  /// connection is refused between two processes (OPS-39); the descriptors stay the caller's.
  /// `metrics` counts the requests, and must outlive this object.
  Listeners(std::vector<int> inherited, metrics::Metrics& metrics)
      : inherited_(std::move(inherited)), metrics_(metrics) {}

  /// Opens the addresses of `settings` that are not open yet; they serve nothing before serve(). Returns all
  /// addresses of `settings` ("127.0.0.1:8480"). Throws std::runtime_error when one cannot be listened on,
  /// when certificate and key cannot be used, or when their dates are not valid and those in use are; then
  /// nothing has changed.
  std::vector<std::string> open(const config::Settings& settings);
  /// After open() with the same settings: requests that begin from now on are handled by `application`'s
  /// router within the limits of `settings`, those at metrics.listen by its serve_metrics(). Addresses that
  /// these settings do not name are closed, after their requests in progress. `use` is released when the next
  /// one is served and the last request has ended. Without a thread for a new address the process ends.
  void serve(const config::Settings& settings, Application& application,
             const std::shared_ptr<const void>& use) noexcept;
  /// Closes what open() has opened and serve() does not serve yet.
  void discard_opened() { opened_.clear(); }
  /// Takes a changed certificate and key for connections that begin from now on. Every second or so.
  void check_certificate(const config::Settings& settings) {
    const UtcMillis now = system_now();
    tls_watch_.check(settings, now);
    metrics_.certificate_in_use(tls_ ? std::optional(tls_->dates()) : std::nullopt, now);
  }
  /// Requests in progress get their response first. `is_followed`: another process goes on behind the same
  /// sockets. For two seconds before, each response ends its connection, so that those that are kept open
  /// learn it and none is refused.
  void stop(bool is_followed);
  /// "127.0.0.1:8480", one for each listener that serves.
  std::vector<std::string> addresses() const;
  /// "https://127.0.0.1:8480", in the same order.
  std::vector<std::string> urls() const;
  /// Their sockets.
  std::vector<int> sockets() const;

 private:
  struct Listener {
    std::string listen;  ///< as in the settings
    std::unique_ptr<http::HttpServer> server;
  };
  struct Address;
  static std::vector<Address> addresses_of(const config::Settings& settings);
  /// `tls` is that of the settings.
  http::HttpServerOptions options_for(const config::Settings& settings, const Address& address,
                                      const std::shared_ptr<http::TlsContext>& tls) const;
  /// For each address the listener that is open there, each of them once; null where there is none.
  std::vector<Listener*> find_open(const std::vector<Address>& addresses);

  const std::vector<int> inherited_;
  metrics::Metrics& metrics_;
  /// The budget of all servers together.
  const std::shared_ptr<http::BodyBudget> body_budget_ = std::make_shared<http::BodyBudget>();
  std::vector<Listener> listeners_;             ///< in the order of the settings
  std::vector<Listener> opened_;                ///< by open(), for serve()
  std::shared_ptr<http::TlsContext> tls_;       ///< of all listeners; null: plain HTTP
  std::shared_ptr<http::TlsContext> next_tls_;  ///< by open(), for serve()
  TlsWatch tls_watch_;
};

// The row in the store by which giftsyncctl knows this daemon: what runs here, with which settings,
// and how the last reload ended (OPS-25). Any thread, except where a function says otherwise.

class DaemonRecord {
 public:
  /// `steady_millis`: a clock that never jumps.
  explicit DaemonRecord(std::function<std::int64_t()> steady_millis);

  /// Random; another one after each start of the process.
  const std::string& id() const { return id_; }

  /// Main thread: writes the row before the daemon serves at `listen`. Throws DependencyError.
  void begin(const config::Settings& settings, const std::string& listen);
  /// Main thread: these settings are in force now. Without effect on a store that fails; keep() writes later.
  void reloaded(const config::Settings& settings, const std::string& listen);
  /// Main thread: the settings in force stay so, because of these faults. As reloaded().
  void reload_refused(const std::vector<std::string>& faults);
  /// A worker's step: writes what is not written yet, and every ten seconds that the daemon is there. Throws
  /// DependencyError.
  void keep();
  /// Main thread: deletes the row; keep() has no effect any more. Without effect on a store that fails.
  void end();

 private:
  void load(const config::Settings& settings, const std::string& listen);
  void write();
  void try_to_write();

  const std::string id_;
  const std::function<std::int64_t()> steady_millis_;
  std::mutex mutex_;                                   ///< held while the row is written
  std::unique_ptr<store::DaemonInstances> instances_;  // guarded by mutex_; null before begin()
  sql::Dsn dsn_;                                       // guarded by mutex_
  store::DaemonInstance instance_;                     // guarded by mutex_
  bool is_written_ = false;                            // guarded by mutex_
  bool has_ended_ = false;                             // guarded by mutex_
  std::int64_t last_written_millis_ = 0;               // guarded by mutex_
};

class Daemon {
 public:
  /// Starts listeners and workers. Throws ConfigError, DependencyError, or std::runtime_error when
  /// an address cannot be listened on. `trusted_clock` must outlive this object. `inherited`: as of
  /// Listeners.
  Daemon(const config::Settings& settings, TrustedClock& trusted_clock, std::vector<int> inherited);
  /// Stops workers, listeners, writer and store, in this order: requests are handled until the workers have
  /// ended, and those in progress get their response.
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  /// False while too many applications that reloads replaced have not ended.
  bool can_reload() const { return free_slot().has_value(); }
  /// Only if can_reload(). Throws as the constructor does; then everything goes on as before.
  void reload(const config::Settings& settings);
  /// Records why a reload did not happen, for giftsyncctl (OPS-25). Never throws because of the store.
  void record_refused_reload(const std::vector<std::string>& faults);

  /// "127.0.0.1:8480", one for each listener.
  std::vector<std::string> listen_addresses() const { return listeners_.addresses(); }
  std::vector<std::string> listen_urls() const { return listeners_.urls(); }
  std::vector<int> listening_sockets() const { return listeners_.sockets(); }
  /// Another process will serve the same sockets when this one has ended.
  void expect_successor() { has_successor_ = true; }
  void check_certificate(const config::Settings& settings) { listeners_.check_certificate(settings); }
  /// False when a worker's heartbeat is too old; the systemd watchdog is then not notified.
  bool workers_alive() const { return serving_.application->workers_alive(); }
  /// Whether the server secret was rotated and its file is here (OPS-38); false for a while after an attempt.
  /// Throws ConfigError when the daemon has lost its secret: it was rotated, and links of the one in use have
  /// ended.
  bool should_follow_rotation(const config::Settings& settings) const;
  /// The settings in force, loaded again with the new secret. Logs how it ended.
  void follow_rotation(const config::Settings& settings);

 private:
  /// A mail may take as long as its lease. Each application has connections and threads of its own.
  static constexpr std::size_t kMaxApplications = 4;

  /// Each listener holds it, and so does each request in progress.
  class LastUse;
  struct Serving {
    std::unique_ptr<Application> application;
    std::future<void> unused;  ///< ready once no listener and no request uses the application
  };
  std::optional<std::size_t> free_slot() const;
  void serve(const config::Settings& settings, std::unique_ptr<Application> application);

  TrustedClock& trusted_clock_;
  metrics::Metrics metrics_{system_now()};  ///< listeners and applications use it
  DaemonRecord record_;                     ///< the applications' workers use it
  Listeners listeners_;
  bool has_successor_ = false;
  Serving serving_;
  UtcMillis rotation_followed_at_{INT64_MIN / 2};
  /// Each application has a slot; its leases are named after it.
  std::size_t slot_ = 0;
  /// By slot: ready once its former application has ended; invalid when it had none.
  std::array<std::future<void>, kMaxApplications> ended_;
};

}  // namespace giftsync::daemon
