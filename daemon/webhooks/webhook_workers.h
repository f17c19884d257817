// daemon/webhooks: one worker for each endpoint, so that a slow one holds up itself alone (HOOK-12), under a
// lease, so that one daemon of a store at a time posts to it (HOOK-5). Endpoints that an admin makes,
// enables, disables or deletes begin and end within a second or two.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/webhooks/webhook_poster.h"
#include "platform/periodic_worker.h"
#include "schema/store/daemon_instances.h"
#include "schema/store/store.h"

namespace giftsync::webhooks {

class WebhookWorkers {
 public:
  /// `store` must outlive it; `dsn` is its.
  WebhookWorkers(store::Store& store, const sql::Dsn& dsn, PostOptions post, Unseal unseal);
  ~WebhookWorkers();

  struct StartOptions {
    std::string owner;                      ///< of leases
    std::vector<std::string> ended_owners;  ///< whose leases are released
    std::function<bool()> should_yield;     ///< true while HTTP callers wait for the store
  };
  /// Throws DependencyError.
  void start(const StartOptions& options);
  void request_stop();
  /// Waits until the current attempts have ended, which take 15 s at most, and none follows.
  void finish();
  /// The longest of the workers' times since their heartbeats; 0 before start(). Any thread.
  std::int64_t millis_since_heartbeat() const;
  /// Deletes attempts from before then, and retries of events that the feed does not have any more.
  void prune(UtcMillis before);

 private:
  struct Endpoint;
  void follow_endpoints();

  store::Store& store_;
  const sql::Dsn dsn_;
  const PostOptions post_;
  const Unseal unseal_;
  StartOptions options_;
  mutable std::mutex mutex_;
  std::map<std::int64_t, std::unique_ptr<Endpoint>> endpoints_;  // guarded by mutex_
  bool is_stopping_ = false;                                     // guarded by mutex_
  std::unique_ptr<PeriodicWorker> follower_;
};

}  // namespace giftsync::webhooks
