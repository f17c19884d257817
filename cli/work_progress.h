// cli: the progress of work of a known size, with rate and remaining time: a bar on a terminal, a line every
// ten seconds elsewhere, nothing for shorter work.
#pragma once

#include <cstdint>
#include <string>

#include "cli/console.h"

namespace giftsync::cli {

class WorkProgress {
 public:
  static constexpr std::int64_t kRedrawMillis = 200;
  static constexpr std::int64_t kMessageMillis = 10'000;

  /// `what` is counted: "gifts". `console` must outlive this.
  WorkProgress(const Console& console, std::string what, std::int64_t total, std::int64_t done_before);
  ~WorkProgress();
  WorkProgress(const WorkProgress&) = delete;
  WorkProgress& operator=(const WorkProgress&) = delete;

  void update(std::int64_t done);
  /// Removes the bar, so that other output can follow.
  void clear();

 private:
  /// "3400 gifts/s, 2 min 5 s left"
  std::string rate_text(std::int64_t done, std::int64_t elapsed_millis) const;

  const Console& console_;
  const std::string what_;
  const std::int64_t total_;
  const std::int64_t done_before_;
  const platform::UtcMillis started_at_;
  platform::UtcMillis last_shown_at_;
  bool visible_ = false;
};

/// "2 h 3 min", "4 min 5 s", "6 s".
std::string duration_text(std::int64_t millis);

}  // namespace giftsync::cli
