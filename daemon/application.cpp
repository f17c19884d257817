#include "daemon/application.h"

#include <spdlog/spdlog.h>

#include <functional>

#include "daemon/component_options.h"
#include "daemon/group_commit_writer.h"
#include "daemon/handlers/crm_gift_request_handler.h"
#include "daemon/handlers/gift_request_handler.h"
#include "daemon/handlers/request_record_handler.h"
#include "daemon/handlers/saml_metadata_handler.h"
#include "daemon/handlers/status_webhook_handler.h"
#include "daemon/http/http_server.h"
#include "daemon/http/refusal_log.h"
#include "daemon/http/router.h"
#include "daemon/pages/gift_page_handler.h"
#include "daemon/sources/providers/sns_certificate_cache.h"
#include "daemon/sources/source_workers.h"
#include "daemon/sync_workers.h"
#include "platform/clock.h"
#include "platform/dependency_error.h"
#include "platform/host_identity.h"
#include "platform/log_throttle.h"
#include "platform/periodic_worker.h"
#include "platform/random.h"
#include "schema/sql/query_watchdog.h"
#include "schema/store/store.h"
#include "sync/clock_skew_repair.h"
#include "sync/lifecycle_rules.h"
#include "sync/lifecycle_step.h"
#include "sync/link_token.h"
#include "sync/request_record_step.h"
#include "sync/transaction_id_floor.h"
#include "wiring/components_config.h"
#include "wiring/crm_config.h"
#include "wiring/lifecycle_config.h"
#include "wiring/request_records_config.h"
#include "wiring/server_secret_config.h"
#include "wiring/startup_migration.h"

namespace giftsync::daemon {
namespace {

constexpr std::int64_t kStopGraceMillis = 10'000;
constexpr std::int64_t kMaintenanceIntervalMillis = 15'000;
constexpr std::int64_t kDeadlineIntervalMillis = 1'000;
constexpr std::size_t kMaxDiscardedEvents = 1'000;
constexpr std::int64_t kIdempotencyLifeMillis = 8 * platform::kDayMillis;
/// A mail may take as long as its lease; every other step takes seconds.
constexpr std::int64_t kMaxHeartbeatAgeMillis = 180'000;
constexpr std::int64_t kMaxQueryAgeMillis = 10'000;

void log_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) spdlog::warn("{}", warning);
}

}  // namespace

/// Members in the order of construction; destroyed in reverse order.
struct Application::Parts {
  Parts(const config::Settings& initial_settings, platform::TrustedClock& shared_trusted_clock);
  /// Asks the workers to stop, closes the listeners, waits for the workers. Also runs when a later step of
  /// the start failed.
  ~Parts();

  http::Handlers make_handlers();
  http::HttpHandler listener_handler(http::ListenerScope scope) {
    return std::bind_front(&http::Router::handle, &router, scope);
  }
  void open_listeners();
  void log_delivery_pause();
  void start_workers();
  void release_old_leases();
  void start_transaction_ids();
  void skip_used_transaction_ids();
  bool deliver_mails(platform::PeriodicWorker& worker);
  bool process_request_records();
  bool process_deadlines();
  bool run_maintenance(platform::PeriodicWorker& worker);
  void repair_clock_skew();
  void discard_request_change_events(platform::PeriodicWorker& worker);

  const config::Settings settings;
  platform::TrustedClock& trusted_clock;
  schema::store::Store store;
  schema::sql::QueryWatchdog query_watchdog{{}};  ///< starts after the migration, which may take long
  const sync::LinkSigner signer;
  const std::unique_ptr<schema::crm::Crm> crm;
  const std::unique_ptr<sync::MailTransport> transport;
  const sync::GiftLinks links;
  sync::DeliveryRules delivery_rules;
  sync::RequestRecordRules request_record_rules;
  SyncWorkers sync;
  GroupCommitWriter writer;
  http::Authenticator authenticator;
  handlers::GiftRequestHandler gift_request_handler;
  pages::GiftPageHandler gift_page_handler;
  const std::string installation_id;  ///< the store's id, part of its Message-IDs
  sources::SourceWorkers source_workers;
  sources::SnsCertificateCache sns_certificates{platform::http_get, platform::system_now};
  handlers::StatusWebhookHandler status_webhook_handler;
  handlers::SamlMetadataHandler saml_metadata_handler;
  handlers::CrmGiftRequestHandler crm_gift_request_handler;
  handlers::RequestRecordHandler request_record_handler;
  http::HttpRefusalLog refusal_log{platform::system_now};
  http::Router router;
  std::string owner;
  platform::LogThrottle delivery_log_throttle;  ///< each used by one worker only
  platform::LogThrottle request_record_log_throttle;
  platform::LogThrottle maintenance_log_throttle;
  std::unique_ptr<http::HttpServer> http_server;
  std::unique_ptr<http::HttpServer> admin_http_server;  ///< only with server.admin_listen
  std::unique_ptr<platform::PeriodicWorker> delivery_worker;
  std::unique_ptr<platform::PeriodicWorker> maintenance_worker;
  std::unique_ptr<platform::PeriodicWorker> deadline_worker;
  std::unique_ptr<platform::PeriodicWorker> request_record_worker;  ///< only with requests.enabled

  void wake_workers() {
    sync.wake();
    if (delivery_worker) delivery_worker->wake();
  }
};

Application::Parts::Parts(const config::Settings& initial_settings,
                          platform::TrustedClock& shared_trusted_clock)
    : settings(initial_settings),
      trusted_clock(shared_trusted_clock),
      store(wiring::migrate_and_check_databases(settings)),
      signer(wiring::load_server_secret(settings, store)),
      crm(wiring::make_crm(settings)),
      transport(wiring::make_transport(settings.email)),
      links(settings.server.base_url, signer),
      sync(store, *crm, wiring::sync_rules_with_links(settings, links),
           [this](const platform::DependencyError& fault) {
             return wiring::describe_sync_fault(settings, fault);
           }),
      writer(store.gifts),
      authenticator(store.accounts, platform::system_now, settings.limits.requests_per_minute),
      gift_request_handler(store, writer, authenticator, links, gift_request_options(settings.limits),
                           platform::system_now, [this] { wake_workers(); }),
      gift_page_handler(
          store, links, branding_from(settings.pages),
          {settings.server.base_url, settings.pages.language, settings.pages.charities,
           settings.catalogue.low_code_threshold, platform::system_now, [this] { sync.wake(); }}),
      installation_id(store.set_metadata_if_absent("installation_id", platform::random_hex(8))),
      source_workers(settings.sources, installation_id, store, [this] { sync.wake(); }),
      status_webhook_handler(source_workers.sources(), source_workers.ingestor(),
                             source_workers.health_monitor(), platform::system_now,
                             std::ref(sns_certificates),
                             static_cast<std::size_t>(settings.limits.max_body_bytes)),
      saml_metadata_handler(settings.sso),
      crm_gift_request_handler(store, *crm, gift_request_handler, gift_request_options(settings.limits),
                               settings.limits.requests_per_minute, platform::system_now,
                               wiring::crm_has_users(settings)),
      request_record_handler(
          store, *crm, authenticator, links, settings.requests,
          static_cast<std::size_t>(settings.limits.max_body_bytes),
          [this] { return store.request_records.now(); },
          [this] {
            if (request_record_worker) request_record_worker->wake();
          }),
      router(
          make_handlers(),
          [this] {
            // Do not add another query while the server is unresponsive.
            if (schema::sql::oldest_store_query_millis() > kMaxQueryAgeMillis) return false;
            store.check_writable();
            return true;
          },
          refusal_log, platform::system_now) {
  store.gifts.set_lifecycle_stamp(sync::terms_stamper(wiring::lifecycle_terms(settings.lifecycle),
                                                      settings.lifecycle.expire_unopened_link_days));
  delivery_rules = wiring::delivery_rules(settings, installation_id, links);
  request_record_rules = wiring::request_record_rules(settings, store, *crm);
  start_transaction_ids();
}

/// http/routes.h lists the paths.
http::Handlers Application::Parts::make_handlers() {
  const auto of = [](auto method, auto& endpoint) { return std::bind_front(method, &endpoint); };
  using handlers::GiftRequestHandler;
  using handlers::RequestRecordHandler;
  return {
      .send_by_email = of(&GiftRequestHandler::send_by_email, gift_request_handler),
      .read_gift_request = of(&GiftRequestHandler::read, gift_request_handler),
      .page = of(&pages::GiftPageHandler::handle, gift_page_handler),
      .create_urls = of(&GiftRequestHandler::create_urls, gift_request_handler),
      .send_from_crm = of(&handlers::CrmGiftRequestHandler::handle, crm_gift_request_handler),
      .metadata = of(&handlers::SamlMetadataHandler::handle, saml_metadata_handler),
      .status_changes = of(&handlers::StatusWebhookHandler::handle, status_webhook_handler),
      .create_record = of(&RequestRecordHandler::create, request_record_handler),
      .read_record = of(&RequestRecordHandler::read, request_record_handler),
      .approve_record = of(&RequestRecordHandler::approve, request_record_handler),
      .reject_record = of(&RequestRecordHandler::reject, request_record_handler),
  };
}

/// Own ids begin at the configured first id and above every id that the CRM already has (SYNC-21).
void Application::Parts::start_transaction_ids() {
  constexpr const char* kHighestSeenIdKey = "highest_seen_transaction_id";
  const schema::TransactionId highest_seen_id{
      std::atoll(store.fact(kHighestSeenIdKey).value_or("0").c_str())};
  const sync::TransactionIdFloor first = sync::find_transaction_id_floor(
      store.gifts, *crm, {settings.store.first_transaction_id}, highest_seen_id);
  store.gifts.start_transaction_ids_at(first.id);
  if (first.highest_seen_id != highest_seen_id)
    store.set_metadata(kHighestSeenIdKey, std::to_string(first.highest_seen_id.value));
  skip_used_transaction_ids();
}

void Application::Parts::skip_used_transaction_ids() {
  while (const auto id = sync::first_id_above_unknown_records(store.gifts, *crm)) {
    store.gifts.start_transaction_ids_at(*id);
    spdlog::info(
        "the CRM has gift records unknown to giftsync whose ids are just above giftsync's own; "
        "new gifts get ids from {} on",
        id->value);
  }
}

void Application::Parts::open_listeners() {
  const bool single_listener = settings.server.admin_listen.empty();
  http_server = std::make_unique<http::HttpServer>(http_server_options(settings, settings.server.listen),
                                                   listener_handler({true, single_listener}));
  if (!single_listener) {
    admin_http_server = std::make_unique<http::HttpServer>(
        http_server_options(settings, settings.server.admin_listen), listener_handler({false, true}));
  }
}

/// Only one daemon can listen at this address, so the owner of leases under this name is dead.
void Application::Parts::release_old_leases() {
  owner = platform::host_identity() + " " + http_server->listen_address();
  store.deliveries.release_leases(owner);
  store.deliveries.cap_leases(sync::kSendingLeaseMillis);
  delivery_rules.owner = owner;
}

/// Logged at start too, because the log line of the previous daemon may be far back.
void Application::Parts::log_delivery_pause() {
  const std::optional<schema::store::CircuitBreaker> pause = store.deliveries.breaker();
  if (!pause) return;
  spdlog::warn("mail delivery has been paused since {}, {} failures, next try {}: {}",
               platform::to_rfc3339(pause->since), pause->failures, platform::to_rfc3339(pause->until),
               pause->reason);
}

void Application::Parts::start_workers() {
  repair_clock_skew();
  log_delivery_pause();
  const auto should_yield = [this] { return writer.is_under_load(); };
  sync.start(owner, should_yield);
  delivery_worker = std::make_unique<platform::PeriodicWorker>(platform::PeriodicWorker::Options{
      "delivery", 500, [this](platform::PeriodicWorker& worker) { return deliver_mails(worker); },
      [this] { store.deliveries.release_leases(owner); }, should_yield});
  deadline_worker = std::make_unique<platform::PeriodicWorker>(platform::PeriodicWorker::Options{
      "timers", kDeadlineIntervalMillis, [this](platform::PeriodicWorker&) { return process_deadlines(); },
      [] {}, should_yield});
  maintenance_worker = std::make_unique<platform::PeriodicWorker>(platform::PeriodicWorker::Options{
      "maintenance", kMaintenanceIntervalMillis,
      [this](platform::PeriodicWorker& worker) { return run_maintenance(worker); }});
  if (settings.requests.enabled) {
    crm->enqueue_open_request_records();  // for rows restored or loaded without the triggers
    request_record_worker = std::make_unique<platform::PeriodicWorker>(platform::PeriodicWorker::Options{
        "requests", 500, [this](platform::PeriodicWorker&) { return process_request_records(); }, [] {},
        should_yield});
  }
  source_workers.start_polls(owner);
}

bool Application::Parts::process_request_records() {
  const sync::RequestRecordStepStats stats =
      sync::request_record_step(store, *crm, request_record_rules, store.request_records.now());
  log_warnings(request_record_log_throttle.lines_to_log(stats.warnings, platform::system_now()));
  if (stats.sent > 0) {
    spdlog::info("requests: {} sent", stats.sent);
    wake_workers();
  }
  return stats.more;
}

bool Application::Parts::process_deadlines() {
  const std::optional<platform::UtcMillis> now = trusted_clock.now();
  if (!now) return false;
  const sync::LifecycleStepStats stats = sync::lifecycle_step(store, *now);
  if (stats.expired + stats.refunded + stats.reminded > 0) {
    spdlog::info("timers: {} gifts expired, {} refunded, {} reminders queued", stats.expired, stats.refunded,
                 stats.reminded);
    wake_workers();
  }
  return stats.more;
}

bool Application::Parts::deliver_mails(platform::PeriodicWorker& worker) {
  const auto should_continue = [&worker] { return worker.heartbeat_and_should_run(); };
  delivery_rules.policy.may_give_up = trusted_clock.now().has_value();
  const sync::DeliveryStats stats =
      sync::delivery_step(store, *transport, delivery_rules, platform::system_now, should_continue);
  log_warnings(delivery_log_throttle.lines_to_log(stats.warnings, platform::system_now()));
  for (const std::string& one : stats.info_lines) spdlog::info("{}", one);
  if (stats.accepted > 0) {
    spdlog::debug("delivery: {} mails accepted by the transport", stats.accepted);
    sync.wake();
  }
  return stats.more;
}

/// Also while the daemon runs: the clock may be corrected at any time.
void Application::Parts::repair_clock_skew() {
  const platform::UtcMillis now = platform::system_now();
  std::vector<std::string> warnings;
  if (const std::string warning =
          sync::describe(sync::repair_clock_skew(store, now, store.request_records.now()));
      !warning.empty())
    warnings.push_back(warning);
  for (const std::string& source : source_workers.release_implausible_waits(now))
    warnings.push_back("source " + source +
                       ": the system clock had been ahead and delayed its next poll; it polls now");
  log_warnings(maintenance_log_throttle.lines_to_log(warnings, now));
}

bool Application::Parts::run_maintenance(platform::PeriodicWorker& worker) {
  repair_clock_skew();
  store.changes.apply_orphaned(platform::system_now());
  authenticator.flush_last_used();
  refusal_log.flush();
  router.log_outage_end();
  // A call that is repeated after its key was deleted sends a second gift.
  if (const auto now = trusted_clock.now()) {
    store.gifts.prune_idempotency(*now - kIdempotencyLifeMillis);
    store.request_records.prune_idempotency(*now - kIdempotencyLifeMillis);
  }
  if (!settings.requests.enabled && crm->has_request_records()) discard_request_change_events(worker);
  source_workers.run_maintenance(platform::system_now(),
                                 [&worker] { return worker.heartbeat_and_should_run(); });
  skip_used_transaction_ids();
  return false;
}

/// With requests.enabled off no worker reads these events. Once it is on, every open request record is
/// enqueued.
void Application::Parts::discard_request_change_events(platform::PeriodicWorker& worker) {
  while (worker.heartbeat_and_should_run()) {
    std::vector<std::int64_t> event_ids;
    for (const schema::crm::RequestRecordEvent& event : crm->request_record_events(kMaxDiscardedEvents))
      event_ids.push_back(event.id);
    if (event_ids.empty()) return;
    crm->ack_request_record_events(event_ids);
  }
}

Application::Application(const config::Settings& settings, platform::TrustedClock& trusted_clock)
    : parts_(std::make_unique<Parts>(settings, trusted_clock)) {
  parts_->open_listeners();
  parts_->release_old_leases();
  parts_->start_workers();
  parts_->http_server->start();
  if (parts_->admin_http_server) parts_->admin_http_server->start();
}

Application::~Application() = default;

Application::Parts::~Parts() {
  for (const auto* worker :
       {&request_record_worker, &deadline_worker, &delivery_worker, &maintenance_worker}) {
    if (*worker) (*worker)->request_stop();
  }
  sync.request_stop();
  source_workers.request_stop();
  if (http_server) http_server->stop(kStopGraceMillis);
  if (admin_http_server) admin_http_server->stop(kStopGraceMillis);
  source_workers.stop();
  request_record_worker.reset();  // it wakes the other workers
  deadline_worker.reset();        // same
  delivery_worker.reset();
  maintenance_worker.reset();
  sync.stop();  // the other workers wake it
  try {
    authenticator.flush_last_used();
  } catch (const platform::DependencyError& fault) {
    spdlog::warn("could not save API-key last-used times: {}", fault.what());
  }
}

std::vector<std::string> Application::listen_addresses() const {
  std::vector<std::string> addresses{parts_->http_server->listen_address()};
  if (parts_->admin_http_server) addresses.push_back(parts_->admin_http_server->listen_address());
  return addresses;
}

bool Application::workers_alive() const {
  for (const auto* worker : {parts_->delivery_worker.get(), parts_->maintenance_worker.get(),
                             parts_->deadline_worker.get(), parts_->request_record_worker.get()}) {
    if (worker && worker->millis_since_heartbeat() > kMaxHeartbeatAgeMillis) return false;
  }
  return parts_->sync.is_alive(kMaxHeartbeatAgeMillis) &&
         parts_->source_workers.alive(kMaxHeartbeatAgeMillis);
}

}  // namespace giftsync::daemon
