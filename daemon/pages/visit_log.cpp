#include "daemon/pages/visit_log.h"

#include <spdlog/spdlog.h>

namespace giftsync::daemon::pages {
namespace {

spdlog::level::level_enum level_of(VisitLog::Event event) {
  return event == VisitLog::Event::visit ? spdlog::level::info : spdlog::level::warn;
}

const char* text_of(VisitLog::Event event) {
  return event == VisitLog::Event::visit ? "its page was opened in a browser"
                                         : "refused a decision posted from another site's page";
}

}  // namespace

VisitLog::~VisitLog() {
  for (const auto& one : windows_) log_suppressed(one);
}

void VisitLog::record(Event event, schema::TransactionId gift, const std::string& client) {
  const platform::UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  if (windows_.size() >= kMaxGifts && !windows_.contains({gift, event})) {
    for (const auto& one : windows_) log_suppressed(one);
    windows_.clear();
  }
  const auto [window, is_new] = windows_.try_emplace({gift, event}, Window{now, 0, {}});
  if (!is_new) {
    ++window->second.suppressed;
    window->second.last_client = client;
    return;
  }
  spdlog::log(level_of(event), "gift {}: {}, from {}", gift.value, text_of(event), client);
}

void VisitLog::flush() {
  const platform::UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  std::erase_if(windows_, [now](const auto& one) {
    if (!platform::has_elapsed(one.second.since, platform::kMinuteMillis, now)) return false;
    log_suppressed(one);
    return true;
  });
}

void VisitLog::log_suppressed(const Windows::value_type& one) {
  const auto& [gift, event] = one.first;
  if (one.second.suppressed == 0) return;
  spdlog::log(level_of(event), "gift {}: {}, {} more times in a minute, last from {}", gift.value,
              text_of(event), one.second.suppressed, one.second.last_client);
}

}  // namespace giftsync::daemon::pages
