#include "daemon/pages/visit_log.h"

#include <array>

#include "platform/logging.h"

namespace giftsync::pages {
namespace {

/// `count`: 0 for a single event.
void log(VisitLog::Event event, TransactionId gift, const std::string& client, std::size_t count) {
  const std::array<LogField, 3> fields{
      {{"gift", gift.value}, {"client", client}, {"more_in_a_minute", static_cast<std::int64_t>(count)}}};
  const auto shown = std::span(fields).first(count == 0 ? 2 : 3);
  if (event == VisitLog::Event::visit)
    log_info("gift page opened in a browser", shown);
  else
    log_warning("a decision posted from another site's page was refused", shown);
}

}  // namespace

VisitLog::~VisitLog() {
  for (const auto& one : windows_) log_suppressed(one);
}

void VisitLog::record(Event event, TransactionId gift, const std::string& client) {
  const UtcMillis now = clock_();
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
  log(event, gift, client, 0);
}

void VisitLog::flush() {
  const UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  std::erase_if(windows_, [now](const auto& one) {
    if (!has_elapsed(one.second.since, kMinuteMillis, now)) return false;
    log_suppressed(one);
    return true;
  });
}

void VisitLog::log_suppressed(const Windows::value_type& one) {
  const auto& [gift, event] = one.first;
  if (one.second.suppressed > 0) log(event, gift, one.second.last_client, one.second.suppressed);
}

}  // namespace giftsync::pages
