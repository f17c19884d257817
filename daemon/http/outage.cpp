#include "daemon/http/outage.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace giftsync::daemon {
namespace {

constexpr std::int64_t kUnreadyAfterFaultMillis = 3'000;

}  // namespace

bool Outage::note_fault() {
  const schema::UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  tell_if_over(now);  // a fault long after it is another outage
  last_fault_ = now;
  answered_since_.reset();
  ++faults_;
  return !is_on_.exchange(true);
}

void Outage::note_answer() {
  if (!is_on_) return;
  const schema::UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  if (!answered_since_ || now < *answered_since_) answered_since_ = now;  // or a clock that was set back
  tell_if_over(now);
}

void Outage::catch_up() {
  if (!is_on_) return;
  const schema::UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  tell_if_over(now);
}

bool Outage::failed_lately() const {
  if (!is_on_) return false;
  const schema::UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  return is_on_ && !answered_since_ && now.value - last_fault_.value < kUnreadyAfterFaultMillis;
}

void Outage::tell_if_over(schema::UtcMillis now) {
  if (!is_on_ || !answered_since_ || now.value - answered_since_->value < kCalmMillis) return;
  spdlog::info("requests are answered again, after {} failed ones", std::exchange(faults_, 0));
  answered_since_.reset();
  is_on_ = false;
}

}  // namespace giftsync::daemon
