// daemon: all workers: sync, polls, delivery, timers, request records, the feed, counts, alerts and
// maintenance (ARCH-25).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "daemon/alert_mailer.h"
#include "daemon/config/settings.h"
#include "daemon/gift_log.h"
#include "daemon/metrics/metrics.h"
#include "daemon/secret_watch.h"
#include "daemon/sources/source_workers.h"
#include "daemon/sync_workers.h"
#include "daemon/webhooks/webhook_workers.h"
#include "daemon/wiring/components_config.h"
#include "daemon/wiring/crm_config.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/server_secret.h"
#include "daemon/wiring/store_preflight.h"
#include "platform/clock.h"
#include "platform/dependency_error.h"
#include "platform/digest.h"
#include "platform/logging.h"
#include "platform/periodic_worker.h"
#include "schema/sql/query_watchdog.h"
#include "schema/store/daemon_instances.h"
#include "schema/store/server_check.h"
#include "schema/store/shared_text.h"
#include "schema/store/store.h"
#include "sync/access/sending_budgets.h"
#include "sync/access/sending_policy.h"
#include "sync/feed_step.h"
#include "sync/gift/gift_links.h"
#include "sync/mail/delivery_step.h"
#include "sync/request/request_record_step.h"

namespace giftsync::daemon {

// What the endpoints and the workers share. The members are in the order of construction; the
// application builds and destroys them.

/// Building it from the first four members migrates the store and throws as Application does.
struct SharedParts {
  const config::Settings settings;
  TrustedClock& trusted_clock;
  const std::string instance_id;  ///< of the daemon
  metrics::Metrics& counters;     ///< likewise
  const store::ServerCheck server_check{wiring::store_dsn(settings.store), wiring::server_file(settings)};
  store::Store store{wiring::migrate_and_check_databases(settings)};
  sql::QueryWatchdog query_watchdog{{}};  ///< starts after the migration, which may take long
  const wiring::ServerSecrets secrets = wiring::load_server_secrets(settings, store);
  const sync::LinkSigner signer{secrets.current};
  CallDeadline crm_calls{};  ///< of a remote CRM
  const std::unique_ptr<crm::Crm> crm = wiring::make_crm(settings, wiring::LookupDuration::bounded, [this] {
    return crm_calls.may_continue() && ThreadCallDeadline::may_continue();
  });
  sync::GiftLinks links{settings.server.base_url, signer, wiring::former_signer(secrets)};
  /// The store's id, part of its Message-IDs.
  const std::string installation_id = store.set_metadata_if_absent(store::kInstallationIdFact, random_hex(8));
  GiftLog gift_log{};
  sync::SendingPolicy sending{store.do_not_send, settings.sending.allowed_domains, system_now};
  sync::SendingBudgets budgets{store.sending_usage, wiring::sending_budget_rules(settings.sending),
                               system_now, [this] { return trusted_clock.now(); }};
};

/// What this daemon knows of the installation's health (OPS-27), without the daemons. Any thread. Throws
/// DependencyError of the store.
sync::AttentionFacts attention_facts(SharedParts& shared);

// Keeps the roles that the CRM gives to the console's users (SIGN-10). Where each call counts one
// daemon of the store asks for all (ORG-15). One thread at a time.

class CrmRoleRefresh {
 public:
  /// `shared` must outlive it.
  explicit CrmRoleRefresh(SharedParts& shared);

  /// Asks the CRM when it is time: every 30 s, or as the settings say where each call counts. While the CRM
  /// does not respond the roles stay. Throws DependencyError of the store.
  void run(UtcMillis now);

 private:
  bool asks_itself();

  SharedParts& shared_;
  const store::SharedText read_at_;  ///< by any daemon
  UtcMillis asked_at_{INT64_MIN / 2};
  std::int64_t refusal_millis_ = 0;  ///< the least wait after a refusal that only an admin can end
  bool has_started_ = false;
};

/// The roles of one address for a sign-in; nullopt while the CRM does not respond. Any thread.
std::optional<std::vector<store::UserRole>> crm_roles_of(SharedParts& shared, const std::string& address);

class Workers {
 public:
  /// Decides where the ids of new transactions begin. Nothing runs before start(). `shared` must outlive it.
  explicit Workers(SharedParts& shared);

  struct StartOptions {
    std::string owner;                         ///< of leases
    std::string daemon;                        ///< host and address, the same after a restart or reload
    std::vector<std::string> ended_owners;     ///< whose leases are released
    std::function<bool()> should_yield;        ///< true while HTTP callers wait for the store
    std::function<void()> maintain_endpoints;  ///< called every few seconds
    std::function<void()> keep_record;         ///< called every second
    std::function<void()> save_last_used;      ///< called every two seconds
  };
  void start(const StartOptions& options);
  void request_stop();
  /// Calls request_stop() and waits until the current steps have ended and none follows; waking the workers
  /// has no effect then.
  void finish();
  /// Calls finish(); nothing may call the other functions any more.
  void stop();
  /// False when a worker's heartbeat is too old.
  bool are_alive() const;
  /// The time since the last heartbeat of each worker; of those of one kind the longest. Any thread.
  std::vector<std::pair<const char*, std::int64_t>> heartbeats() const;
  /// How the application's server secret stands to the store's (OPS-38).
  wiring::SecretState secret_state() const { return secret_watch_.state(); }

  // Any thread; without effect before start().
  void wake_sync() { sync_.wake(); }
  void wake_sync_and_delivery();
  void wake_request_records();

  sources::SourceWorkers& sources() { return sources_; }

 private:
  void log_delivery_pause();
  void repair_clock_skew();
  void check_installation();
  void begin_transaction_ids();
  void check_transaction_ids(UtcMillis now);
  void start_senders(const StartOptions& options);
  void start_alerts(const StartOptions& options);
  void release_writer_leases();
  std::vector<sync::AttentionItem> attention();
  bool deliver_mails(PeriodicWorker& worker, std::size_t connection, bool yields);
  void wake_other_senders(std::size_t connection);
  bool process_timers(const StartOptions& options);
  bool process_lifecycle();
  void switch_feed();
  bool publish_feed();
  bool count_gifts(PeriodicWorker& worker);
  bool holds_rollup_lease(UtcMillis now);
  bool fill_rollups(PeriodicWorker& worker, UtcMillis now);
  bool queue_sender_notices();
  void save_shown_values(const std::function<void()>& save_last_used);
  bool process_request_records();
  bool maintain(PeriodicWorker& worker, const std::function<void()>& maintain_endpoints);
  void notify_users();
  void expire_held_requests(UtcMillis now);
  void discard_request_change_events(PeriodicWorker& worker);
  bool upgrade_store(PeriodicWorker& worker);

  SharedParts& shared_;
  const std::vector<std::unique_ptr<sync::MailTransport>> transports_;  ///< one for each connection
  sync::DeliveryRules delivery_rules_;
  sync::MailDelivery mail_delivery_;
  const sync::RequestRecordRules request_record_rules_;
  SyncWorkers sync_;
  sources::SourceWorkers sources_;
  webhooks::WebhookWorkers webhooks_;
  SecretWatch secret_watch_{shared_.settings, shared_.store, shared_.secrets, shared_.links};
  const std::int64_t longest_crm_call_millis_;
  std::mutex delivery_log_mutex_;
  LogThrottle delivery_log_throttle_;        // guarded by delivery_log_mutex_
  LogThrottle request_record_log_throttle_;  ///< each used by one worker only
  LogThrottle timer_log_throttle_;
  LogThrottle maintenance_log_throttle_;
  UtcMillis shown_values_saved_at_{INT64_MIN / 2};     ///< used by the timers' worker only
  UtcMillis sender_notices_queued_at_{INT64_MIN / 2};  ///< used by the timers' worker only
  sync::FeedPlace feed_place_;                         ///< used by the feed's worker only
  // Used by the rollups' worker only:
  sync::FoldPlace fold_place_;
  bool has_rollup_lease_ = false;
  UtcMillis rollup_lease_asked_at_{INT64_MIN / 2};
  bool are_rollups_filled_ = false;
  UtcMillis rollup_fill_waits_since_{INT64_MIN / 2};
  // Used by the maintenance worker only:
  CrmRoleRefresh crm_roles_{shared_};
  bool has_started_ids_ = false;  ///< the CRM has said which Transaction Ids it has
  bool is_refused_ids_ = false;   ///< it refuses to say it until an admin has mended it
  UtcMillis ids_checked_at_{INT64_MIN / 2};
  std::unique_ptr<AlertMailer> alert_mailer_;         ///< null: no one is mailed
  std::unique_ptr<store::WriterLease> alert_lease_;   ///< null before start()
  std::unique_ptr<store::WriterLease> rollup_lease_;  ///< likewise
  // Used by the upgrade's worker only:
  std::string present_work_;   ///< that was logged
  std::string upgrade_fault_;  ///< likewise; empty: none
  UtcMillis upgrade_failed_at_{INT64_MIN / 2};
  /// All other writers of SQLite wait for it, and have no heartbeat.
  std::atomic<bool> makes_index_ = false;
  enum Kind { request_records, timers, budgets, feed, rollups, alerts, upgrade, maintenance, kKinds };
  /// In the order of their stop: the first two wake others. Null without requests.enabled, alerts.mail_to,
  /// work that an upgrade has left.
  std::array<std::unique_ptr<PeriodicWorker>, kKinds> workers_;
  mutable std::mutex senders_mutex_;
  /// The senders of mail, one for each connection. Guarded by senders_mutex_.
  std::vector<std::unique_ptr<PeriodicWorker>> senders_;
};

}  // namespace giftsync::daemon
