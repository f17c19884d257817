// platform: the log on standard error (captured by the journal), one line per event: text for people or JSON
// for collectors. Control characters in values are escaped, so a logged value cannot forge a line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace giftsync::platform {

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

}  // namespace giftsync::platform
