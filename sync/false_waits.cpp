#include "sync/false_waits.h"

#include "sync/delivery_rules.h"

namespace giftsync::sync {

FalseWaits end_false_waits(schema::Store& store, schema::UtcMillis now, schema::UtcMillis database_now) {
  FalseWaits ended;
  ended.pause = store.deliveries.end_pause_beyond(now + kLongestPauseMillis, now);
  ended.mails = store.deliveries.end_waits_beyond(now + kLongestMailWaitMillis, now);
  ended.gifts = store.sync.end_waits_beyond(now + kLongestSyncRetryMillis, now);
  ended.requests = store.requests.end_waits_beyond(database_now + kLongestSyncRetryMillis, database_now);
  return ended;
}

std::string in_words(const FalseWaits& ended) {
  std::string what = ended.pause ? "the outbox's rest" : "";
  const auto add = [&what](std::int64_t count, const std::string& of) {
    if (count > 0) what += (what.empty() ? "" : ", ") + std::to_string(count) + " " + of;
  };
  add(ended.mails, "mails");
  add(ended.gifts, "gifts for the CRM");
  add(ended.requests, "requests");
  if (what.empty()) return what;
  return "the clock was ahead, here or where another daemon of this store runs; what would wait longer than "
         "it ever has to goes on now: " +
         what;
}

}  // namespace giftsync::sync
