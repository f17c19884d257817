// platform: the log on standard error, one line per event: text for people or JSON for collectors. Where
// standard error is systemd's journal, lines go there with their fields instead (OPS-10). Control characters
// in values are escaped, so a logged value cannot forge a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/journal_socket.h"
#include "platform/log_line.h"
#include "platform/time.h"

namespace giftsync {

/// Makes spdlog's default logger. Call before the first thread starts; later calls, on any thread, change it.
/// `level`: debug, info, warning or error; `json`: one JSON object per line instead of text, also as the
/// journal's MESSAGE. `journal`: where the journal's socket is.
void set_up_logging(const std::string& level, bool json, const std::string& journal = kJournalSocket);

/// Logs at the level of the event's kind, unless that is off. Any thread.
void log_event(LogEvent event, std::string_view message, std::span<const LogField> fields);
inline void log_event(LogEvent event, std::string_view message, std::initializer_list<LogField> fields = {}) {
  log_event(event, message, std::span(fields.begin(), fields.size()));
}
inline void log_event(const LogLine& line) {
  log_event(line.event, line.message, line.fields);
}

/// At level debug, for a search for a fault: of no kind.
void log_debug(std::string_view message, std::span<const LogField> fields);
inline void log_debug(std::string_view message, std::initializer_list<LogField> fields = {}) {
  log_debug(message, std::span(fields.begin(), fields.size()));
}

// Keeps a worker's messages from flooding the log when the same thing happens to thousands of
// gifts. The first messages of a kind are logged, further ones are counted, and the count is logged once an
// hour (OPS-14). One thread.

/// The lines of one kind within a time window. The first ones are logged, the others are counted.
struct SuppressionWindow {
  UtcMillis since;
  std::size_t logged = 0;
  std::size_t suppressed = 0;
  std::optional<LogLine> last_suppressed;

  /// True: log `line`, it is one of the first `limit`. False: it is suppressed.
  bool admit(const LogLine& line, std::size_t limit);
};

class LogThrottle {
 public:
  /// Messages of one kind that are logged per hour.
  static constexpr std::size_t kMaxLinesPerKind = 20;

  /// Returns the lines to log now: those of `lines` that are not suppressed, and the counts that are due.
  /// Call it from time to time without lines as well.
  std::vector<LogLine> lines_to_log(const std::vector<LogLine>& lines, UtcMillis now);

 private:
  std::map<std::string, SuppressionWindow> kinds_;
};

}  // namespace giftsync
