// daemon: the sync worker, which keeps the CRM up to date (sync/crm/sync_step.h), and a second worker that
// joins while more than one batch is due, unless the CRM takes one writer only: one reads and folds while the
// other writes.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "platform/dependency_error.h"
#include "platform/logging.h"
#include "platform/periodic_worker.h"
#include "sync/crm/sync_step.h"

namespace giftsync::daemon {

class SyncWorkers {
 public:
  /// The text to log for a fault that stops a whole batch: the fault's own message or a better one. Called
  /// once a minute while the same fault lasts, because a better message may need a check of the whole CRM.
  using FaultDescriber = std::function<std::string(const DependencyError&)>;

  /// Gets what each batch did, from both workers.
  using OnBatch = std::function<void(const sync::SyncStepStats&)>;

  /// `on_fault` is called when a batch failed as a whole.
  SyncWorkers(
      store::Store& store, crm::Crm& crm, sync::SyncRules rules, FaultDescriber describe_fault,
      OnBatch on_batch = [](const sync::SyncStepStats&) {}, std::function<void()> on_fault = [] {});

  /// Releases the leases of workers that have ended.
  void release_leases(std::vector<std::string> owners);
  /// `owner` is the owner of leases. `should_yield`: true while HTTP callers wait for the store.
  void start(const std::string& owner, const std::function<bool()>& should_yield);
  /// Call when there is something to sync. Any thread; no effect before start().
  void wake();
  void request_stop();
  /// Waits until the running batches have ended. wake() has no effect then.
  void finish();
  /// As finish(), and nothing may call wake() any more.
  void stop();
  /// The oldest of the workers' last heartbeats.
  std::int64_t millis_since_heartbeat() const;

 private:
  bool sync();
  void run_second_worker();
  void release_second_worker_claims();
  sync::SyncStepStats sync_batch(sync::SyncLease& lease, UtcMillis now);
  const std::string& fault_description(const DependencyError& fault, UtcMillis now);
  void check_pause(UtcMillis now);
  bool is_woken();
  [[noreturn]] void fail(const DependencyError& fault, const std::string& description, UtcMillis now);
  sync::SyncStepStats sync_batch_or_log(UtcMillis now);
  void log_warnings_once(const std::vector<LogLine>& warnings);
  void log_released_changes(std::int64_t released, UtcMillis now);

  store::Store& store_;
  crm::Crm& crm_;
  const sync::SyncRules rules_;
  const FaultDescriber describe_fault_;
  const OnBatch on_batch_;
  const std::function<void()> on_fault_;
  std::size_t max_rows_ = 0;      // of a batch
  sync::SyncLease lease_;         // used by the sync worker only
  sync::SyncLease second_lease_;  // used by the second worker only
  std::mutex mutex_;
  std::set<std::string> logged_;  // guarded by mutex_: sentences that were logged already
  LogThrottle log_throttle_;      // guarded by mutex_
  struct ReportedFault {
    std::string message;
    std::string description;
    UtcMillis described_at;
  };
  // Used by the sync worker only:
  struct Pause {
    DependencyPause fault;
    UtcMillis since;
  };
  std::optional<Pause> pause_;                   // while the CRM must not be called
  std::string seen_wake_;                        // of schema/store/store.h
  std::optional<ReportedFault> reported_fault_;  // fault of the last batch
  std::int64_t unlogged_released_ = 0;           // orphaned changes applied since the last log line
  UtcMillis released_logged_at_{INT64_MIN / 2};
  std::atomic<bool> second_worker_wanted_ = false;
  bool has_unreleased_claims_ = false;               // used by the second worker only
  std::atomic<PeriodicWorker*> wakeable_ = nullptr;  // null while wake() must do nothing
  std::unique_ptr<PeriodicWorker> second_worker_;    // null when the CRM takes one writer only
  std::unique_ptr<PeriodicWorker> worker_;           // wakes the second worker
};

}  // namespace giftsync::daemon
