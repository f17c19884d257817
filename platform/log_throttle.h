// platform: keeps a worker's messages from flooding the log when the same thing happens to thousands of
// gifts. The first messages of a kind are logged, further ones are counted, and the count is logged once an
// hour (OPS-14). One thread.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "platform/time.h"

namespace giftsync::platform {

/// The lines of one kind within a time window. The first ones are logged, the others are counted.
struct SuppressionWindow {
  UtcMillis since;
  std::size_t logged = 0;
  std::size_t suppressed = 0;
  std::string last_suppressed;

  /// True: log `line`, it is one of the first `limit`. False: it is suppressed.
  bool admit(const std::string& line, std::size_t limit);
};

class LogThrottle {
 public:
  /// Messages of one kind that are logged per hour.
  static constexpr std::size_t kMaxLinesPerKind = 20;

  /// Returns the lines to log now: those of `messages` that are not suppressed, and the counts that are due.
  /// Call it from time to time without messages as well.
  std::vector<std::string> lines_to_log(const std::vector<std::string>& messages, UtcMillis now);

 private:
  std::map<std::string, SuppressionWindow> kinds_;
};

}  // namespace giftsync::platform
