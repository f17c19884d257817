#include "daemon/webhooks/webhook_poster.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "platform/dependency_error.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "sync/feed_step.h"

namespace giftsync::webhooks {
namespace {

using store::WebhookEndpoint;
using store::WebhookRetry;
using sync::WebhookOutcome;

/// A wait beyond it was set while the clock was ahead.
constexpr std::int64_t kLongestWaitMillis = sync::kMaxRetryAfterMillis + kMinuteMillis;
constexpr std::size_t kReasonCodePoints = 200;

store::FeedFilter filter_of(const WebhookEndpoint& endpoint) {
  store::FeedFilter filter;
  for (std::string_view rest = endpoint.types; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    for (const FeedEventType type : feed_event_types_of(one)) filter.types.push_back(type);
  }
  filter.account = endpoint.account;
  filter.organization = endpoint.organization;
  filter.is_test = endpoint.is_test;
  return filter;
}

/// Whether an admin has changed what the attempts of a batch depend on.
bool is_changed(const WebhookEndpoint& before, const WebhookEndpoint& now) {
  const auto parts = [](const WebhookEndpoint& endpoint) {
    return std::tie(endpoint.url, endpoint.types, endpoint.secret, endpoint.previous_secret, endpoint.epoch,
                    endpoint.position, endpoint.state, endpoint.state_since);
  };
  return parts(before) != parts(now);
}

store::AuditEvent disabled_event(const WebhookEndpoint& endpoint, UtcMillis now) {
  store::AuditEvent event;
  event.occurred_at = now;
  event.actor_kind = store::ActorKind::system;
  event.actor = "giftsyncd";
  event.action = "webhook.disable";
  event.object_kind = "webhook";
  event.object_id = endpoint.name;
  event.organization = endpoint.organization;
  event.detail = endpoint.reason;
  return event;
}

}  // namespace

/// One event to be posted.
struct WebhookPoster::Job {
  store::FeedEvent event;
  std::optional<WebhookRetry> retry = {};  ///< absent: it is the first attempt
  std::optional<Posted> posted = {};       ///< absent: it was not tried
};

struct WebhookPoster::Batch {
  using SteadyTime = std::chrono::steady_clock::time_point;

  WebhookEndpoint endpoint;
  std::int64_t scanned = 0;
  bool has_more = false;
  std::vector<Job> jobs = {};  ///< retries first
  std::vector<std::int64_t> lost = {};
  std::set<std::int64_t> repeated = {};  ///< behind the position, and waiting or given up: of a replay
  std::map<TransactionId, store::Gift> gifts = {};
  std::vector<std::string> secrets = {};
  std::optional<sync::WebhookBatch> rules = {};  ///< guarded by mutex while connections post
  std::mutex mutex = {};
  std::exception_ptr fault = {};  ///< guarded by mutex
  Posted last_failure = {};       ///< guarded by mutex
  const SteadyTime loaded_at = std::chrono::steady_clock::now();
  SteadyTime checked_at = loaded_at;  ///< guarded by mutex
  bool is_outdated = false;           ///< guarded by mutex

  static bool is_due(SteadyTime since, std::int64_t millis) {
    return std::chrono::steady_clock::now() - since >= std::chrono::milliseconds(millis);
  }
  /// Whether the endpoint is as it was read. A slow receiver makes a batch last for minutes, and neither the
  /// former URL nor a leaked secret may be used for so long.
  bool is_current(store::Store& store, std::int64_t refresh_millis) {
    const std::lock_guard lock(mutex);
    if (is_outdated || !is_due(checked_at, refresh_millis)) return !is_outdated;
    const auto found = store.webhooks.find(endpoint.id);
    checked_at = std::chrono::steady_clock::now();
    is_outdated = !found || is_changed(endpoint, *found);
    return !is_outdated;
  }
  /// The gift of an event as it is now; nullopt when it is about none, or was deleted.
  std::optional<store::Gift> gift_of(store::Store& store, const store::FeedEvent& event,
                                     std::int64_t refresh_millis) const {
    if (!to_word(event.type).starts_with("gift.")) return std::nullopt;
    const TransactionId id{event.object};
    const auto loaded = gifts.find(id);
    if (!is_due(loaded_at, refresh_millis))
      return loaded == gifts.end() ? std::nullopt : std::optional(loaded->second);
    std::vector<store::Gift> found = store.gifts.find(std::vector{id});
    return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
  }
};

WebhookPoster::WebhookPoster(store::Store& store, std::int64_t endpoint, PosterOptions options)
    : store_(store), endpoint_(endpoint), options_(std::move(options)) {}

std::optional<WebhookEndpoint> WebhookPoster::due_endpoint(UtcMillis now) {
  auto endpoint = store_.webhooks.find(endpoint_);
  if (!endpoint || endpoint->state == WebhookState::disabled) return std::nullopt;
  const bool waits = endpoint->state == WebhookState::failing && now < endpoint->next_attempt_at &&
                     endpoint->next_attempt_at <= now + kLongestWaitMillis;
  return waits ? std::nullopt : std::move(endpoint);
}

/// An endpoint of a former epoch goes on at the beginning of the present one (HOOK-8). Events that the feed
/// does not have any more are passed.
store::FeedState WebhookPoster::enter_epoch(WebhookEndpoint& endpoint) {
  const store::FeedState feed = store_.feed.state();
  if (feed.epoch == 0) return feed;
  if (endpoint.epoch != feed.epoch) {
    endpoint.epoch = feed.epoch;
    endpoint.position = feed.first - 1;
    store_.webhooks.begin_epoch(endpoint);
  }
  if (endpoint.position < feed.oldest - 1) {
    add_line(LogEvent::webhook_events_lost, endpoint,
             fmt::format("{} events were deleted from the feed before they could be posted",
                         feed.oldest - 1 - endpoint.position));
    endpoint.position = feed.oldest - 1;
    store_.webhooks.begin_place(endpoint);
  }
  return feed;
}

/// A failing endpoint is tested by one event, or by a retry if no event waits.
void WebhookPoster::load(Batch& batch, std::size_t places) {
  const WebhookEndpoint& endpoint = batch.endpoint;
  const bool is_failing = endpoint.state == WebhookState::failing;
  std::vector<WebhookRetry> retries;
  if (!is_failing) retries = store_.webhooks.due_retries(endpoint.id, options_.clock(), places / 2);
  const store::FeedPage page =
      store_.feed.list(filter_of(endpoint), endpoint.position, is_failing ? 1 : places - retries.size());
  if (is_failing && page.events.empty() && !page.has_more) {
    if (auto retry = store_.webhooks.next_retry(endpoint.id)) retries.push_back(*retry);
  }
  for (const WebhookRetry& retry : store_.webhooks.list_retries(endpoint.id, endpoint.position, places))
    batch.repeated.insert(retry.seq);
  std::erase_if(retries, [&](const WebhookRetry& retry) {
    return std::any_of(page.events.begin(), page.events.end(),
                       [&](const store::FeedEvent& event) { return event.seq == retry.seq; });
  });
  std::vector<std::int64_t> seqs;
  for (const WebhookRetry& retry : retries) seqs.push_back(retry.seq);
  std::map<std::int64_t, store::FeedEvent> of_retries;
  if (!seqs.empty())
    for (store::FeedEvent& event : store_.feed.find(seqs)) of_retries.emplace(event.seq, std::move(event));
  for (const WebhookRetry& retry : retries) {
    const auto event = of_retries.find(retry.seq);
    if (event == of_retries.end())
      batch.lost.push_back(retry.seq);
    else
      batch.jobs.push_back({event->second, retry});
  }
  std::vector<std::int64_t> first_attempts;
  for (const store::FeedEvent& event : page.events) {
    first_attempts.push_back(event.seq);
    batch.jobs.push_back({event});
  }
  batch.scanned = page.last;
  batch.has_more = page.has_more;
  batch.rules.emplace(sync::WebhookStanding{endpoint.state, endpoint.state_since, endpoint.failures},
                      endpoint.position, page.last, std::move(first_attempts));
  std::vector<TransactionId> ids;
  for (const Job& job : batch.jobs)
    if (to_word(job.event.type).starts_with("gift.")) ids.push_back({job.event.object});
  for (store::Gift& gift : store_.gifts.find(ids)) batch.gifts.emplace(gift.transaction.id, std::move(gift));
}

void WebhookPoster::connect(const std::string& url) {
  if (clients_.front() && url_ == url) return;
  url_ = url;
  for (auto& client : clients_) client = std::make_unique<WebhookClient>(url, options_.post);
}

/// The events of one gift have one connection, in their order.
void WebhookPoster::post_all(Batch& batch, const std::function<bool()>& keep_going) {
  std::array<std::vector<Job*>, kConnections> of_connection;
  for (Job& job : batch.jobs)
    of_connection[sync::connection_of(job.event.object, kConnections)].push_back(&job);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kConnections; ++i) {
    if (of_connection[i].empty()) continue;
    threads.emplace_back([this, &batch, &keep_going, jobs = of_connection[i], client = clients_[i].get()] {
      try {
        post_jobs(batch, jobs, *client, keep_going);
      } catch (const DependencyError&) {
        // Without the store no attempt begins. What was posted is saved if it is back by then; otherwise
        // saving fails.
      } catch (...) {
        const std::lock_guard lock(batch.mutex);
        batch.fault = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (batch.fault) std::rethrow_exception(batch.fault);
}

void WebhookPoster::post_jobs(Batch& batch, std::vector<Job*> jobs, WebhookClient& client,
                              const std::function<bool()>& keep_going) {
  const WebhookEndpoint& endpoint = batch.endpoint;
  for (Job* const job : jobs) {
    if (!keep_going() || !options_.may_post()) return;
    {
      const std::lock_guard lock(batch.mutex);
      if (!batch.rules->may_begin()) return;
    }
    if (!batch.is_current(store_, options_.refresh_millis)) return;
    const store::FeedEvent& event = job->event;
    const auto gift = batch.gift_of(store_, event, options_.refresh_millis);
    Posted posted = client.post(sync::feed_event_id(endpoint.epoch, event.seq),
                                event_body(endpoint.epoch, event, gift ? &*gift : nullptr), batch.secrets,
                                options_.clock(), keep_going);
    if (posted.response.status == 0 && !keep_going()) return;  // a stop is no fault of the receiver
    const WebhookOutcome outcome = sync::outcome_of(posted.response);
    const std::lock_guard lock(batch.mutex);
    if (job->retry)
      batch.rules->add_retry(outcome);
    else
      batch.rules->add(event.seq, outcome);
    if (outcome != WebhookOutcome::accepted) batch.last_failure = posted;
    job->posted = std::move(posted);
  }
}

bool WebhookPoster::save(Batch& batch) {
  const UtcMillis now = options_.clock();
  const WebhookEndpoint& before = batch.endpoint;
  const sync::WebhookBatch& rules = *batch.rules;
  const sync::WebhookStanding standing = rules.standing(now);
  store::WebhookResults results{before, before};
  WebhookEndpoint& after = results.after;
  after.position = rules.position();
  after.state = standing.state;
  after.state_since = standing.state_since;
  after.failures = standing.failures;
  const bool has_tried = std::any_of(batch.jobs.begin(), batch.jobs.end(),
                                     [](const Job& job) { return job.posted.has_value(); });
  if (standing.state == WebhookState::active) {
    after.next_attempt_at = now;
    after.reason.clear();
  } else if (has_tried) {  // else events of other types were passed: the next one is due
    after.reason = visible_text(truncated(batch.last_failure.describe(), kReasonCodePoints));
    after.next_attempt_at = now + sync::failing_wait(standing.failures, batch.last_failure.response);
  }
  results.ended = batch.lost;
  const std::vector<std::int64_t> failed = rules.failed();
  const bool tests = before.state == WebhookState::failing && standing.state != WebhookState::active;
  for (const Job& job : batch.jobs) {
    if (!job.posted) continue;
    const sync::WebhookResponse& response = job.posted->response;
    const std::int64_t attempt = job.retry ? job.retry->attempt + 1 : 1;
    const bool is_accepted = sync::outcome_of(response) == WebhookOutcome::accepted;
    results.attempts.push_back({before.id, 0, job.event.seq, attempt, job.posted->started_at,
                                job.posted->millis, response.status, job.posted->error, job.posted->body,
                                !is_accepted});
    if (is_accepted && (job.retry || batch.repeated.contains(job.event.seq)))
      results.ended.push_back(job.event.seq);
    const bool is_row =
        job.retry ? !is_accepted && !tests : std::binary_search(failed.begin(), failed.end(), job.event.seq);
    if (!is_row) continue;
    const auto wait = sync::retry_wait(attempt, response, options_.random());
    results.retries.push_back({job.event.seq, attempt, wait ? std::optional(now + *wait) : std::nullopt});
    if (!wait)
      add_line(
          LogEvent::webhook_event_given_up, before,
          fmt::format("{} was refused {} times and is given up: {}",
                      sync::feed_event_id(before.epoch, job.event.seq), attempt, job.posted->describe()));
  }
  if (standing.state != before.state) {
    if (standing.state == WebhookState::active)
      add_line(LogEvent::webhook_recovered, before, "takes events again");
    if (standing.state == WebhookState::failing)
      add_line(LogEvent::webhook_failing, before, "takes no events: " + after.reason);
    if (standing.state == WebhookState::disabled) {
      results.audit = disabled_event(after, now);
      add_line(LogEvent::webhook_disabled, before, "is disabled: " + after.reason);
    }
  }
  const bool has_changed =
      after.position != before.position || !results.attempts.empty() || !batch.lost.empty();
  if (has_changed) store_.webhooks.save(results);
  return (batch.has_more || batch.is_outdated) && after.position != before.position &&
         (standing.state == WebhookState::active || !has_tried);
}

bool WebhookPoster::step(const std::function<bool()>& keep_going) {
  auto endpoint = due_endpoint(options_.clock());
  if (!endpoint || !options_.may_post()) return false;
  if (enter_epoch(*endpoint).epoch == 0) return false;
  Batch batch{std::move(*endpoint)};
  load(batch, batch_events_);
  if (!batch.jobs.empty()) {
    batch.secrets = signing_secrets(batch.endpoint, options_.unseal, options_.clock());
    if (batch.secrets.empty()) {
      add_line(LogEvent::webhook_secret_unreadable, batch.endpoint,
               "has a secret that this server's secret does not open");
      return false;
    }
    connect(batch.endpoint.url);
    post_all(batch, keep_going);
  }
  const bool has_more = save(batch);
  // A fast receiver would wait for the store between small batches; after a slow one a kill repeats few
  // events.
  const bool is_fast = has_more && !Batch::is_due(batch.loaded_at, options_.fast_millis);
  batch_events_ = is_fast ? std::min(batch_events_ * 2, kMaxBatchEvents) : kBatchEvents;
  return has_more;
}

void WebhookPoster::add_line(LogEvent event, const WebhookEndpoint& endpoint, const std::string& what) {
  lines_.push_back({event, fmt::format("webhook {} {}", endpoint.name, what)});
}

}  // namespace giftsync::webhooks
