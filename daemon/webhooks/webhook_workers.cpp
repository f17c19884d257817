#include "daemon/webhooks/webhook_workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <utility>

#include "platform/dependency_error.h"
#include "platform/logging.h"

namespace giftsync::webhooks {
namespace {

constexpr std::int64_t kIntervalMillis = 1'000;
constexpr std::int64_t kLeaseMillis = 60'000;
/// An attempt takes 15 s at most, and begins only while the lease lasts for longer.
constexpr auto kRenewAfter = std::chrono::seconds(20);

std::int64_t random_part() {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return std::uniform_int_distribution<std::int64_t>(0, 1'000)(generator);
}

/// The lease of one endpoint, renewed when a third of it is over.
class Lease {
 public:
  Lease(const sql::Dsn& dsn, std::int64_t endpoint, std::string owner)
      : lease_(dsn, fmt::format("webhook {}", endpoint), std::move(owner)) {}

  /// Whether it is held, and for longer than an attempt takes. Any thread.
  bool is_held() {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (taken_at_ && now - *taken_at_ < kRenewAfter) return true;
    taken_at_.reset();
    if (lease_.take(kLeaseMillis).is_this) taken_at_ = now;
    return taken_at_.has_value();
  }
  void release() {
    const std::lock_guard lock(mutex_);
    taken_at_.reset();
    try {
      lease_.release();
    } catch (const DependencyError& fault) {
      log_debug(fmt::format("webhooks: {}", fault.what()));  // the lease ends by itself
    }
  }

 private:
  std::mutex mutex_;
  store::WriterLease lease_;                                       // guarded by mutex_
  std::optional<std::chrono::steady_clock::time_point> taken_at_;  // guarded by mutex_
};

}  // namespace

struct WebhookWorkers::Endpoint {
  Endpoint(WebhookWorkers& workers, std::int64_t id)
      : lease(workers.dsn_, id, workers.options_.owner),
        poster(workers.store_, id,
               {workers.post_, workers.unseal_, system_now, random_part, [this] { return lease.is_held(); }}),
        worker({"webhook", kIntervalMillis,
                [this](PeriodicWorker& self) {
                  const bool has_more = poster.step([&self] { return self.heartbeat_and_should_run(); });
                  for (const LogLine& line : throttle.lines_to_log(poster.take_lines(), system_now()))
                    log_event(line);
                  return has_more;
                },
                [] {}, workers.options_.should_yield}) {}

  Lease lease;
  LogThrottle throttle;
  WebhookPoster poster;
  PeriodicWorker worker;  ///< last: it uses all of the above
};

WebhookWorkers::WebhookWorkers(store::Store& store, const sql::Dsn& dsn, PostOptions post, Unseal unseal)
    : store_(store), dsn_(dsn), post_(std::move(post)), unseal_(std::move(unseal)) {}

WebhookWorkers::~WebhookWorkers() {
  finish();
}

void WebhookWorkers::start(const StartOptions& options) {
  options_ = options;
  for (const store::WebhookEndpoint& endpoint : store_.webhooks.list())
    for (const std::string& owner : options.ended_owners) Lease(dsn_, endpoint.id, owner).release();
  follower_ = std::make_unique<PeriodicWorker>(
      PeriodicWorker::Options{"webhooks", kIntervalMillis, [this](PeriodicWorker&) {
                                follow_endpoints();
                                return false;
                              }});
}

void WebhookWorkers::follow_endpoints() {
  std::set<std::int64_t> wanted;
  for (const store::WebhookEndpoint& endpoint : store_.webhooks.list())
    if (endpoint.state != WebhookState::disabled) wanted.insert(endpoint.id);
  std::vector<std::unique_ptr<Endpoint>> ended;
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) return;
    for (auto at = endpoints_.begin(); at != endpoints_.end();) {
      if (wanted.contains(at->first)) {
        ++at;
        continue;
      }
      ended.push_back(std::move(at->second));
      at = endpoints_.erase(at);
    }
    for (const std::int64_t id : wanted)
      if (!endpoints_.contains(id)) endpoints_.emplace(id, std::make_unique<Endpoint>(*this, id));
  }
  for (const auto& endpoint : ended) {
    endpoint->worker.finish();
    endpoint->lease.release();
  }
}

void WebhookWorkers::request_stop() {
  if (follower_) follower_->request_stop();
  const std::lock_guard lock(mutex_);
  is_stopping_ = true;
  for (const auto& [id, endpoint] : endpoints_) endpoint->worker.request_stop();
}

void WebhookWorkers::finish() {
  request_stop();
  if (follower_) follower_->finish();
  std::map<std::int64_t, std::unique_ptr<Endpoint>> ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(endpoints_);
  }
  for (const auto& [id, endpoint] : ended) endpoint->worker.finish();
  for (const auto& [id, endpoint] : ended) endpoint->lease.release();
}

std::int64_t WebhookWorkers::millis_since_heartbeat() const {
  std::int64_t longest = follower_ ? follower_->millis_since_heartbeat() : 0;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, endpoint] : endpoints_)
    longest = std::max(longest, endpoint->worker.millis_since_heartbeat());
  return longest;
}

void WebhookWorkers::prune(UtcMillis before) {
  store_.webhooks.prune(before, store_.feed.state().oldest);
}

}  // namespace giftsync::webhooks
