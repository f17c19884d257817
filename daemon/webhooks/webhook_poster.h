// daemon/webhooks: posts the events of the feed to one endpoint, batch after batch (HOOK-5 to HOOK-8). Used
// by one thread; a batch has up to four of its own, each with a connection of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/webhooks/webhook_post.h"
#include "platform/clock.h"
#include "platform/log_line.h"
#include "schema/store/store.h"
#include "sync/webhook_rules.h"

namespace giftsync::webhooks {

struct PosterOptions {
  PostOptions post = {};
  Unseal unseal;
  Clock clock = system_now;
  std::function<std::int64_t()> random;  ///< from 0 to 1,000; any thread
  /// Whether this daemon alone posts to the endpoint now and for as long as an attempt takes; asked before
  /// each attempt, and renews the lease. Any thread.
  std::function<bool()> may_post;
  /// An attempt that begins later than that after the store was read reads it again: what an admin has
  /// changed ends the batch, and the gift is as it is now.
  std::int64_t refresh_millis = 2'000;
  /// A batch that takes less is followed by one of twice as many events.
  std::int64_t fast_millis = 250;
};

class WebhookPoster {
 public:
  static constexpr std::size_t kConnections = 4;
  static constexpr std::size_t kBatchEvents = 200;
  static constexpr std::size_t kMaxBatchEvents = 1'600;

  /// `store` must outlive it.
  WebhookPoster(store::Store& store, std::int64_t endpoint, PosterOptions options);

  /// Posts a batch if the endpoint is due; true: there is more to do at once. `keep_going` is asked between
  /// attempts by several threads. Throws DependencyError of the store: what was posted since the last step is
  /// then posted again.
  bool step(const std::function<bool()>& keep_going);
  /// What of the last steps the log has; they are forgotten.
  std::vector<LogLine> take_lines() { return std::exchange(lines_, {}); }

 private:
  struct Job;
  struct Batch;
  std::optional<store::WebhookEndpoint> due_endpoint(UtcMillis now);
  store::FeedState enter_epoch(store::WebhookEndpoint& endpoint);
  void load(Batch& batch, std::size_t retries);
  void post_all(Batch& batch, const std::function<bool()>& keep_going);
  void post_jobs(Batch& batch, std::vector<Job*> jobs, WebhookClient& client,
                 const std::function<bool()>& keep_going);
  bool save(Batch& batch);
  void add_line(LogEvent event, const store::WebhookEndpoint& endpoint, const std::string& what);
  void connect(const std::string& url);

  store::Store& store_;
  const std::int64_t endpoint_;
  const PosterOptions options_;
  std::size_t batch_events_ = kBatchEvents;  ///< of the next batch
  std::string url_;                          ///< of clients_
  std::array<std::unique_ptr<WebhookClient>, kConnections> clients_;
  std::vector<LogLine> lines_;
};

}  // namespace giftsync::webhooks
