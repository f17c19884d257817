#include "daemon/salesforce/poll_pace.h"

#include <algorithm>

namespace giftsync::daemon::salesforce {
namespace {

/// As many calls may follow each other without a pause between them; the others come one by one over the day.
constexpr std::int64_t kCallsAtOnce = 96;
constexpr std::int64_t kMillisPerCall = platform::kDayMillis / (kMostPollsPerDay - kCallsAtOnce) + 1;

}  // namespace

std::int64_t PollPace::calls_left(platform::UtcMillis now) const {
  if (calls_ < 0) return kCallsAtOnce;
  const std::int64_t passed = std::max<std::int64_t>(0, now.value - counted_at_.value);
  return std::min(kCallsAtOnce, calls_ + passed / kMillisPerCall);
}

/// A clock that was set back makes the poll due, rather than never.
bool PollPace::is_due(platform::UtcMillis now) const {
  const std::int64_t most = std::max(options_.most_wait_millis, options_.most_refused_wait_millis);
  const bool has_waited = now >= next_ || next_.value - now.value > most;
  return has_waited && calls_left(now) > 0;
}

void PollPace::note_call(platform::UtcMillis now) {
  const std::int64_t left = calls_left(now);
  const std::int64_t passed = std::max<std::int64_t>(0, now.value - counted_at_.value);
  const bool is_full = calls_ < 0 || left == kCallsAtOnce;
  // The part of an interval that has passed counts for the next call.
  counted_at_ = is_full ? now : platform::UtcMillis{now.value - passed % kMillisPerCall};
  calls_ = left - 1;
  next_ = now + options_.least_wait_millis;
}

void PollPace::note_answer(bool has_changes, platform::UtcMillis now) {
  refusals_ = 0;
  wait_millis_ =
      has_changes ? options_.least_wait_millis : std::min(wait_millis_ * 2, options_.most_wait_millis);
  next_ = now + wait_millis_;
}

void PollPace::note_refusal(platform::UtcMillis now) {
  constexpr int kMostDoublings = 10;
  refusals_ = std::min(refusals_ + 1, kMostDoublings);
  next_ = now + std::min(options_.least_wait_millis << refusals_, options_.most_refused_wait_millis);
}

void PollPace::hurry() {
  next_ = {};
  refusals_ = 0;
  wait_millis_ = options_.least_wait_millis;
}

}  // namespace giftsync::daemon::salesforce
