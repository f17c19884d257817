#include "daemon/sync_workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "platform/clock.h"
#include "platform/text.h"
#include "schema/store/store.h"
#include "sync/mail/delivery_rules.h"

namespace giftsync::daemon {
namespace {

constexpr std::int64_t kIntervalMillis = 500;
constexpr std::int64_t kRecentlyOrphanedMillis = 2 * kMinuteMillis;
constexpr std::size_t kMaxLogged = 10'000;
/// Then the CRM is asked again how long it must not be called, which costs no call.
constexpr std::int64_t kMaxCrmPauseMillis = kHourMillis;

std::string second_worker_of(const std::string& owner) {
  return "second worker of " + owner;
}

}  // namespace

SyncWorkers::SyncWorkers(store::Store& store, crm::Crm& crm, sync::SyncRules rules,
                         FaultDescriber describe_fault, OnBatch on_batch, std::function<void()> on_fault)
    : store_(store),
      crm_(crm),
      rules_(std::move(rules)),
      describe_fault_(std::move(describe_fault)),
      on_batch_(std::move(on_batch)),
      on_fault_(std::move(on_fault)) {}

void SyncWorkers::release_leases(std::vector<std::string> owners) {
  const std::size_t count = owners.size();
  for (std::size_t i = 0; i < count; ++i) owners.push_back(second_worker_of(owners[i]));
  store_.sync.release_leases(owners);
}

void SyncWorkers::start(const std::string& owner, const std::function<bool()>& should_yield) {
  const crm::CrmPace pace = crm_.pace();
  const std::int64_t lease_millis = sync::sync_lease_millis(pace);
  max_rows_ = pace.rows_per_write;
  lease_ = {owner, lease_millis, max_rows_};
  second_lease_ = {second_worker_of(owner), lease_millis, max_rows_};
  store_.sync.cap_leases(lease_millis);
  const UtcMillis now = system_now();
  store_.sync.reset_rejected_after(now, now);  // the settings or the CRM may have been corrected
  seen_wake_ = store_.metadata(store::kCrmWakeFact).value_or("");
  if (pace.writers > 1)
    second_worker_ = std::make_unique<PeriodicWorker>(
        PeriodicWorker::Options{"second sync worker", kIntervalMillis, [this, should_yield](PeriodicWorker&) {
                                  if (has_unreleased_claims_) release_second_worker_claims();
                                  if (second_worker_wanted_ && !should_yield()) run_second_worker();
                                  return second_worker_wanted_ && !should_yield();
                                }});
  worker_ = std::make_unique<PeriodicWorker>(
      PeriodicWorker::Options{"sync", kIntervalMillis, [this](PeriodicWorker&) { return sync(); },
                              [this] { store_.sync.release_leases({lease_.owner}); }, should_yield});
  wakeable_ = worker_.get();
}

void SyncWorkers::wake() {
  if (PeriodicWorker* const worker = wakeable_) worker->wake();
}

void SyncWorkers::request_stop() {
  for (const auto* worker : {&worker_, &second_worker_}) {
    if (*worker) (*worker)->request_stop();
  }
}

void SyncWorkers::finish() {
  for (const auto* worker : {&worker_, &second_worker_}) {
    if (*worker) (*worker)->finish();
  }
}

void SyncWorkers::stop() {
  wakeable_ = nullptr;
  worker_.reset();
  second_worker_.reset();
}

std::int64_t SyncWorkers::millis_since_heartbeat() const {
  return std::max(longest_since_heartbeat({&worker_, 1}), longest_since_heartbeat({&second_worker_, 1}));
}

bool SyncWorkers::sync() {
  const UtcMillis now = system_now();
  log_released_changes(store_.changes.apply_orphaned(now, now - kRecentlyOrphanedMillis), now);
  check_pause(now);
  const bool more = sync_batch_or_log(now).more;
  if (more && second_worker_ && !second_worker_wanted_.exchange(true)) second_worker_->wake();
  return crm_.directory().maintain() || more;
}

/// A mark that was set before the pause began ends it too: better one look too many than an admin's command
/// without effect.
bool SyncWorkers::is_woken() {
  std::string wake = store_.metadata(store::kCrmWakeFact).value_or("");
  if (wake == seen_wake_) return false;
  seen_wake_ = std::move(wake);
  return true;
}

/// Claims nothing while the CRM must not be called. It is the same fault as before, so it is logged once.
void SyncWorkers::check_pause(UtcMillis now) {
  if (!pause_) return;
  const std::int64_t millis = pause_->fault.until().value - pause_->since.value;
  const bool has_ended = has_elapsed(pause_->since, std::min(millis, kMaxCrmPauseMillis), now);
  if (!has_ended && !is_woken()) throw pause_->fault;
  pause_.reset();
}

/// Logs faults at debug level only: the sync worker meets and logs the same fault.
void SyncWorkers::run_second_worker() {
  try {
    if (!sync_batch(second_lease_, system_now()).more) second_worker_wanted_ = false;
  } catch (const DependencyError& fault) {
    second_worker_wanted_ = false;
    has_unreleased_claims_ = true;
    log_debug(fmt::format("second sync worker: {}", fault.what()));
    release_second_worker_claims();
  }
}

/// Retried until it succeeds: the store itself may be unreachable.
void SyncWorkers::release_second_worker_claims() {
  try {
    store_.sync.release_leases({second_lease_.owner});
    has_unreleased_claims_ = false;
  } catch (const DependencyError& fault) {
    log_debug(fmt::format("second sync worker: {}", fault.what()));
  }
}

/// Adapts lease.max_rows, so that a slow CRM gets batches that end within seconds (SYNC-67).
sync::SyncStepStats SyncWorkers::sync_batch(sync::SyncLease& lease, UtcMillis now) {
  const auto started = std::chrono::steady_clock::now();
  const auto adapt = [&](bool has_failed) {
    using namespace std::chrono;
    const auto millis = duration_cast<milliseconds>(steady_clock::now() - started).count();
    lease.max_rows = sync::next_batch_rows(lease.max_rows, millis, has_failed, max_rows_);
  };
  sync::SyncStepStats stats;
  try {
    stats = sync::sync_step(store_, crm_, rules_, lease, now);
  } catch (const DependencyPause&) {
    throw;  // smaller batches would need more calls
  } catch (const DependencyError&) {
    adapt(true);
    throw;
  }
  adapt(false);
  log_warnings_once(stats.warnings);
  on_batch_(stats);
  if (stats.claimed > 0) {
    log_debug(fmt::format("sync: {} gifts: {} created, {} updated, {} unchanged, {} skipped, {} failed",
                          stats.claimed, stats.created, stats.updated, stats.unchanged, stats.skipped,
                          stats.failed));
  }
  return stats;
}

/// The description may need a check of the CRM, so it is cached for a minute; then it is made again, since an
/// admin may be fixing one cause after the other.
const std::string& SyncWorkers::fault_description(const DependencyError& fault, UtcMillis now) {
  const bool is_current = reported_fault_ && reported_fault_->message == fault.what() &&
                          !has_elapsed(reported_fault_->described_at, kMinuteMillis, now);
  if (!is_current) reported_fault_ = {fault.what(), describe_fault_(fault), now};
  return reported_fault_->description;
}

/// Stores the reason of the failure with the batch's gifts, so that `giftsyncctl status` shows it.
sync::SyncStepStats SyncWorkers::sync_batch_or_log(UtcMillis now) {
  try {
    sync::SyncStepStats stats = sync_batch(lease_, now);
    reported_fault_.reset();
    return stats;
  } catch (const DependencyError& fault) {
    second_worker_wanted_ = false;  // before the batch is released: the second worker must not claim it
    const std::string& description = fault_description(fault, now);
    try {
      store_.sync.release_with_error(lease_.owner, description);
    } catch (const DependencyError&) {
      // The store fails too: report the first fault.
    }
    fail(fault, description, now);
  }
}

void SyncWorkers::fail(const DependencyError& fault, const std::string& description, UtcMillis now) {
  on_fault_();
  if (const auto* pause = dynamic_cast<const DependencyPause*>(&fault)) {
    pause_ = {DependencyPause(pause->until(), description, fault.of_external_crm(), fault.transient()), now};
    throw pause_->fault;
  }
  throw DependencyError(fault.transient(), description, fault.of_external_crm());
}

void SyncWorkers::log_warnings_once(const std::vector<LogLine>& warnings) {
  const std::lock_guard lock(mutex_);
  std::vector<LogLine> new_warnings;
  for (const LogLine& warning : warnings) {
    if (logged_.size() >= kMaxLogged) logged_.clear();
    if (logged_.insert(warning.message).second) new_warnings.push_back(warning);
  }
  // Under the lock, so that the slower of the two workers cannot pass an earlier time.
  for (const LogLine& line : log_throttle_.lines_to_log(new_warnings, system_now())) log_event(line);
}

/// Logs at most one line a minute.
void SyncWorkers::log_released_changes(std::int64_t released, UtcMillis now) {
  unlogged_released_ += released;
  if (unlogged_released_ == 0 || !has_elapsed(released_logged_at_, kMinuteMillis, now)) return;
  log_event(
      LogEvent::orphaned_changes_applied,
      fmt::format("sync: {} applied to {} gift", pluralize(unlogged_released_, "orphaned status change"),
                  plural_verb(unlogged_released_, "its", "their")));
  unlogged_released_ = 0;
  released_logged_at_ = now;
}

}  // namespace giftsync::daemon
