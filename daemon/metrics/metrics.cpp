#include "daemon/metrics/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <sstream>

#include "schema/enums.h"

namespace giftsync::metrics {
namespace {

using prometheus::Counter;
using prometheus::Histogram;
using Labels = std::map<std::string, std::string>;
using Buckets = Histogram::BucketBoundaries;

constexpr std::size_t kGroups = std::size(http::kRouteGroupWords);

Counter& counter(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Gauge& gauge(prometheus::Registry& registry, const char* name, const char* help,
                         const Labels& labels = {}) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add(labels);
}

Histogram& histogram(prometheus::Registry& registry, const char* name, const char* help, Buckets buckets) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, std::move(buckets));
}

double seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

/// A counter for each word of a label, all of which exist from the start: a rate needs the first count.
template <std::size_t kWords>
class CounterOf {
 public:
  CounterOf(prometheus::Registry& registry, const char* name, const char* help, const char* label,
            const std::array<std::string_view, kWords>& words) {
    auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(registry);
    for (std::size_t i = 0; i < kWords; ++i) counters_[i] = &family.Add({{label, std::string(words[i])}});
  }
  void add(std::size_t word, std::size_t count = 1) {
    if (count > 0) counters_[word]->Increment(static_cast<double>(count));
  }

 private:
  std::array<Counter*, kWords> counters_{};
};

constexpr std::array<std::string_view, 4> kClasses{"2xx", "3xx", "4xx", "5xx"};

enum Refusal {
  bad_request,
  unauthorized,
  forbidden,
  timeout,
  too_large,
  invalid,
  rate_limited,
  unavailable,
  kRefusals
};
constexpr std::array<std::string_view, kRefusals> kRefusalWords{"bad_request",  "unauthorized", "forbidden",
                                                                "timeout",      "too_large",    "invalid",
                                                                "rate_limited", "unavailable"};

/// kRefusals: not counted as one.
Refusal refusal_of(int status) {
  switch (status) {
    case 400:
      return bad_request;
    case 401:
      return unauthorized;
    case 403:
      return forbidden;
    case 408:
      return timeout;
    case 413:
      return too_large;
    case 422:
      return invalid;
    case 429:
      return rate_limited;
    case 503:
      return unavailable;
    default:
      return kRefusals;
  }
}

std::array<std::string_view, kAllStatuses.size()> status_words() {
  std::array<std::string_view, kAllStatuses.size()> words;
  for (const Status status : kAllStatuses) words[static_cast<std::size_t>(status)] = to_word(status);
  return words;
}

constexpr std::array<std::string_view, 5> kRecordOutcomes{"created", "updated", "unchanged", "skipped",
                                                          "failed"};
constexpr std::array<std::string_view, 2> kBatchOutcomes{"written", "failed"};
constexpr std::array<std::string_view, 4> kMailOutcomes{"accepted", "undelivered", "deferred", "uncertain"};

struct NamedPool {
  const char* name;
  http::PoolMeter http::PoolMeters::*meter;
};
constexpr NamedPool kPools[] = {
    {"endpoints", &http::PoolMeters::endpoints},  {"crm", &http::PoolMeters::crm},
    {"pages", &http::PoolMeters::pages},          {"console", &http::PoolMeters::console},
    {"sign_ins", &http::PoolMeters::sign_ins},    {"readiness", &http::PoolMeters::readiness},
    {"liveness", &http::PoolMeters::liveness},    {"responses", &http::PoolMeters::responses},
    {"handshakes", &http::PoolMeters::handshakes}};

std::array<Gauge, 2> pool_gauges(const http::PoolMeters& meters) {
  Gauge queued{"giftsync_http_pool_queued_requests", "Requests that wait for a thread of the pool."};
  Gauge refused{"giftsync_http_pool_refusals_total",
                "Requests that were answered with 503 because the pool's queue was full, or because they had "
                "waited in it for too long."};
  refused.is_counter = true;
  for (const NamedPool& pool : kPools) {
    const http::PoolMeter& meter = meters.*pool.meter;
    queued.samples.push_back({static_cast<double>(meter.queued.load()), {{"pool", pool.name}}});
    refused.samples.push_back({static_cast<double>(meter.refused.load()), {{"pool", pool.name}}});
  }
  return {std::move(queued), std::move(refused)};
}

prometheus::MetricFamily family_of(const Gauge& read) {
  prometheus::MetricFamily family{
      std::string(read.name),
      std::string(read.help),
      read.is_counter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge,
      {}};
  for (const Sample& sample : read.samples) {
    prometheus::ClientMetric metric;
    for (const auto& [name, value] : sample.labels) metric.label.push_back({name, value});
    (read.is_counter ? metric.counter.value : metric.gauge.value) = sample.value;
    family.metric.push_back(std::move(metric));
  }
  return family;
}

}  // namespace

struct Metrics::Counters {
  Counters() {
    auto& durations = prometheus::BuildHistogram()
                          .Name("giftsync_http_request_duration_seconds")
                          .Help("From a complete request to its response, by group of routes.")
                          .Register(registry);
    auto& requests = prometheus::BuildCounter()
                         .Name("giftsync_http_requests_total")
                         .Help("Responses by group of routes and class of status.")
                         .Register(registry);
    for (std::size_t group = 0; group < kGroups; ++group) {
      const std::string word(http::kRouteGroupWords[group]);
      duration[group] = &durations.Add({{"group", word}},
                                       Buckets{0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10});
      for (std::size_t kind = 0; kind < kClasses.size(); ++kind)
        responses[group][kind] = &requests.Add({{"group", word}, {"code", std::string(kClasses[kind])}});
    }
  }

  prometheus::Registry registry;
  std::array<Histogram*, kGroups> duration{};
  std::array<std::array<Counter*, kClasses.size()>, kGroups> responses{};
  CounterOf<kRefusals> refusals{registry, "giftsync_http_refusals_total",
                                "Responses that refuse a request, by reason.", "reason", kRefusalWords};
  Histogram& commit_members =
      histogram(registry, "giftsync_commit_members",
                "Gift requests, messages and decisions that became durable in one commit.",
                {1, 2, 5, 10, 20, 50, 100, 200, 500});
  Histogram& commit_duration =
      histogram(registry, "giftsync_commit_duration_seconds", "Duration of these commits.",
                {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10});
  Counter& commit_refusals = counter(registry, "giftsync_commit_refusals_total",
                                     "Writes that were refused because too many waited for a commit.");
  CounterOf<kAllStatuses.size()> reached{registry, "giftsync_gift_status_changes_total",
                                         "Gifts that got a time of the status.", "status", status_words()};
  Histogram& sync_lag =
      histogram(registry, "giftsync_sync_lag_seconds",
                "From a change, or the first failure to write it, to the gift's record in the CRM.",
                {0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30, 60, 300, 3600});
  CounterOf<kRecordOutcomes.size()> records{registry, "giftsync_crm_records_total",
                                            "Gift records that were to be written, by outcome.", "outcome",
                                            kRecordOutcomes};
  CounterOf<kBatchOutcomes.size()> batches{
      registry, "giftsync_crm_batches_total",
      "Batches of gift records: failed are those that failed as a whole.", "outcome", kBatchOutcomes};
  prometheus::Gauge& crm_up =
      gauge(registry, "giftsync_crm_up", "Whether the last batch of gift records did not fail as a whole.");
  CounterOf<kMailOutcomes.size()> mails{registry, "giftsync_mails_total",
                                        "Attempts to send a mail, by outcome.", "outcome", kMailOutcomes};
  prometheus::Gauge& build = gauge(registry, "giftsync_build_info", "The version that runs; always 1.",
                                   {{"version", GIFTSYNC_VERSION}});
  prometheus::Gauge& start =
      gauge(registry, "giftsync_start_timestamp_seconds", "When the daemon started; counters begin then.");
  prometheus::Gauge& loaded = gauge(registry, "giftsync_settings_loaded_timestamp_seconds",
                                    "When the settings in force were loaded.");
  prometheus::Gauge& refused = gauge(registry, "giftsync_settings_reload_refused",
                                     "Whether the last reload of the settings was refused.");
};

Metrics::Metrics(UtcMillis started_at) : counters_(std::make_unique<Counters>()) {
  counters_->build.Set(1);
  counters_->start.Set(seconds_of(started_at));
  counters_->crm_up.Set(1);
  settings_loaded(started_at);
}

Metrics::~Metrics() = default;

void Metrics::count_response(const http::ServedResponse& response) noexcept {
  const auto group = static_cast<std::size_t>(response.group);
  if (response.took) counters_->duration[group]->Observe(seconds(*response.took));
  const int kind = response.status / 100 - 2;
  if (kind >= 0 && kind < static_cast<int>(kClasses.size()))
    counters_->responses[group][static_cast<std::size_t>(kind)]->Increment();
  if (response.status < 400) return;
  if (const Refusal refusal = refusal_of(response.status); refusal != kRefusals)
    counters_->refusals.add(refusal);
}

void Metrics::count_commit(std::size_t members, std::chrono::nanoseconds took) noexcept {
  counters_->commit_members.Observe(static_cast<double>(members));
  counters_->commit_duration.Observe(seconds(took));
}

void Metrics::count_commit_refusal() noexcept {
  counters_->commit_refusals.Increment();
}

void Metrics::count_batch(const sync::SyncStepStats& stats, UtcMillis now) noexcept {
  if (stats.claimed == 0) return;
  count_reached(stats.reached);
  for (const UtcMillis since : stats.written_since) counters_->sync_lag.Observe(seconds_between(since, now));
  std::size_t outcome = 0;
  for (const std::size_t count : {stats.created, stats.updated, stats.unchanged, stats.skipped, stats.failed})
    counters_->records.add(outcome++, count);
  counters_->batches.add(0);
  counters_->crm_up.Set(1);
}

void Metrics::count_reached(const sync::ReachedCounts& reached) noexcept {
  for (std::size_t status = 0; status < reached.size(); ++status)
    counters_->reached.add(status, reached[status]);
}

void Metrics::count_failed_batch() noexcept {
  counters_->batches.add(1);
  counters_->crm_up.Set(0);
}

void Metrics::count_mails(const sync::DeliveryStats& stats) noexcept {
  std::size_t outcome = 0;
  for (const std::size_t count : {stats.accepted, stats.undelivered, stats.deferred, stats.uncertain})
    counters_->mails.add(outcome++, count);
}

void Metrics::settings_loaded(UtcMillis now) noexcept {
  counters_->loaded.Set(seconds_of(now));
  counters_->refused.Set(0);
}

void Metrics::reload_refused() noexcept {
  counters_->refused.Set(1);
}

std::string Metrics::text(std::span<const Gauge> read) const {
  std::vector<prometheus::MetricFamily> families = counters_->registry.Collect();
  for (const Gauge& pool : pool_gauges(*pool_meters_)) families.push_back(family_of(pool));
  Gauge certificate{"giftsync_certificate_expiry_timestamp_seconds",
                    "When the certificate of server.tls expires that new connections get."};
  Gauge valid{"giftsync_certificate_valid",
              "Whether this certificate is valid by this host's clock; clients refuse another one."};
  if (const std::int64_t end = certificate_end_millis_; end != 0) {
    certificate.samples.push_back({seconds_of(UtcMillis{end})});
    valid.samples.push_back({is_certificate_valid_ ? 1.0 : 0.0});
  }
  for (const Gauge* const gauge : {&certificate, &valid}) families.push_back(family_of(*gauge));
  for (const Gauge& one : read) families.push_back(family_of(one));
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return out.str();
}

}  // namespace giftsync::metrics
