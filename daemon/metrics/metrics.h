// daemon/metrics: what the daemon counts in memory from its start to its end, also over reloads, and the text
// that Prometheus reads (OPS-40). Counting takes no lock that another thread holds for long and searches
// nothing: each place has its counter. A label has no address, name or id of a person, company or gift; test
// gifts are left out. Prometheus' types stay inside this folder.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/http/handler_pool.h"
#include "daemon/http/http_handler.h"
#include "platform/server_certificate.h"
#include "platform/time.h"
#include "sync/crm/gift_folds.h"
#include "sync/crm/sync_step.h"
#include "sync/mail/delivery_step.h"

namespace giftsync::metrics {

struct Sample {
  double value = 0;
  std::vector<std::pair<std::string, std::string>> labels = {};
};

/// A metric that is read at a scrape; one without samples does not apply to this installation.
struct Gauge {
  std::string_view name;
  std::string_view help;
  std::vector<Sample> samples = {};
  bool is_counter = false;
};

// In the unit of metrics.
inline double seconds_of(UtcMillis time) {
  return static_cast<double>(time.value) / 1000;
}
/// 0 when a clock is ahead.
inline double seconds_between(UtcMillis since, UtcMillis now) {
  return static_cast<double>(std::max<std::int64_t>(now.value - since.value, 0)) / 1000;
}

/// Any thread; no function waits or throws, except text().
class Metrics {
 public:
  explicit Metrics(UtcMillis started_at);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void count_response(const http::ServedResponse& response) noexcept;
  /// Of the group-commit writer, with the time of the transaction.
  void count_commit(std::size_t members, std::chrono::nanoseconds took) noexcept;
  /// The writer's queue was full.
  void count_commit_refusal() noexcept;
  /// A batch of the sync that has ended now.
  void count_batch(const sync::SyncStepStats& stats, UtcMillis now) noexcept;
  /// What was folded before the sync: by the feed, or by a caller who acted on a gift.
  void count_reached(const sync::ReachedCounts& reached) noexcept;
  /// One that failed as a whole: store or CRM do not respond, or the CRM is paused.
  void count_failed_batch() noexcept;
  void count_mails(const sync::DeliveryStats& stats) noexcept;
  void settings_loaded(UtcMillis now) noexcept;
  void reload_refused() noexcept;
  /// The dates of the certificate in use; nothing without `server.tls`.
  void certificate_in_use(const std::optional<CertificateDates>& dates, UtcMillis now) noexcept {
    certificate_end_millis_ = dates ? dates->not_after.value : 0;
    is_certificate_valid_ = dates && dates->are_valid_at(now);
  }

  /// Of all servers but the one of the metrics.
  const std::shared_ptr<http::PoolMeters>& pool_meters() const { return pool_meters_; }

  /// All metrics in Prometheus' text format, version 0.0.4; `read` are those of this scrape.
  std::string text(std::span<const Gauge> read) const;

 private:
  struct Counters;
  const std::shared_ptr<http::PoolMeters> pool_meters_ = std::make_shared<http::PoolMeters>();
  const std::unique_ptr<Counters> counters_;
  std::atomic<std::int64_t> certificate_end_millis_{0};  ///< 0: none
  std::atomic<bool> is_certificate_valid_{false};
};

}  // namespace giftsync::metrics
