#include "daemon/sources/poll_wait.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "daemon/sources/poll_position.h"

namespace giftsync::daemon {
namespace {

/// What a feed may ask for with Retry-After.
constexpr std::int64_t kLongestRetryAfterMillis = schema::kDayMillis;

std::int64_t longest_back_off_millis(std::int64_t interval_millis) {
  return std::max(interval_millis, schema::kHourMillis);
}

/// Of those that a poll that stands so can have been told.
std::int64_t longest_wait_millis(const SourcePlan& plan, const schema::SourceWait& wait) {
  const std::int64_t interval = plan.settings.interval_seconds * schema::kSecondMillis;
  const std::int64_t longest = wait.failures > 0 ? longest_back_off_millis(interval) : interval;
  const std::int64_t with_jitter =
      longest + static_cast<std::int64_t>(static_cast<double>(longest) * kMostPollJitter) + 1;  // rounding
  const bool is_told_to_wait = wait.failures > 0 && poll_position_from_text(wait.position).told_to_wait;
  return is_told_to_wait ? std::max(with_jitter, kLongestRetryAfterMillis) : with_jitter;
}

/// What it waits for was told under settings that were edited since: forget_outdated_waits sees to it.
bool is_outdated(const SourcePlan& plan, const schema::SourceWait& wait) {
  const std::string told_under = poll_position_from_text(wait.position).settings;
  return !told_under.empty() && told_under != settings_mark(plan);
}

/// Null when it is no poll, or has none.
const schema::SourceWait* wait_of(const SourcePlan& plan, const std::vector<schema::SourceWait>& waits) {
  if (plan.settings.kind != SourceKind::poll) return nullptr;
  const auto found = std::find_if(waits.begin(), waits.end(), [&](const schema::SourceWait& one) {
    return one.name == plan.settings.name;
  });
  return found == waits.end() ? nullptr : &*found;
}

}  // namespace

void forget_outdated_waits(const std::vector<SourcePlan>& plans, schema::Store& store,
                           const std::string& owner, schema::UtcMillis now) {
  constexpr schema::UtcMillis kWheneverDue{std::numeric_limits<std::int64_t>::max()};
  const std::vector<schema::SourceWait> waits = store.sources.waits();
  for (const SourcePlan& plan : plans) {
    const std::string& name = plan.settings.name;
    const std::string mark = settings_mark(plan);
    const schema::SourceWait* const wait = wait_of(plan, waits);
    if (!wait || poll_position_from_text(wait->position).settings == mark) continue;
    const auto claim = store.sources.claim(name, owner, kPollLeaseMillis, kWheneverDue);
    if (!claim) continue;  // another daemon asks just now
    PollPosition position = poll_position_from_text(claim->position);
    take_settings(position, mark);
    store.sources.rest(name, owner, {now, 0, to_text(position)});
  }
}

std::vector<std::string> end_false_poll_waits(const std::vector<SourcePlan>& plans, schema::Store& store,
                                              schema::UtcMillis now) {
  std::vector<std::string> ended;
  if (plans.empty()) return ended;
  const std::vector<schema::SourceWait> waits = store.sources.waits();
  for (const SourcePlan& plan : plans) {
    const schema::SourceWait* const wait = wait_of(plan, waits);
    if (!wait || wait->due_at <= now + longest_wait_millis(plan, *wait) || is_outdated(plan, *wait)) continue;
    if (store.sources.end_wait(*wait, now)) ended.push_back(wait->name);
  }
  return ended;
}

std::int64_t poll_back_off_millis(std::int64_t interval_millis, std::int64_t failures) {
  const std::int64_t most = longest_back_off_millis(interval_millis);
  std::int64_t wait = interval_millis;
  for (std::int64_t i = 0; i < failures && wait < most; ++i) wait *= 2;
  return std::min(wait, most);
}

std::optional<std::int64_t> retry_after_millis(const std::string& text, schema::UtcMillis now) {
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (text.empty()) return std::nullopt;
  if (error == std::errc() && end == text.data() + text.size()) {
    if (seconds < 0) return std::nullopt;
    return std::min(seconds, kLongestRetryAfterMillis / schema::kSecondMillis) * schema::kSecondMillis;
  }
  const time_t date = curl_getdate(text.c_str(), nullptr);
  if (date < 0) return std::nullopt;
  return std::clamp<std::int64_t>(date * schema::kSecondMillis - now.value, 0, kLongestRetryAfterMillis);
}

}  // namespace giftsync::daemon
