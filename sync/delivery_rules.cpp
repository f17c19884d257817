#include "sync/delivery_rules.h"

#include <algorithm>
#include <cstdlib>

namespace giftsync::sync {
namespace {

using schema::DeliveryState;
using schema::Status;

/// first, 2 * first, 4 * first ... at most `most`; `failures` counts from 1.
std::int64_t doubling(std::int64_t first, std::int64_t failures, std::int64_t most) {
  std::int64_t wait = first;
  for (std::int64_t i = 1; i < failures && wait < most; ++i) wait *= 2;
  return std::min(wait, most);
}

}  // namespace

DeliveryNext after_attempt(SendVerdict verdict, std::int64_t attempt, schema::UtcMillis first_try_at,
                           schema::UtcMillis now, const DeliveryPolicy& policy, std::int64_t repeats) {
  switch (verdict) {
    case SendVerdict::accepted:
      return {DeliveryState::accepted, now,
              policy.delivered_when_accepted ? std::optional(Status::delivered) : std::nullopt};
    case SendVerdict::refused:
      return {DeliveryState::undelivered, now, Status::undelivered};
    case SendVerdict::try_later:
      if (policy.may_give_up && now.value - first_try_at.value >= kRefusedForNowMillis)
        return {DeliveryState::undelivered, now, Status::undelivered};
      return {DeliveryState::queued, now + doubling(schema::kMinuteMillis, attempt, kLongestPutOffMillis),
              std::nullopt};
    case SendVerdict::transport_fault:
      return {DeliveryState::queued, now, std::nullopt};
    case SendVerdict::uncertain:
      if (policy.hold_uncertain || repeats >= kMostUncertainRepeats)
        return {DeliveryState::held, now, std::nullopt};
      return {DeliveryState::uncertain, now + kUncertainRetryMillis, std::nullopt};
  }
  std::abort();  // a value outside its enumeration: a bug
}

std::int64_t pause_millis(std::int64_t failures) {
  return doubling(5 * schema::kSecondMillis, failures, kLongestPauseMillis);
}

std::int64_t sync_retry_millis(std::int64_t failures) {
  return doubling(2 * schema::kSecondMillis, failures, kLongestSyncRetryMillis);
}

}  // namespace giftsync::sync
