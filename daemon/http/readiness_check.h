// daemon/http: asks whether the store is ready, one caller at a time: a check may hang, and the others must
// not hang with it (HTTP-13). Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "platform/clock.h"
#include "platform/dependency_error.h"

namespace giftsync::daemon::http {

class ReadinessCheck {
 public:
  /// Whether the store responds and accepts a write. May throw platform::DependencyError.
  using Ready = std::function<bool()>;
  /// A check that takes longer says that the store is not ready.
  static constexpr std::int64_t kMaxCheckMillis = 10'000;

  ReadinessCheck(Ready ready, platform::Clock clock) : ready_(std::move(ready)), clock_(std::move(clock)) {}

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
    } catch (const platform::DependencyError&) {
      return false;  // the response of the probe reports it; requests and workers log it
    }
  }

  const Ready ready_;
  const platform::Clock clock_;
  std::mutex mutex_;
  std::optional<platform::UtcMillis> running_since_;  // guarded by mutex_, like all that follow
  bool was_ready_ = true;                             ///< a daemon starts with a store that it has opened
};

}  // namespace giftsync::daemon::http
