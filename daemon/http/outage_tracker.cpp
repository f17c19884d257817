#include "daemon/http/outage_tracker.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace giftsync::daemon::http {
namespace {

constexpr std::int64_t kUnreadyAfterFailureMillis = 3'000;

}  // namespace

bool OutageTracker::record_failure() {
  const platform::UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  end_if_over(now);  // an error long after it belongs to another outage
  last_failure_ = now;
  succeeding_since_.reset();
  ++failures_;
  return !is_ongoing_.exchange(true);
}

void OutageTracker::record_success() {
  if (!is_ongoing_) return;
  const platform::UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  if (!succeeding_since_ || now < *succeeding_since_)
    succeeding_since_ = now;  // also after the clock was set back
  end_if_over(now);
}

void OutageTracker::log_if_over() {
  if (!is_ongoing_) return;
  const platform::UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  end_if_over(now);
}

bool OutageTracker::failed_recently() const {
  if (!is_ongoing_) return false;
  const platform::UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  return is_ongoing_ && !succeeding_since_ && now.value - last_failure_.value < kUnreadyAfterFailureMillis;
}

void OutageTracker::end_if_over(platform::UtcMillis now) {
  if (!is_ongoing_ || !succeeding_since_ || now.value - succeeding_since_->value < kRecoveryMillis) return;
  spdlog::info("store recovered; {} requests failed during the outage", std::exchange(failures_, 0));
  succeeding_since_.reset();
  is_ongoing_ = false;
}

}  // namespace giftsync::daemon::http
