#include "daemon/sources/poll_schedule.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>

#include "daemon/sources/poll_cursor.h"
#include "platform/digest.h"
#include "platform/text.h"

namespace giftsync::sources {
namespace {

/// The longest accepted Retry-After.
constexpr std::int64_t kMaxRetryAfterMillis = kDayMillis;

std::int64_t max_back_off_millis(std::int64_t interval_millis) {
  return std::max(interval_millis, kHourMillis);
}

/// The longest wait that the rules allow a poll in this state.
std::int64_t max_wait_millis(const CompiledSource& source, const store::SourceSchedule& wait) {
  const std::int64_t interval = source.settings.interval_seconds * kSecondMillis;
  const std::int64_t max_wait = wait.failures > 0 ? max_back_off_millis(interval) : interval;
  const std::int64_t with_jitter =
      max_wait + static_cast<std::int64_t>(static_cast<double>(max_wait) * kMaxPollJitter) + 1;  // rounding
  const bool has_retry_after = wait.failures > 0 && parse_poll_cursor(wait.cursor_state).has_retry_after;
  return has_retry_after ? std::max(with_jitter, kMaxRetryAfterMillis) : with_jitter;
}

/// The wait was computed under settings that were edited since; reschedule_if_reconfigured() handles it.
bool has_changed_config(const CompiledSource& source, const store::SourceSchedule& wait) {
  const std::string fingerprint = parse_poll_cursor(wait.cursor_state).config_fingerprint;
  return !fingerprint.empty() && fingerprint != config_fingerprint(source);
}

/// Null when the source is not a poll or has no wait.
const store::SourceSchedule* find_wait(const CompiledSource& source,
                                       const std::vector<store::SourceSchedule>& waits) {
  if (source.settings.kind != config::SourceKind::poll) return nullptr;
  const auto found = std::find_if(waits.begin(), waits.end(), [&](const store::SourceSchedule& one) {
    return one.name == source.settings.name;
  });
  return found == waits.end() ? nullptr : &*found;
}

}  // namespace

bool reschedule_if_reconfigured(const CompiledSource& source, store::Store& store, const std::string& owner,
                                UtcMillis now) {
  constexpr UtcMillis kAnyDueTime{std::numeric_limits<std::int64_t>::max()};
  const std::vector<store::SourceSchedule> waits = store.sources.list_schedules();
  const std::string& name = source.settings.name;
  const std::string fingerprint = config_fingerprint(source);
  const store::SourceSchedule* const wait = find_wait(source, waits);
  if (!wait || parse_poll_cursor(wait->cursor_state).config_fingerprint == fingerprint) return true;
  const auto claim = store.sources.claim(name, owner, kPollLeaseMillis, kAnyDueTime);
  if (!claim) return false;
  PollCursor cursor_state = parse_poll_cursor(claim->cursor_state);
  apply_config_fingerprint(cursor_state, fingerprint);
  store.sources.release_claim(name, owner, {now, 0, serialize(cursor_state)});
  return true;
}

std::vector<std::string> release_implausible_poll_waits(const std::vector<CompiledSource>& sources,
                                                        store::Store& store, UtcMillis now) {
  std::vector<std::string> released;
  if (sources.empty()) return released;
  const std::vector<store::SourceSchedule> waits = store.sources.list_schedules();
  for (const CompiledSource& source : sources) {
    const store::SourceSchedule* const wait = find_wait(source, waits);
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

std::optional<std::int64_t> retry_after_millis(const std::string& text, UtcMillis now) {
  if (text.empty()) return std::nullopt;
  if (const auto seconds = parse_number<std::int64_t>(text)) {
    if (*seconds < 0) return std::nullopt;
    return std::min(*seconds, kMaxRetryAfterMillis / kSecondMillis) * kSecondMillis;
  }
  const time_t date = curl_getdate(text.c_str(), nullptr);
  if (date < 0) return std::nullopt;
  return std::clamp<std::int64_t>(date * kSecondMillis - now.value, 0, kMaxRetryAfterMillis);
}

namespace {

/// Fingerprints of unreadable events kept in the cursor. 32 bits each: of two with the same one the second is
/// still quarantined, only not counted.
constexpr std::size_t kMaxUnreadableFingerprints = 300;
constexpr std::size_t kUnreadableFingerprintDigits = 8;

}  // namespace

bool are_all_unreadable(const std::vector<sync::ClassifiedEvent>& classified) {
  return !classified.empty() && std::all_of(classified.begin(), classified.end(),
                                            [](const sync::ClassifiedEvent& one) { return one.unreadable; });
}

bool is_any_readable(const std::vector<sync::ClassifiedEvent>& classified) {
  return std::any_of(classified.begin(), classified.end(),
                     [](const sync::ClassifiedEvent& one) { return !one.unreadable && !one.ignored; });
}

std::string describe_unreadable(const std::vector<sync::ClassifiedEvent>& classified,
                                const CompiledSource& source, const std::string& action) {
  const sync::ClassifiedEvent& first = classified.front();
  std::string keys;
  for (const sync::EventField field : first.faulty_fields)
    keys += fmt::format("{}fields.{} ({})", keys.empty() ? "" : ", ", key_of(field),
                        pointer_of(source.settings.fields, field));
  if (!keys.empty()) keys = fmt::format("; compare it with {} in the settings", keys);
  return fmt::format("none of the {} events on its page can be read, {}; the first one: {}{}",
                     classified.size(), action, first.item.event.detail, keys);
}

std::string page_digest(const std::vector<sync::ClassifiedEvent>& classified) {
  std::string digests;
  for (const sync::ClassifiedEvent& one : classified) digests += one.item.event.digest;
  return sha256(digests);
}

std::vector<std::string> event_fingerprints(const std::vector<sync::ClassifiedEvent>& classified) {
  std::vector<std::string> fingerprints;
  fingerprints.reserve(classified.size() + 1);
  for (const sync::ClassifiedEvent& one : classified)
    fingerprints.push_back(one.item.event.digest.substr(0, kUnreadableFingerprintDigits));
  fingerprints.push_back(to_hex(page_digest(classified)).substr(0, kUnreadableFingerprintDigits));
  return fingerprints;
}

bool is_known_unreadable(const PollCursor& cursor_state, const std::vector<std::string>& fingerprints) {
  const auto is_known = [&](const std::string& fingerprint) {
    return std::find(cursor_state.unreadable_fingerprints.begin(), cursor_state.unreadable_fingerprints.end(),
                     fingerprint) != cursor_state.unreadable_fingerprints.end();
  };
  return is_known(fingerprints.back()) || std::all_of(fingerprints.begin(), fingerprints.end() - 1, is_known);
}

void record_unreadable_page(PollCursor& cursor_state, const std::vector<std::string>& fingerprints) {
  ++cursor_state.consecutive_unreadable_pages;
  std::vector<std::string>& all = cursor_state.unreadable_fingerprints;
  all.insert(all.end(), fingerprints.begin(), fingerprints.end());
  if (all.size() > kMaxUnreadableFingerprints)
    all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(kMaxUnreadableFingerprints));
}

}  // namespace giftsync::sources
