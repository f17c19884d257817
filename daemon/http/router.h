// daemon/http: dispatches a request by path and method to its handler (table in routes.cpp). The last place
// where a DependencyError becomes a response (503 with Retry-After, or 500). Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/http/http_message.h"
#include "daemon/http/refusal_log.h"
#include "daemon/http/routes.h"
#include "platform/clock.h"
#include "platform/dependency_error.h"

namespace giftsync::http {

// Tracks failures of the store (disk full, unreachable): one log line when requests begin to
// fail and one when the outage is over, however failures and successes alternate in between (OPS-13). Any
// thread.

class OutageTracker {
 public:
  /// An outage is over once requests have succeeded for this long and none has failed. One second longer than
  /// kRetrySeconds: by then refused callers have retried, so the success was tested and is not just silence.
  static constexpr std::int64_t kRecoveryMillis = 6'000;
  /// The Retry-After of failed requests.
  static constexpr std::int64_t kRetrySeconds = 5;
  static_assert(kRecoveryMillis > kRetrySeconds * 1'000);

  explicit OutageTracker(giftsync::Clock clock) : clock_(std::move(clock)) {}

  /// Records a failed request. True: an outage begins with it, which the caller logs.
  bool record_failure();
  /// Records a successful request that used the store.
  void record_success();
  /// Logs an outage that is over, also without requests; called every few seconds.
  void log_if_over();
  /// True while requests fail. A store that accepts a probe's few bytes may still fail on a gift request.
  bool failed_recently() const;

 private:
  /// Under mutex_.
  void end_if_over(UtcMillis now);

  const giftsync::Clock clock_;
  std::atomic<bool> is_ongoing_{false};  ///< changed under mutex_
  mutable std::mutex mutex_;
  std::int64_t failures_ = 0;                  // guarded by mutex_, like all that follow
  UtcMillis last_failure_;                     ///< of the current outage
  std::optional<UtcMillis> succeeding_since_;  ///< the first success after the last failure
};

// Asks whether the store is ready, one caller at a time: a check may hang, and the others must
// not hang with it (HTTP-13). Any thread.

class ReadinessCheck {
 public:
  /// Whether the store responds and accepts a write. May throw DependencyError.
  using Ready = std::function<bool()>;
  /// A check that takes longer says that the store is not ready.
  static constexpr std::int64_t kMaxCheckMillis = 10'000;

  ReadinessCheck(Ready ready, giftsync::Clock clock) : ready_(std::move(ready)), clock_(std::move(clock)) {}

  /// Checks, or while another caller does, answers with the last result.
  bool is_ready() {
    {
      const std::lock_guard lock(mutex_);
      if (running_since_) return was_ready_ && clock_().value - running_since_->value < kMaxCheckMillis;
      running_since_ = clock_();
    }
    const bool ready = check();
    const std::lock_guard lock(mutex_);
    running_since_.reset();
    was_ready_ = ready;
    return ready;
  }

 private:
  bool check() const {
    try {
      return ready_();
    } catch (const DependencyError&) {
      return false;  // the response of the probe reports it; requests and workers log it
    }
  }

  const Ready ready_;
  const giftsync::Clock clock_;
  std::mutex mutex_;
  std::optional<UtcMillis> running_since_;  // guarded by mutex_, like all that follow
  bool was_ready_ = true;                   ///< a daemon starts with a store that it has opened
};

/// Which of the two URLs a listener serves; base_url and admin_url may have different listeners (HTTP-12).
struct ListenerScope {
  bool base = true;
  bool admin = true;
};

class Router {
 public:
  using Ready = ReadinessCheck::Ready;
  /// `handlers`: without those of the probes. `instance_id`: what /-/ready tells of the daemon, so that
  /// giftsyncctl knows it from another program at its address (OPS-26).
  Router(Handlers handlers, Ready ready, std::string instance_id, HttpRefusalLog& log,
         const giftsync::Clock& clock);
  /// Further lines of what /-/ready answers while the service is ready, each with its line end. Before the
  /// first request.
  void set_ready_detail(std::function<std::string()> detail) { ready_detail_ = std::move(detail); }
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  /// Never throws. The request must live until the reply's response is made.
  Reply handle(ListenerScope scope, const HttpRequest& request) noexcept;
  /// By path, method and the form of the credential; whether it is valid, the handler says. Pure.
  RequestPlan plan(ListenerScope scope, const HttpRequest& head) const;
  /// Logs an outage that is over; called every few seconds.
  void log_outage_end() { outage_.log_if_over(); }

 private:
  HttpResponse readiness();
  struct Call;
  /// Makes the response, or that of its failure, and logs it.
  HttpResponse conclude(const Call& call, const Reply::Finish& finish) noexcept;
  HttpResponse finish_or_fail(const Call& call, const Reply::Finish& finish);
  /// Sets the call's name in the log.
  Reply route(Call& call, ListenerScope scope);
  bool has_credential(const HttpRequest& head, const RouteMatch& match) const;
  HttpResponse failure_response(const HttpRequest& request, std::string_view log_name, bool transient,
                                const char* what);

  Handlers handlers_;
  ReadinessCheck readiness_;
  const std::string instance_line_;
  std::function<std::string()> ready_detail_;
  HttpRefusalLog& log_;
  OutageTracker outage_;
};

}  // namespace giftsync::http
