#include "daemon/logging.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

namespace giftsync::daemon {
namespace {

std::string_view text_of(spdlog::string_view_t view) {
  return {view.data(), view.size()};
}

void append(spdlog::memory_buf_t& buffer, std::string_view text) {
  buffer.append(text.data(), text.data() + text.size());
}

/// The message with control characters as \n, \x1b...: one event stays one line.
std::string on_one_line(std::string_view message) {
  std::string line;
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      line += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr std::string_view kHex = "0123456789abcdef";
      line += "\\x";
      line += kHex[byte >> 4];
      line += kHex[byte & 15];
    } else {
      line += c;
    }
  }
  return line;
}

/// "2026-11-21T12:31:07.042Z info  message"; under systemd without the time, which the journal has.
class TextFormatter : public spdlog::formatter {
 public:
  explicit TextFormatter(bool with_time)
      : with_time_(with_time),
        time_(with_time ? "%Y-%m-%dT%H:%M:%S.%eZ %-7l " : "%-7l ", spdlog::pattern_time_type::utc, "") {}
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& buffer) override {
    time_.format(message, buffer);
    append(buffer, on_one_line(text_of(message.payload)) + "\n");
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<TextFormatter>(with_time_);
  }

 private:
  const bool with_time_;
  spdlog::pattern_formatter time_;
};

class JsonFormatter : public spdlog::formatter {
 public:
  JsonFormatter() : time_("%Y-%m-%dT%H:%M:%S.%eZ", spdlog::pattern_time_type::utc, "") {}
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& buffer) override {
    spdlog::memory_buf_t time;
    time_.format(message, time);
    const nlohmann::ordered_json line{
        {"time", std::string(time.data(), time.size())},
        {"level", std::string(text_of(spdlog::level::to_string_view(message.level)))},
        {"message", std::string(text_of(message.payload))}};
    append(buffer, line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<JsonFormatter>(); }

 private:
  spdlog::pattern_formatter time_;
};

}  // namespace

void set_up_logging(const LogSettings& settings) {
  auto logger =
      std::make_shared<spdlog::logger>("giftsyncd", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  const bool in_journal = ::getenv("JOURNAL_STREAM") != nullptr;
  if (settings.json) {
    logger->set_formatter(std::make_unique<JsonFormatter>());
  } else {
    logger->set_formatter(std::make_unique<TextFormatter>(!in_journal));
  }
  logger->set_level(spdlog::level::from_str(settings.level));
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(logger);
}

}  // namespace giftsync::daemon
