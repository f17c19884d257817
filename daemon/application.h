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
#include "daemon/console/console.h"
#include "daemon/handlers/balance_handler.h"
#include "daemon/handlers/event_handler.h"
#include "daemon/handlers/gift_action_handler.h"
#include "daemon/handlers/gift_read_handler.h"
#include "daemon/handlers/gift_request_handler.h"
#include "daemon/handlers/held_request_handler.h"
#include "daemon/handlers/outbound_message_handler.h"
#include "daemon/handlers/request_record_handler.h"
#include "daemon/handlers/status_webhook_handler.h"
#include "daemon/handlers/webhook_endpoint_handler.h"
#include "daemon/http/refusal_log.h"
#include "daemon/http/router.h"
#include "daemon/identity/provider_sign_in.h"
#include "daemon/metrics/metrics.h"
#include "daemon/pages/gift_page_handler.h"
#include "daemon/sources/sns.h"
#include "daemon/wiring/server_secret.h"
#include "daemon/workers.h"
#include "platform/clock.h"

namespace giftsync::daemon {

/// Main thread only, except for the router.
class Application {
 public:
  /// Migrates the store; no worker runs yet. Throws ConfigError or DependencyError. `trusted_clock`
  /// and `metrics` must outlive this object. `instance_id`: of the daemon, which its readiness probe tells.
  Application(const config::Settings& settings, TrustedClock& trusted_clock, const std::string& instance_id,
              metrics::Metrics& metrics);
  /// Calls stop().
  ~Application();
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  struct Leases {
    std::string owner;                      ///< a name that no running application has
    std::string daemon;                     ///< host and address, the same for all applications of a daemon
    std::vector<std::string> ended_owners;  ///< whose leases are released
  };
  /// Starts the workers. Throws DependencyError.
  /// `keep_record` is called by a worker every few seconds and may throw the same.
  void start(const Leases& leases, std::function<void()> keep_record);
  /// The workers begin nothing more. Requests are still handled.
  void request_stop();
  /// Calls request_stop() and waits for the workers' current steps, which may take as long as a mail or a
  /// call of the CRM. Requests are still handled.
  void finish_steps();
  /// As finish_steps(); then nothing uses the store any more, which stays open and whose
  /// connections are still checked. No request may be in progress.
  void stop();
  /// Handles requests on any thread.
  http::Router& router();
  /// What metrics.listen serves. Any thread, after start().
  http::HttpResponse serve_metrics(const http::HttpRequest& request);
  /// False when a worker's heartbeat is too old; the systemd watchdog is then not notified.
  bool workers_alive() const;
  /// How this application's server secret stands to the store's (OPS-38).
  wiring::SecretState secret_state() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// All HTTP endpoints and their router. Any thread.

class Endpoints {
 public:
  /// The arguments must outlive it.
  Endpoints(SharedParts& shared, Workers& workers, sync::UrgentWriter& writer);

  http::Router& router() { return router_; }

  /// Logs what is pending and deletes what has ended. Throws DependencyError.
  void maintain();
  /// Saves the last-used times of API keys. Throws DependencyError.
  void save_last_used();
  /// At the end: a failure is logged.
  void close();

 private:
  http::Handlers make_handlers();

  SharedParts& shared_;
  http::Authenticator authenticator_;
  handlers::GiftRequestHandler gift_requests_;
  handlers::BalanceHandler balance_;
  handlers::EventHandler events_;
  handlers::GiftReadHandler gift_reads_;
  handlers::GiftActionHandler gift_actions_;
  pages::GiftPageHandler gift_pages_;
  sources::SnsCertificateCache sns_certificates_;
  handlers::StatusWebhookHandler status_webhooks_;
  handlers::CrmGiftRequestHandler crm_gift_requests_;
  handlers::RequestRecordHandler request_records_;
  handlers::HeldRequestHandler held_requests_;
  handlers::WebhookEndpointHandler webhook_endpoints_;
  handlers::OutboundMessageHandler outbound_messages_;
  std::unique_ptr<identity::ProviderSignIn> provider_sign_in_;  ///< null: console.sign_in is off
  std::unique_ptr<console::Console> console_;                   ///< null: console.enabled is off
  http::HttpRefusalLog refusal_log_;
  http::Router router_;
};

}  // namespace giftsync::daemon
