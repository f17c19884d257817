#include "daemon/daemon.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "daemon/config/effective_settings.h"
#include "daemon/config/text_checks.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/host_identity.h"
#include "platform/clock.h"
#include "platform/dependency_error.h"
#include "platform/digest.h"
#include "platform/logging.h"

namespace giftsync::daemon {

namespace {

constexpr std::int64_t kStopGraceMillis = 10'000;
constexpr std::int64_t kLastRequestMillis = 2'000;
/// The reply to a final dot, and the outcome of the mail.
constexpr std::chrono::seconds kLongestMail(90);

/// Few scrape, and a scrape has no body.
constexpr std::size_t kMaxMetricsConnections = 32;
constexpr std::size_t kMaxMetricsBodyBytes = 1024;

/// A browser keeps it for a host with all its ports: no URL without TLS may lead there.
bool sends_hsts(const config::ServerSettings& server, http::ListenerScope scope) {
  const auto is_https = [](const std::string& url) { return url.starts_with("https:"); };
  if (config::host_of_url(server.base_url) == config::host_of_url(server.admin_url))
    return is_https(server.base_url) && is_https(server.admin_url);
  return (!scope.base || is_https(server.base_url)) && (!scope.admin || is_https(server.admin_url));
}

http::HttpResponse serve_nothing(const http::HttpRequest&) {
  return {503, {}, {}};
}

/// `application` must outlive the handler.
http::HttpHandler router_of(Application& application, http::ListenerScope scope) {
  return {std::bind_front(&http::Router::handle, &application.router(), scope),
          std::bind_front(&http::Router::plan, &application.router(), scope)};
}

http::HttpHandler metrics_of(Application& application) {
  return std::bind_front(&Application::serve_metrics, &application);
}

}  // namespace

struct Listeners::Address {
  std::string listen;
  http::ListenerScope scope;
  bool is_metrics = false;
};

std::vector<Listeners::Address> Listeners::addresses_of(const config::Settings& settings) {
  const config::ServerSettings& server = settings.server;
  std::vector<Address> addresses{{server.listen, {true, server.admin_listen.empty()}}};
  if (!server.admin_listen.empty()) addresses.push_back({server.admin_listen, {false, true}});
  if (!settings.metrics.listen.empty()) addresses.push_back({settings.metrics.listen, {}, true});
  return addresses;
}

http::HttpServerOptions Listeners::options_for(const config::Settings& settings, const Address& address,
                                               const std::shared_ptr<http::TlsContext>& tls) const {
  http::HttpServerOptions options;
  options.listen = address.listen;
  options.body_budget = body_budget_;
  if (address.is_metrics) {
    options.max_body_bytes = kMaxMetricsBodyBytes;
    options.max_connections = kMaxMetricsConnections;
    options.max_connections_per_address = kMaxMetricsConnections;
    return options;
  }
  options.max_body_bytes = static_cast<std::size_t>(settings.limits.max_body_bytes);
  options.max_connections = static_cast<std::size_t>(settings.limits.max_connections);
  options.max_connections_per_address = static_cast<std::size_t>(settings.limits.max_connections_per_address);
  options.trusted_proxies = settings.server.trusted_proxies;
  options.pool_meters = metrics_.pool_meters();
  options.tls = tls;
  options.sends_hsts = sends_hsts(settings.server, address.scope);
  options.on_response = [&metrics = metrics_](const http::ServedResponse& response) {
    metrics.count_response(response);
  };
  return options;
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
  const std::vector<Address> addresses = addresses_of(settings);
  const std::vector<Listener*> open = find_open(addresses);
  std::vector<Listener> opened;
  std::vector<std::string> names;
  const UtcMillis now = system_now();
  auto tls = make_tls(settings, now);
  if (!tls) throw std::runtime_error(tls.error());
  if (const auto fault = tls_date_fault(settings, tls->get(), now);
      fault && tls_ && tls_->dates().are_valid_at(now))
    throw std::runtime_error(*fault);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const Listener* listener = open[i];
    if (!listener) {
      const std::string& listen = addresses[i].listen;
      http::HttpServerOptions options = options_for(settings, addresses[i], *tls);
      options.inherited_sockets = inherited_;
      opened.push_back({listen, std::make_unique<http::HttpServer>(options, serve_nothing)});
      listener = &opened.back();
    }
    names.push_back(listener->server->listen_address());
  }
  opened_ = std::move(opened);
  next_tls_ = std::move(*tls);
  return names;
}

void Listeners::serve(const config::Settings& settings, Application& application,
                      const std::shared_ptr<const void>& use) noexcept {
  const std::vector<Address> addresses = addresses_of(settings);
  const std::vector<Listener*> open = find_open(addresses);
  std::vector<Listener> next;
  tls_ = std::exchange(next_tls_, nullptr);
  tls_watch_.watch(tls_);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const Address& address = addresses[i];
    if (open[i]) {
      next.push_back({address.listen, std::move(open[i]->server)});
    } else {
      next.push_back(std::move(opened_.front()));
      opened_.erase(opened_.begin());
    }
    http::HttpServer& server = *next.back().server;
    server.exchange(options_for(settings, address, tls_),
                    address.is_metrics ? metrics_of(application) : router_of(application, address.scope),
                    use);
    if (!open[i]) server.start();
  }
  const std::vector<Listener> former = std::exchange(listeners_, std::move(next));
  for (const Listener& listener : former) {
    if (listener.server) listener.server->stop(kStopGraceMillis);
  }
}

/// All at once: each gives its kept connections time for a last request.
void Listeners::stop(bool is_followed) {
  std::vector<std::future<void>> others;
  for (const Listener& listener : listeners_) {
    const auto stop = [&server = *listener.server, is_followed] {
      server.stop(kStopGraceMillis, is_followed ? kLastRequestMillis : 0);
    };
    if (&listener == &listeners_.back())
      stop();
    else
      others.push_back(std::async(std::launch::async | std::launch::deferred, stop));
  }
  for (const std::future<void>& other : others) other.wait();
}

std::vector<std::string> Listeners::addresses() const {
  std::vector<std::string> addresses;
  for (const Listener& listener : listeners_) addresses.push_back(listener.server->listen_address());
  return addresses;
}

std::vector<std::string> Listeners::urls() const {
  std::vector<std::string> urls;
  for (const Listener& listener : listeners_) urls.push_back(listener.server->url());
  return urls;
}

std::vector<int> Listeners::sockets() const {
  std::vector<int> sockets;
  for (const Listener& listener : listeners_) sockets.push_back(listener.server->socket());
  return sockets;
}

namespace {

constexpr std::int64_t kHeartbeatMillis = 10'000;

bool is_same_database(const sql::Dsn& dsn, const sql::Dsn& other) {
  return dsn.dialect == other.dialect && dsn.connection == other.connection;
}

}  // namespace

DaemonRecord::DaemonRecord(std::function<std::int64_t()> steady_millis)
    : id_(random_hex(8)), steady_millis_(std::move(steady_millis)) {
  instance_.id = id_;
  instance_.host = wiring::host_identity();
  instance_.pid = ::getpid();
  instance_.version = GIFTSYNC_VERSION;
  instance_.started_at = system_now();
}

void DaemonRecord::begin(const config::Settings& settings, const std::string& listen) {
  const std::lock_guard lock(mutex_);
  load(settings, listen);
  write();
}

void DaemonRecord::reloaded(const config::Settings& settings, const std::string& listen) {
  const std::lock_guard lock(mutex_);
  instance_.last_reload_at = system_now();
  instance_.reload_faults.clear();
  load(settings, listen);
  try_to_write();
}

void DaemonRecord::reload_refused(const std::vector<std::string>& faults) {
  const std::lock_guard lock(mutex_);
  instance_.last_reload_at = system_now();
  instance_.reload_faults = fmt::format("{}", fmt::join(faults, "\n"));
  try_to_write();
}

void DaemonRecord::keep() {
  const std::lock_guard lock(mutex_);
  if (has_ended_ || !instances_) return;
  if (is_written_) {
    if (steady_millis_() - last_written_millis_ < kHeartbeatMillis) return;
    // A failure lasts until the row is written: the worker's log has one line for it, not one every ten
    // seconds.
    is_written_ = false;
    is_written_ = instances_->touch(id_);  // false in a store that was restored
    if (is_written_) last_written_millis_ = steady_millis_();
  }
  if (!is_written_) write();
}

void DaemonRecord::end() {
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  try {
    if (instances_) instances_->remove(id_);
  } catch (const DependencyError& fault) {
    log_event(LogEvent::daemon_record_kept,
              fmt::format("could not remove this daemon from the list of running ones: {}", fault.what()));
  }
}

/// A reload may lead to another store: the row moves there.
void DaemonRecord::load(const config::Settings& settings, const std::string& listen) {
  instance_.listen = listen;
  instance_.settings_file = settings.file;
  instance_.settings = config::to_text(config::effective_settings(settings));
  instance_.loaded_at = instance_.last_reload_at.value_or(instance_.started_at);
  const sql::Dsn dsn = wiring::store_dsn(settings.store);
  if (instances_ && is_same_database(dsn, dsn_)) return;
  if (instances_) {
    try {
      instances_->remove(id_);
    } catch (const DependencyError&) {
      // The former store may be the reason for the reload. There the row is deleted once unseen for a day.
    }
  }
  instances_ = std::make_unique<store::DaemonInstances>(dsn);
  dsn_ = dsn;
}

void DaemonRecord::write() {
  is_written_ = false;
  instances_->save(instance_);
  is_written_ = true;
  last_written_millis_ = steady_millis_();
}

void DaemonRecord::try_to_write() {
  try {
    write();
  } catch (const DependencyError&) {
    // The workers report the store's fault, and keep() writes the row once it responds.
  }
}

namespace {

/// The state of the application in this slot.
std::string lease_owner(const std::string& address, std::size_t slot) {
  return fmt::format("{} {}{}", wiring::host_identity(), address, slot == 0 ? "" : fmt::format(" #{}", slot));
}

std::int64_t steady_millis() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace

class Daemon::LastUse {
 public:
  LastUse() = default;
  ~LastUse() { ended_.set_value(); }
  LastUse(const LastUse&) = delete;
  LastUse& operator=(const LastUse&) = delete;

  std::future<void> ended() { return ended_.get_future(); }

 private:
  std::promise<void> ended_;
};

Daemon::Daemon(const config::Settings& settings, TrustedClock& trusted_clock, std::vector<int> inherited)
    : trusted_clock_(trusted_clock), record_(steady_millis), listeners_(std::move(inherited), metrics_) {
  auto application = std::make_unique<Application>(settings, trusted_clock, record_.id(), metrics_);
  const std::string address = listeners_.open(settings).front();
  // Only one daemon can listen at this address, so the owners of leases under its names are dead.
  std::vector<std::string> owners;
  for (std::size_t slot = 0; slot < kMaxApplications; ++slot) owners.push_back(lease_owner(address, slot));
  application->start({.owner = owners[slot_], .daemon = owners[0], .ended_owners = owners},
                     [this] { record_.keep(); });
  record_.begin(settings, address);
  serve(settings, std::move(application));
}

Daemon::~Daemon() {
  // A relay or a CRM that hangs makes no caller wait: also not the mail of an application before a reload.
  serving_.application->finish_steps();
  for (const std::future<void>& ended : ended_) {
    if (ended.valid()) ended.wait_for(kLongestMail);
  }
  listeners_.stop(has_successor_);
  serving_.application->stop();
  record_.end();  // while a server that is not the right one is refused, and one that hangs has a deadline
}

std::optional<std::size_t> Daemon::free_slot() const {
  for (std::size_t slot = 0; slot < kMaxApplications; ++slot) {
    if (slot == slot_) continue;
    const std::future<void>& ended = ended_[slot];
    if (!ended.valid() || ended.wait_for(std::chrono::seconds(0)) == std::future_status::ready) return slot;
  }
  return std::nullopt;
}

void Daemon::reload(const config::Settings& settings) {
  const std::size_t slot = free_slot().value();
  // First, because building the application writes to the store.
  const std::string address = listeners_.open(settings).front();
  const std::string owner = lease_owner(address, slot);
  try {
    auto application = std::make_unique<Application>(settings, trusted_clock_, record_.id(), metrics_);
    application->start({.owner = owner, .daemon = lease_owner(address, 0), .ended_owners = {owner}},
                       [this] { record_.keep(); });
    std::promise<Serving> former;
    std::future<void> ended = std::async(std::launch::async, [handover = former.get_future()]() mutable {
      Serving serving = handover.get();
      serving.unused.wait();
      serving.application.reset();
    });
    // From here on nothing fails.
    Serving replaced = std::exchange(serving_, {});
    serve(settings, std::move(application));
    replaced.application->request_stop();
    former.set_value(std::move(replaced));
    ended_[slot_] = std::move(ended);
    slot_ = slot;
    metrics_.settings_loaded(system_now());
    record_.reloaded(settings, address);
  } catch (...) {
    listeners_.discard_opened();
    throw;
  }
}

void Daemon::record_refused_reload(const std::vector<std::string>& faults) {
  metrics_.reload_refused();
  record_.reload_refused(faults);
}

bool Daemon::should_follow_rotation(const config::Settings& settings) const {
  constexpr std::int64_t kPauseMillis = 10'000;
  const wiring::SecretState state = serving_.application->secret_state();
  if (state == wiring::SecretState::unusable)
    throw wiring::ConfigError("the server secret of this store was rotated, and " +
                              wiring::server_secret_path(settings) +
                              " is not the new one: copy it from the machine where \"giftsyncctl secret "
                              "rotate\" ran, then start giftsyncd");
  return state == wiring::SecretState::rotated && can_reload() &&
         has_elapsed(rotation_followed_at_, kPauseMillis, system_now());
}

void Daemon::follow_rotation(const config::Settings& settings) {
  rotation_followed_at_ = system_now();
  try {
    reload(settings);
    log_event(LogEvent::secret_followed,
              "the server secret was rotated: new links are made with the new one");
  } catch (const std::runtime_error& fault) {
    log_event(LogEvent::secret_not_followed,
              fmt::format("the new server secret is not used yet: {}", fault.what()));
  }
}

void Daemon::serve(const config::Settings& settings, std::unique_ptr<Application> application) {
  const auto use = std::make_shared<LastUse>();
  serving_ = {std::move(application), use->ended()};
  listeners_.serve(settings, *serving_.application, use);
}

}  // namespace giftsync::daemon
