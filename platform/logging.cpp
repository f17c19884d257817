#include "platform/logging.h"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

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

/// The line that this thread is logging, in its parts. spdlog's sinks format in the thread that logs.
struct LineInProgress {
  const LogEventKind* kind;  ///< null at level debug
  std::string_view message;
  std::span<const LogField> fields;
};
thread_local const LineInProgress* line_in_progress = nullptr;

/// Calls `take` with each value of the field, a text or a number; with none if it is left out.
template <class Take>
void for_each_value(const LogField& field, const Take& take) {
  if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&field.value))
    std::for_each(numbers->begin(), numbers->end(), take);
  else if (const auto* text = std::get_if<std::string>(&field.value))
    text->empty() ? void() : take(std::string_view(*text));
  else
    take(std::get<std::int64_t>(field.value));
}

std::string text_of(std::string_view message, std::span<const LogField> fields) {
  std::string line(message);
  for (const LogField& field : fields) {
    if (!field.is_shown_in_text) continue;
    for_each_value(field, [&](const auto& value) { line += fmt::format(" {}={}", field.name, value); });
  }
  return line;
}

void add_members(std::span<const LogField> fields, nlohmann::ordered_json& line) {
  for (const LogField& field : fields) {
    const bool is_list = std::holds_alternative<std::vector<std::int64_t>>(field.value);
    for_each_value(field, [&](const auto& value) {
      nlohmann::ordered_json& member = line[std::string(field.name)];
      if (is_list)
        member.push_back(value);
      else
        member = value;
    });
  }
}

/// The journal's names are those of its users' searches: a gift is a recipient transaction of a gift request.
std::string journal_name(std::string_view field) {
  if (field == "gift") return "TRANSACTION";
  if (field == "request") return "GIFT_REQUEST";
  std::string name(field);
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
  return name;
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
    const LineInProgress* parts = line_in_progress;
    nlohmann::ordered_json line{{"time", time},
                                {"level", text_of(spdlog::level::to_string_view(message.level))},
                                {"message", parts ? parts->message : text_of(message.payload)}};
    if (parts) add_members(parts->fields, line);
    return visible_json(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }

  const bool json_;
  const bool in_journal_;
  spdlog::pattern_formatter begin_;  ///< of the line; the time of a JSON object
};

/// Lines for the journal: with their fields by its own protocol, or else as standard error has them. What
/// neither takes at once is counted, so that no line is waited for (OPS-10).
class JournalSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit JournalSink(const std::string& path) : socket_(path) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string line = formatted(message);
    if (socket_.send(with_fields(line))) {
      report_lost();
      return;
    }
    ssize_t printed = ::send(STDERR_FILENO, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (printed < 0 && errno == ENOTSOCK) printed = ::write(STDERR_FILENO, line.data(), line.size());
    if (printed != static_cast<ssize_t>(line.size())) ++lost_;
  }
  void flush_() override {}

 private:
  /// "<6>info    made gift=3\n"
  std::string formatted(const spdlog::details::log_msg& message) {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    return {line.data(), line.size()};
  }

  static std::string with_fields(std::string_view line) {
    constexpr std::size_t kPriorityBytes = 3;
    std::string message;
    append_journal_field(message, "MESSAGE", line.substr(kPriorityBytes, line.size() - kPriorityBytes - 1));
    append_journal_field(message, "PRIORITY", line.substr(1, 1));
    append_journal_field(message, "SYSLOG_IDENTIFIER", program_invocation_short_name);
    const LineInProgress* parts = line_in_progress;
    if (parts == nullptr) return message;
    if (parts->kind != nullptr) append_journal_field(message, "MESSAGE_ID", parts->kind->id);
    for (const LogField& field : parts->fields)
      for_each_value(field, [&](const auto& value) {
        append_journal_field(message, journal_name(field.name), fmt::format("{}", value));
      });
    return message;
  }

  void report_lost() {
    if (lost_ == 0) return;
    const std::string text = fmt::format(
        "{} earlier lines of the log were lost: neither the journal nor standard error took them", lost_);
    const LineInProgress parts{&kind_of(LogEvent::log_lines_lost), text, {}};
    const LineInProgress* const current = std::exchange(line_in_progress, &parts);
    if (socket_.send(with_fields(formatted({"", spdlog::level::warn, text})))) lost_ = 0;
    line_in_progress = current;
  }

  JournalSocket socket_;
  std::size_t lost_ = 0;  ///< since the last line that says so
};

void log_with(spdlog::level::level_enum level, const LineInProgress& parts) {
  if (!spdlog::should_log(level)) return;
  const std::string line = text_of(parts.message, parts.fields);
  line_in_progress = &parts;
  spdlog::log(level, "{}", line);  // does not throw: spdlog reports its own faults
  line_in_progress = nullptr;
}

spdlog::level::level_enum level_of(const LogEventKind& kind) {
  switch (kind.level) {
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  std::abort();  // a value outside the enumeration: a bug
}

}  // namespace

void set_up_logging(const std::string& level, bool json, const std::string& journal) {
  constexpr const char* kName = "giftsyncd";
  const bool in_journal = is_journal(STDERR_FILENO);
  // Other threads log during a reload: the logger stays, and its sink exchanges the formatter under a lock.
  if (spdlog::default_logger_raw()->name() != kName) {
    spdlog::sink_ptr sink;
    if (in_journal)
      sink = std::make_shared<JournalSink>(journal);
    else
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    auto logger = std::make_shared<spdlog::logger>(kName, std::move(sink));
    logger->flush_on(spdlog::level::trace);
    spdlog::set_default_logger(logger);
  }
  spdlog::logger& logger = *spdlog::default_logger_raw();
  logger.set_formatter(std::make_unique<LineFormatter>(json, in_journal));
  logger.set_level(spdlog::level::from_str(level));
}

void log_event(LogEvent event, std::string_view message, std::span<const LogField> fields) {
  const LogEventKind& kind = kind_of(event);
  assert(missing_field(kind, fields).empty());  // a bug; the tests' builds end here (OPS-47)
  log_with(level_of(kind), {&kind, message, fields});
}

void log_debug(std::string_view message, std::span<const LogField> fields) {
  log_with(spdlog::level::debug, {nullptr, message, fields});
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

bool SuppressionWindow::admit(const LogLine& line, std::size_t limit) {
  if (logged < limit) {
    ++logged;
    return true;
  }
  ++suppressed;
  last_suppressed = line;
  return false;
}

std::vector<LogLine> LogThrottle::lines_to_log(const std::vector<LogLine>& lines, UtcMillis now) {
  std::vector<LogLine> to_log;
  for (auto one = kinds_.begin(); one != kinds_.end();) {
    const SuppressionWindow& kind = one->second;
    const bool is_past = has_elapsed(kind.since, kHourMillis, now);
    if (is_past && kind.suppressed > 0) {
      LogLine& last = to_log.emplace_back(*kind.last_suppressed);
      last.message = fmt::format("{} similar messages suppressed within an hour, the last one: {}",
                                 kind.suppressed, last.message);
    }
    one = is_past ? kinds_.erase(one) : std::next(one);
  }
  for (const LogLine& line : lines) {
    std::string name = message_kind(line.message);
    if (kinds_.size() >= kMaxKinds && !kinds_.contains(name)) name.clear();  // one kind for all the rest
    const auto [at, is_new] = kinds_.try_emplace(std::move(name));
    SuppressionWindow& kind = at->second;
    if (is_new) kind.since = now;
    if (!kind.admit(line, kMaxLinesPerKind)) continue;
    to_log.push_back(line);
    if (kind.logged == kMaxLinesPerKind) to_log.back().message += " (similar messages suppressed for 1 h)";
  }
  return to_log;
}

}  // namespace giftsync
