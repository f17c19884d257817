// daemon/sources: all sources of a running daemon: their webhooks behind one endpoint, and one worker for
// each poll, so that a slow source delays no other (SRC-35).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/sources/event_ingestor.h"
#include "platform/periodic_worker.h"

namespace giftsync::sources {

class SourceWorkers {
 public:
  /// Registers the sources in the store. `listing`: which reports are for the do-not-send list. `on_changes`
  /// wakes the sync worker.
  SourceWorkers(const std::vector<config::SourceSettings>& sources, const std::string& installation,
                const config::DoNotSendSettings& listing, store::Store& store,
                std::function<void()> on_changes);

  /// Used by the webhook endpoint; valid as long as this object.
  const std::vector<CompiledSource>& sources() const { return sources_; }
  EventIngestor& ingestor() { return ingestor_; }
  SourceHealthMonitor& health_monitor() { return health_monitor_; }

  /// `owner` is the owner of the polls' leases. Logs sources that are no longer in the settings but still
  /// have gifts or events (SRC-21).
  void start_polls(const std::string& owner);
  void request_stop();
  /// Waits until the running polls have ended and none follows.
  void finish();
  /// Waits for the workers' current steps.
  void stop();
  /// The oldest of the polls' last heartbeats.
  std::int64_t millis_since_heartbeat() const;
  /// Resets poll waits that were set by a wrong clock; returns the sources' names.
  std::vector<std::string> release_implausible_waits(UtcMillis now);
  /// Periodic work. The first call reprocesses all kept events, which takes long (SRC-9, SRC-13);
  /// `keep_going` is called in between, and false ends it.
  void run_maintenance(UtcMillis now, const std::function<bool()>& keep_going);
  /// Deletes old message ids and refused messages. A message that is repeated after its id was deleted is
  /// accepted again: `trusted_now` is of the trusted clock (LIFE-17).
  void prune(UtcMillis trusted_now);

 private:
  void warn_of_removed_sources();
  void reprocess(const CompiledSource& source, UtcMillis now, const std::function<bool()>& keep_going);
  void report_all_orphaned(UtcMillis now);

  store::Store& store_;
  std::vector<CompiledSource> sources_;
  SourceHealthMonitor health_monitor_;
  EventIngestor ingestor_;
  // Used by the maintenance worker only:
  bool has_reprocessed_ = false;
  UtcMillis orphan_check_at_{INT64_MIN / 2};
  std::vector<std::unique_ptr<PeriodicWorker>> poll_workers_;
};

}  // namespace giftsync::sources
