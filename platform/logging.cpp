#include "platform/logging.h"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "platform/json.h"
#include "platform/visible_text.h"

namespace giftsync {
namespace {

std::string_view text_of(spdlog::string_view_t view) {
  return {view.data(), view.size()};
}

void append(spdlog::memory_buf_t& buffer, std::string_view text) {
  buffer.append(text.data(), text.data() + text.size());
}

/// JOURNAL_STREAM holds device and inode of the journal's socket. Child processes inherit it even when their
/// standard error leads elsewhere, so it is compared with standard error (OPS-10).
bool is_journal(int descriptor) {
  const char* stream = ::getenv("JOURNAL_STREAM");
  struct stat found {};
  if (stream == nullptr || ::fstat(descriptor, &found) != 0) return false;
  return fmt::format("{}:{}", found.st_dev, found.st_ino) == stream;
}

/// The priority prefix that the journal strips from the line (sd-daemon(3)).
std::string_view priority_of(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::trace:
    case spdlog::level::debug:
      return "<7>";
    case spdlog::level::info:
      return "<6>";
    case spdlog::level::warn:
      return "<4>";
    default:
      return "<3>";
  }
}

/// The message and the fields of the line that this thread is logging. spdlog's sinks format in the thread
/// that logs.
struct FieldsInProgress {
  std::string_view message;
  std::span<const LogField> fields;
};
thread_local const FieldsInProgress* fields_in_progress = nullptr;

bool is_empty(const LogField& field) {
  if (const auto* text = std::get_if<std::string_view>(&field.value)) return text->empty();
  const auto* numbers = std::get_if<std::span<const std::int64_t>>(&field.value);
  return numbers != nullptr && numbers->empty();
}

std::string text_of(std::string_view message, std::span<const LogField> fields) {
  std::string line(message);
  for (const LogField& field : fields) {
    const auto add = [&](const auto& value) { line += fmt::format(" {}={}", field.name, value); };
    if (is_empty(field)) continue;
    if (const auto* numbers = std::get_if<std::span<const std::int64_t>>(&field.value))
      std::for_each(numbers->begin(), numbers->end(), add);
    else if (const auto* text = std::get_if<std::string_view>(&field.value))
      add(*text);
    else
      add(std::get<std::int64_t>(field.value));
  }
  return line;
}

void add_members(std::span<const LogField> fields, nlohmann::ordered_json& line) {
  for (const LogField& field : fields) {
    if (is_empty(field)) continue;
    nlohmann::ordered_json& member = line[std::string(field.name)];
    if (const auto* numbers = std::get_if<std::span<const std::int64_t>>(&field.value))
      member = std::vector<std::int64_t>(numbers->begin(), numbers->end());
    else if (const auto* text = std::get_if<std::string_view>(&field.value))
      member = *text;
    else
      member = std::get<std::int64_t>(field.value);
  }
}

constexpr const char* kTimePattern = "%Y-%m-%dT%H:%M:%S.%eZ";

/// "2026-11-21T12:31:07.042Z info  message"; in the journal without the time, which the journal adds. Or a
/// JSON object.
class LineFormatter : public spdlog::formatter {
 public:
  LineFormatter(bool json, bool in_journal)
      : json_(json),
        in_journal_(in_journal),
        begin_(json ? kTimePattern : std::string(in_journal ? "" : kTimePattern + std::string(" ")) + "%-7l ",
               spdlog::pattern_time_type::utc, "") {}
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& buffer) override {
    if (in_journal_) append(buffer, priority_of(message.level));
    spdlog::memory_buf_t begin;
    begin_.format(message, begin);
    const std::string start(begin.data(), begin.size());
    append(buffer,
           (json_ ? json_line(start, message) : start + visible_text(text_of(message.payload))) + "\n");
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<LineFormatter>(json_, in_journal_);
  }

 private:
  static std::string json_line(const std::string& time, const spdlog::details::log_msg& message) {
    const FieldsInProgress* with = fields_in_progress;
    nlohmann::ordered_json line{{"time", time},
                                {"level", text_of(spdlog::level::to_string_view(message.level))},
                                {"message", with ? with->message : text_of(message.payload)}};
    if (with) add_members(with->fields, line);
    return visible_json(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }

  const bool json_;
  const bool in_journal_;
  spdlog::pattern_formatter begin_;  ///< of the line; the time of a JSON object
};

void log_with(spdlog::level::level_enum level, std::string_view message, std::span<const LogField> fields) {
  if (!spdlog::should_log(level)) return;
  const std::string line = text_of(message, fields);
  const FieldsInProgress with{message, fields};
  fields_in_progress = &with;
  spdlog::log(level, "{}", line);  // does not throw: spdlog reports its own faults
  fields_in_progress = nullptr;
}

}  // namespace

void set_up_logging(const std::string& level, bool json) {
  constexpr const char* kName = "giftsyncd";
  // Other threads log during a reload: the logger stays, and its sink exchanges the formatter under a lock.
  if (spdlog::default_logger_raw()->name() != kName) {
    auto logger = std::make_shared<spdlog::logger>(kName, std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger->flush_on(spdlog::level::trace);
    spdlog::set_default_logger(logger);
  }
  spdlog::logger& logger = *spdlog::default_logger_raw();
  logger.set_formatter(std::make_unique<LineFormatter>(json, is_journal(STDERR_FILENO)));
  logger.set_level(spdlog::level::from_str(level));
}

void log_info(std::string_view message, std::span<const LogField> fields) {
  log_with(spdlog::level::info, message, fields);
}

void log_warning(std::string_view message, std::span<const LogField> fields) {
  log_with(spdlog::level::warn, message, fields);
}

void log_debug(std::string_view message, std::span<const LogField> fields) {
  log_with(spdlog::level::debug, message, fields);
}

namespace {

constexpr std::size_t kMaxKinds = 1'000;
constexpr std::size_t kMaxKindBytes = 300;

bool is_variable_part(char c) {
  return (c >= '0' && c <= '9') || c == '@';
}

/// Messages are of one kind when they differ only in numbers, ids and addresses: "gift *: its record was
/// deleted".
std::string message_kind(const std::string& message) {
  std::string kind;
  std::size_t at = 0;
  while (at < message.size() && kind.size() < kMaxKindBytes) {
    const std::size_t end = std::min(message.find(' ', at), message.size());
    const std::string_view word = std::string_view(message).substr(at, end - at);
    kind.append(std::any_of(word.begin(), word.end(), is_variable_part) ? "*" : word).append(" ");
    at = end + 1;
  }
  return kind;
}

}  // namespace

bool SuppressionWindow::admit(const std::string& line, std::size_t limit) {
  if (logged < limit) {
    ++logged;
    return true;
  }
  ++suppressed;
  last_suppressed = line;
  return false;
}

std::vector<std::string> LogThrottle::lines_to_log(const std::vector<std::string>& messages, UtcMillis now) {
  std::vector<std::string> lines;
  for (auto one = kinds_.begin(); one != kinds_.end();) {
    const SuppressionWindow& kind = one->second;
    const bool is_past = has_elapsed(kind.since, kHourMillis, now);
    if (is_past && kind.suppressed > 0)
      lines.push_back(fmt::format("{} similar messages suppressed within an hour, the last one: {}",
                                  kind.suppressed, kind.last_suppressed));
    one = is_past ? kinds_.erase(one) : std::next(one);
  }
  for (const std::string& message : messages) {
    std::string name = message_kind(message);
    if (kinds_.size() >= kMaxKinds && !kinds_.contains(name)) name.clear();  // one kind for all the rest
    const auto [at, is_new] = kinds_.try_emplace(std::move(name));
    SuppressionWindow& kind = at->second;
    if (is_new) kind.since = now;
    if (!kind.admit(message, kMaxLinesPerKind)) continue;
    lines.push_back(kind.logged < kMaxLinesPerKind ? message
                                                   : message + " (similar messages suppressed for 1 h)");
  }
  return lines;
}

}  // namespace giftsync
