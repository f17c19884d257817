// platform: the log on standard error (captured by the journal), one line per event: text for people or JSON
// for collectors. Control characters in values are escaped, so a logged value cannot forge a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "platform/time.h"

namespace giftsync {

/// Makes spdlog's default logger. Call before the first thread starts; later calls, on any thread, change it.
/// `level`: debug, info, warning or error; `json`: one JSON object per line instead of text.
void set_up_logging(const std::string& level, bool json);

/// A value of a log line that programs look for: `name=value` after the message in text, a member of its own
/// in JSON. Each number of a list is `name=value` in text; in JSON they are an array.
struct LogField {
  std::string_view name;
  std::variant<std::int64_t, std::string_view, std::span<const std::int64_t>> value;
};

/// Each logs at its level, unless that is off. Empty texts and lists are left out. Any thread.
void log_info(std::string_view message, std::span<const LogField> fields);
void log_warning(std::string_view message, std::span<const LogField> fields);
void log_debug(std::string_view message, std::span<const LogField> fields);

// Keeps a worker's messages from flooding the log when the same thing happens to thousands of
// gifts. The first messages of a kind are logged, further ones are counted, and the count is logged once an
// hour (OPS-14). One thread.

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

}  // namespace giftsync
