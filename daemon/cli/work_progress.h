// daemon/cli: how far work of a known size has come, with its rate and the time that is left: a bar on a
// terminal, a plain line every ten seconds elsewhere, nothing for work that is done sooner.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/cli/console.h"

namespace giftsync::daemon {

class WorkProgress {
 public:
  static constexpr std::int64_t kRedrawMillis = 200;
  static constexpr std::int64_t kNoteMillis = 10'000;

  /// `what` are the things that are counted: "gifts". `console` must outlive this.
  WorkProgress(const Console& console, std::string what, std::int64_t total, std::int64_t done_before);
  ~WorkProgress();
  WorkProgress(const WorkProgress&) = delete;
  WorkProgress& operator=(const WorkProgress&) = delete;

  void at(std::int64_t done);
  /// Takes the bar away, so that something else can be said.
  void clear();

 private:
  /// "3400 gifts/s, 2 min 5 s left"
  std::string pace(std::int64_t done, std::int64_t elapsed_millis) const;

  const Console& console_;
  const std::string what_;
  const std::int64_t total_;
  const std::int64_t done_before_;
  const schema::UtcMillis begun_;
  schema::UtcMillis shown_;
  bool visible_ = false;
};

/// "2 h 3 min", "4 min 5 s", "6 s".
std::string duration_text(std::int64_t millis);

}  // namespace giftsync::daemon
