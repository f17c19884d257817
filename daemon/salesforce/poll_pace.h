// daemon/salesforce: when the org is polled again: soon while there are changes, rarely while there are none,
// and never more often than a number of calls a day. Pure: callers pass `now`. One thread at a time.
#pragma once

#include <cstdint>

#include "platform/time.h"

namespace giftsync::daemon::salesforce {

inline constexpr std::int64_t kMostPollsPerDay = 1440;

struct PollPaceOptions {
  std::int64_t least_wait_millis = 15 * platform::kSecondMillis;         ///< after changes
  std::int64_t most_wait_millis = 5 * platform::kMinuteMillis;           ///< doubled up to it without changes
  std::int64_t most_refused_wait_millis = 15 * platform::kMinuteMillis;  ///< doubled up to it by refusals
};

class PollPace {
 public:
  explicit PollPace(PollPaceOptions options) : options_(options), wait_millis_(options.least_wait_millis) {}

  bool is_due(platform::UtcMillis now) const;
  /// Before the call: one that fails is repeated after the least wait.
  void note_call(platform::UtcMillis now);
  void note_answer(bool has_changes, platform::UtcMillis now);
  /// The org refused the call: it would refuse the same call again.
  void note_refusal(platform::UtcMillis now);
  /// The next poll is due at once, within the number of calls a day.
  void hurry();

 private:
  std::int64_t calls_left(platform::UtcMillis now) const;

  PollPaceOptions options_;
  std::int64_t wait_millis_;
  int refusals_ = 0;  ///< in a row
  platform::UtcMillis next_ = {};
  platform::UtcMillis counted_at_ = {};  ///< when `calls_` was right
  std::int64_t calls_ = -1;              ///< that may be made at once; -1: none was made yet
};

}  // namespace giftsync::daemon::salesforce
