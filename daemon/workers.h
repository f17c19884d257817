// daemon: all workers: sync, polls, delivery, timers, request records and maintenance (ARCH-25).
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/shared_parts.h"
#include "daemon/sources/source_workers.h"
#include "daemon/sync_workers.h"
#include "platform/logging.h"
#include "platform/periodic_worker.h"
#include "sync/mail/delivery_step.h"
#include "sync/request/request_record_step.h"

namespace giftsync::daemon {

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
  /// Waits until the current steps have ended.
  void stop();
  /// False when a worker's heartbeat is too old.
  bool are_alive() const;

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
  bool deliver_mails(PeriodicWorker& worker, std::size_t connection, bool yields);
  void wake_other_senders(std::size_t connection);
  bool process_timers(const StartOptions& options);
  bool process_lifecycle();
  bool queue_sender_notices();
  void save_shown_values(const std::function<void()>& save_last_used);
  bool process_request_records();
  bool maintain(PeriodicWorker& worker, const std::function<void()>& maintain_endpoints);
  void discard_request_change_events(PeriodicWorker& worker);

  SharedParts& shared_;
  const std::vector<std::unique_ptr<sync::MailTransport>> transports_;  ///< one for each connection
  sync::DeliveryRules delivery_rules_;
  sync::MailDelivery mail_delivery_;
  const sync::RequestRecordRules request_record_rules_;
  SyncWorkers sync_;
  sources::SourceWorkers sources_;
  const std::int64_t longest_crm_call_millis_;
  std::mutex delivery_log_mutex_;
  LogThrottle delivery_log_throttle_;        // guarded by delivery_log_mutex_
  LogThrottle request_record_log_throttle_;  ///< each used by one worker only
  LogThrottle timer_log_throttle_;
  LogThrottle maintenance_log_throttle_;
  UtcMillis shown_values_saved_at_{INT64_MIN / 2};     ///< used by the timers' worker only
  UtcMillis sender_notices_queued_at_{INT64_MIN / 2};  ///< used by the timers' worker only
  // Used by the maintenance worker only:
  CrmRoleRefresh crm_roles_{shared_};
  bool has_begun_ids_ = false;   ///< the CRM has said which Transaction Ids it has
  bool is_refused_ids_ = false;  ///< it refuses to say it until an admin has mended it
  UtcMillis ids_checked_at_{INT64_MIN / 2};
  enum Kind { request_records, timers, maintenance, kKinds };
  /// In the order of their stop: the first two wake others. Without requests.enabled the first one is null.
  std::array<std::unique_ptr<PeriodicWorker>, kKinds> workers_;
  mutable std::mutex senders_mutex_;
  /// The senders of mail, one for each connection. Guarded by senders_mutex_.
  std::vector<std::unique_ptr<PeriodicWorker>> senders_;
};

}  // namespace giftsync::daemon
