// daemon/metrics: what a scrape gets (OPS-40). What is in memory is always answered; a store that does not
// respond within kStorePatience is left out, and giftsync_store_up says so (OPS-41). Any thread.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <mutex>
#include <vector>

#include "daemon/http/http_handler.h"
#include "daemon/metrics/metrics.h"

namespace giftsync::metrics {

class MetricsPage {
 public:
  static constexpr const char* kPath = "/metrics";
  static constexpr std::chrono::milliseconds kStorePatience{3000};

  using Read = std::function<std::vector<Gauge>()>;
  /// `memory`: gauges that wait for nothing. `store`: those of the store; may throw DependencyError, and runs
  /// on a thread of its own, one at a time. `metrics` and what both use must outlive this object, which waits
  /// for a reading that is in progress.
  MetricsPage(const Metrics& metrics, Read memory, Read store,
              std::chrono::milliseconds store_patience = kStorePatience);

  /// Serves kPath alone.
  http::HttpResponse handle(const http::HttpRequest& request);

 private:
  struct Reading {
    std::vector<Gauge> gauges;
    bool has_failed = false;
    double seconds = 0;
  };
  Reading read_store();

  const Metrics& metrics_;
  const Read memory_;
  const Read store_;
  const std::chrono::milliseconds store_patience_;
  std::mutex mutex_;
  std::shared_future<Reading> reading_;  // guarded by mutex_
};

}  // namespace giftsync::metrics
