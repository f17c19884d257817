#include "sync/delivery_rules.h"

#include <algorithm>
#include <cstdlib>

namespace giftsync::sync {
namespace {

/// first, 2 * first, 4 * first ... at most `max_millis`; `failures` counts from 1.
std::int64_t doubling(std::int64_t first, std::int64_t failures, std::int64_t max_millis) {
  std::int64_t wait = first;
  for (std::int64_t i = 1; i < failures && wait < max_millis; ++i) wait *= 2;
  return std::min(wait, max_millis);
}

}  // namespace

DeliveryTransition after_attempt(SendOutcome outcome, std::int64_t attempt,
                                 platform::UtcMillis first_deferred_at, platform::UtcMillis now,
                                 const DeliveryPolicy& policy, std::int64_t uncertain_retries) {
  switch (outcome) {
    case SendOutcome::accepted:
      return {schema::DeliveryState::accepted, now,
              policy.delivered_when_accepted ? std::optional(schema::Status::delivered) : std::nullopt};
    case SendOutcome::refused:
      return {schema::DeliveryState::undelivered, now, schema::Status::undelivered};
    case SendOutcome::try_later:
      if (policy.may_give_up && now.value - first_deferred_at.value >= kMaxDeferredMillis)
        return {schema::DeliveryState::undelivered, now, schema::Status::undelivered};
      return {schema::DeliveryState::queued,
              now + doubling(platform::kMinuteMillis, attempt, kMaxDeferredRetryMillis), std::nullopt};
    case SendOutcome::transport_error:
      return {schema::DeliveryState::queued, now, std::nullopt};
    case SendOutcome::uncertain:
      if (policy.hold_uncertain || uncertain_retries >= kMaxUncertainRetries)
        return {schema::DeliveryState::held, now, std::nullopt};
      return {schema::DeliveryState::uncertain, now + kUncertainRetryMillis, std::nullopt};
  }
  std::abort();  // a value outside its enumeration: a bug
}

std::int64_t pause_millis(std::int64_t failures) {
  return doubling(5 * platform::kSecondMillis, failures, kMaxPauseMillis);
}

std::int64_t sync_retry_millis(std::int64_t failures) {
  return doubling(2 * platform::kSecondMillis, failures, kMaxSyncRetryMillis);
}

std::int64_t rejected_retry_millis(std::int64_t failures) {
  return doubling(2 * platform::kSecondMillis, failures, kMaxRejectedRetryMillis);
}

std::size_t next_batch_rows(std::size_t rows, std::int64_t millis, bool has_failed, std::size_t max_rows) {
  const std::size_t next = has_failed || millis >= kSlowBatchMillis ? rows / 2
                           : millis < kQuickBatchMillis             ? rows * 2
                                                                    : rows;
  return std::clamp<std::size_t>(next, 1, max_rows);
}

}  // namespace giftsync::sync
