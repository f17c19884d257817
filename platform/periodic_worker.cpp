#include "platform/periodic_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "platform/dependency_error.h"
#include "platform/logging.h"
#include "platform/text.h"

namespace giftsync {
namespace {

constexpr std::int64_t kMaxBackoffMillis = 5000;
/// Of one fault in the log.
constexpr std::size_t kMaxReasons = 20;
/// A worker that yields rests this many times as long as it worked, so its backlog still shrinks (ARCH-28).
constexpr std::int64_t kPausePerWork = 19;
constexpr std::int64_t kMaxPauseMillis = 1000;

std::int64_t steady_millis() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

PeriodicWorker::PeriodicWorker(Options options)
    : options_(std::move(options)), last_heartbeat_millis_(steady_millis()), thread_([this] { run(); }) {}

PeriodicWorker::~PeriodicWorker() {
  finish();
}

void PeriodicWorker::finish() {
  request_stop();
  if (thread_.joinable()) thread_.join();
}

void PeriodicWorker::request_stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_requested_ = true;
  }
  state_changed_.notify_one();
}

void PeriodicWorker::wake() {
  {
    const std::lock_guard lock(mutex_);
    if (wake_requested_) return;  // thousands of requests per second call wake() on a resting worker
    wake_requested_ = true;
  }
  state_changed_.notify_one();
}

bool PeriodicWorker::heartbeat_and_should_run() {
  last_heartbeat_millis_ = steady_millis();
  const std::lock_guard lock(mutex_);
  return !stop_requested_;
}

std::int64_t PeriodicWorker::millis_since_heartbeat() const {
  return steady_millis() - last_heartbeat_millis_;
}

bool PeriodicWorker::run_step() {
  try {
    if (consecutive_failures_ > 0) options_.before_retry();
    const bool more = options_.step(*this);
    if (consecutive_failures_ > 0)
      log_event(LogEvent::worker_recovered,
                fmt::format("{}: recovered after {} failed attempts", options_.name, consecutive_failures_));
    consecutive_failures_ = 0;
    logged_reasons_.clear();
    return more;
  } catch (const DependencyError& error) {
    ++consecutive_failures_;
    log_fault(error.what());
    return false;
  }
}

/// An outage may end in another fault: an old primary instead of no server.
void PeriodicWorker::log_fault(const std::string& reason) {
  if (logged_reasons_.size() >= kMaxReasons || !logged_reasons_.insert(without_digits(reason)).second) return;
  log_event(LogEvent::worker_failing,
            fmt::format("{}: {}; retrying until it succeeds", options_.name, reason));
}

/// A wake-up does not end it.
void PeriodicWorker::pause(std::int64_t millis) {
  std::unique_lock lock(mutex_);
  state_changed_.wait_for(lock, std::chrono::milliseconds(millis), [this] { return stop_requested_; });
}

void PeriodicWorker::run() {
  name_thread(options_.name);
  while (heartbeat_and_should_run()) {
    const std::int64_t started_at = steady_millis();
    const bool more = run_step();
    if (options_.should_yield())
      pause(std::min(kPausePerWork * (steady_millis() - started_at) + 1, kMaxPauseMillis));
    if (more) continue;
    const std::int64_t backoff = std::min(
        options_.interval_millis << std::min<std::int64_t>(consecutive_failures_, 8), kMaxBackoffMillis);
    const std::int64_t delay = consecutive_failures_ > 0 ? backoff : options_.interval_millis;
    std::unique_lock lock(mutex_);
    state_changed_.wait_for(lock, std::chrono::milliseconds(delay), [this] {
      return stop_requested_ || (wake_requested_ && consecutive_failures_ == 0);
    });
    wake_requested_ = false;
  }
}

std::int64_t longest_since_heartbeat(std::span<const std::unique_ptr<PeriodicWorker>> workers) {
  std::int64_t longest = 0;
  for (const auto& worker : workers)
    if (worker) longest = std::max(longest, worker->millis_since_heartbeat());
  return longest;
}

}  // namespace giftsync
