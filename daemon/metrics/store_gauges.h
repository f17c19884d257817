// daemon/metrics: the metrics that the store has, read at a scrape (OPS-41): by indexes, in bounded counts,
// so that a scrape of ten million gifts takes no longer than one of ten thousand. Counts stop above
// store::kMaxCounted. Test gifts are left out.
#pragma once

#include <optional>
#include <vector>

#include "daemon/config/settings.h"
#include "daemon/metrics/metrics.h"
#include "platform/time.h"
#include "schema/store/store.h"

namespace giftsync::metrics {

/// One thread at a time.
class StoreGauges {
 public:
  /// Sources beyond so many, in the order of their names, have no series of their own.
  static constexpr std::size_t kMaxNamedSources = 25;
  /// What scans tables of keys and budgets is read again after that time.
  static constexpr std::int64_t kSlowIntervalMillis = kMinuteMillis;

  /// Both must outlive it.
  StoreGauges(const config::Settings& settings, store::Store& store) : settings_(settings), store_(store) {}

  /// Throws DependencyError.
  std::vector<Gauge> read(UtcMillis now);

 private:
  /// Of tables that grow with accounts rather than with gifts.
  struct Slow {
    UtcMillis read_at;
    std::int64_t paused_credentials = 0;
    std::int64_t used_up_budgets = 0;
    std::optional<std::int64_t> database_bytes = {};  ///< of a store in PostgreSQL
  };
  const Slow& slow(UtcMillis now);
  void add_mail(UtcMillis now, std::vector<Gauge>& gauges);
  void add_crm(UtcMillis now, std::vector<Gauge>& gauges);
  void add_sources(std::vector<Gauge>& gauges);
  void add_timers(UtcMillis now, std::vector<Gauge>& gauges);
  void add_feed(UtcMillis now, std::vector<Gauge>& gauges);
  void add_sending(UtcMillis now, std::vector<Gauge>& gauges);
  void add_secrets(UtcMillis now, std::vector<Gauge>& gauges);
  void add_backfills(std::vector<Gauge>& gauges);
  void add_files(UtcMillis now, std::vector<Gauge>& gauges);

  const config::Settings& settings_;
  store::Store& store_;
  std::optional<Slow> slow_;
};

}  // namespace giftsync::metrics
