#include "daemon/sources/poll_schedule.h"

#include <curl/curl.h>

#include <algorithm>
#include <limits>

#include "daemon/sources/poll_cursor.h"
#include "platform/text.h"

namespace giftsync::daemon::sources {
namespace {

/// The longest accepted Retry-After.
constexpr std::int64_t kMaxRetryAfterMillis = platform::kDayMillis;

std::int64_t max_back_off_millis(std::int64_t interval_millis) {
  return std::max(interval_millis, platform::kHourMillis);
}

/// The longest wait that the rules allow a poll in this state.
std::int64_t max_wait_millis(const CompiledSource& source, const schema::store::SourceSchedule& wait) {
  const std::int64_t interval = source.settings.interval_seconds * platform::kSecondMillis;
  const std::int64_t max_wait = wait.failures > 0 ? max_back_off_millis(interval) : interval;
  const std::int64_t with_jitter =
      max_wait + static_cast<std::int64_t>(static_cast<double>(max_wait) * kMaxPollJitter) + 1;  // rounding
  const bool has_retry_after = wait.failures > 0 && parse_poll_cursor(wait.cursor_state).has_retry_after;
  return has_retry_after ? std::max(with_jitter, kMaxRetryAfterMillis) : with_jitter;
}

/// The wait was computed under settings that were edited since; reschedule_if_reconfigured() handles it.
bool has_changed_config(const CompiledSource& source, const schema::store::SourceSchedule& wait) {
  const std::string fingerprint = parse_poll_cursor(wait.cursor_state).config_fingerprint;
  return !fingerprint.empty() && fingerprint != config_fingerprint(source);
}

/// Null when the source is not a poll or has no wait.
const schema::store::SourceSchedule* find_wait(const CompiledSource& source,
                                               const std::vector<schema::store::SourceSchedule>& waits) {
  if (source.settings.kind != config::SourceKind::poll) return nullptr;
  const auto found = std::find_if(waits.begin(), waits.end(), [&](const schema::store::SourceSchedule& one) {
    return one.name == source.settings.name;
  });
  return found == waits.end() ? nullptr : &*found;
}

}  // namespace

bool reschedule_if_reconfigured(const CompiledSource& source, schema::store::Store& store,
                                const std::string& owner, platform::UtcMillis now) {
  constexpr platform::UtcMillis kAnyDueTime{std::numeric_limits<std::int64_t>::max()};
  const std::vector<schema::store::SourceSchedule> waits = store.sources.list_schedules();
  const std::string& name = source.settings.name;
  const std::string fingerprint = config_fingerprint(source);
  const schema::store::SourceSchedule* const wait = find_wait(source, waits);
  if (!wait || parse_poll_cursor(wait->cursor_state).config_fingerprint == fingerprint) return true;
  const auto claim = store.sources.claim(name, owner, kPollLeaseMillis, kAnyDueTime);
  if (!claim) return false;
  PollCursor cursor_state = parse_poll_cursor(claim->cursor_state);
  apply_config_fingerprint(cursor_state, fingerprint);
  store.sources.release_claim(name, owner, {now, 0, serialize(cursor_state)});
  return true;
}

std::vector<std::string> release_implausible_poll_waits(const std::vector<CompiledSource>& sources,
                                                        schema::store::Store& store,
                                                        platform::UtcMillis now) {
  std::vector<std::string> released;
  if (sources.empty()) return released;
  const std::vector<schema::store::SourceSchedule> waits = store.sources.list_schedules();
  for (const CompiledSource& source : sources) {
    const schema::store::SourceSchedule* const wait = find_wait(source, waits);
    if (!wait || wait->next_attempt_at <= now + max_wait_millis(source, *wait) ||
        has_changed_config(source, *wait))
      continue;
    if (store.sources.reset_schedule(*wait, now)) released.push_back(wait->name);
  }
  return released;
}

std::int64_t poll_back_off_millis(std::int64_t interval_millis, std::int64_t failures) {
  const std::int64_t max_millis = max_back_off_millis(interval_millis);
  std::int64_t wait = interval_millis;
  for (std::int64_t i = 0; i < failures && wait < max_millis; ++i) wait *= 2;
  return std::min(wait, max_millis);
}

std::optional<std::int64_t> retry_after_millis(const std::string& text, platform::UtcMillis now) {
  if (text.empty()) return std::nullopt;
  if (const auto seconds = platform::parse_number<std::int64_t>(text)) {
    if (*seconds < 0) return std::nullopt;
    return std::min(*seconds, kMaxRetryAfterMillis / platform::kSecondMillis) * platform::kSecondMillis;
  }
  const time_t date = curl_getdate(text.c_str(), nullptr);
  if (date < 0) return std::nullopt;
  return std::clamp<std::int64_t>(date * platform::kSecondMillis - now.value, 0, kMaxRetryAfterMillis);
}

}  // namespace giftsync::daemon::sources
