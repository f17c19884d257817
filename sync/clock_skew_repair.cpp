#include "sync/clock_skew_repair.h"

namespace giftsync::sync {

ClockSkewRepair repair_clock_skew(schema::store::Store& store, platform::UtcMillis now,
                                  platform::UtcMillis database_now, std::int64_t most_request_rest_millis) {
  ClockSkewRepair repaired;
  repaired.pause = store.deliveries.reset_breakers_after(now + kMaxPauseMillis, now);
  repaired.mails = store.deliveries.reset_scheduled_after(now + kMaxMailRetryMillis, now);
  repaired.gifts = store.sync.reset_scheduled_after(now + kMaxSyncRetryMillis, now) +
                   store.sync.reset_rejected_after(now + kMaxRejectedRetryMillis, now);
  repaired.requests =
      store.request_records.reset_scheduled_after(database_now + most_request_rest_millis, database_now);
  return repaired;
}

std::string describe(const ClockSkewRepair& repaired) {
  std::string what = repaired.pause ? "mail delivery pause" : "";
  const auto add = [&what](std::int64_t count, const std::string& of) {
    if (count > 0) what += (what.empty() ? "" : ", ") + std::to_string(count) + " " + of;
  };
  add(repaired.mails, "mails");
  add(repaired.gifts, "gift records");
  add(repaired.requests, "request records");
  if (what.empty()) return what;
  return "the system clock had been ahead (on this or another node); retry times reset: " + what;
}

}  // namespace giftsync::sync
