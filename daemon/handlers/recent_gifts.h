// daemon/handlers: which gifts the last minute's requests without an Idempotency-Key were for, so that the
// response to another request for the same gift can warn (HTTP-52). Each daemon knows its own requests only;
// a restart and a reload forget them. A gift is kept as a hash, not as text. Any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "platform/clock.h"
#include "schema/ids.h"

namespace giftsync::handlers {

class RecentGifts {
 public:
  static constexpr std::int64_t kRememberedMillis = kMinuteMillis;
  static constexpr std::size_t kMaxRemembered = 100'000;  ///< about 10 MB; beyond it the oldest is forgotten

  explicit RecentGifts(Clock clock);

  /// What makes two gifts the same. The address is compared by email_key().
  struct Gift {
    AccountId account;
    GiftId item;
    std::string_view email;
    std::string_view message;
    bool is_test = false;  ///< a test gift is no duplicate of another one
  };
  struct Earlier {
    GiftRequestId request;
    std::int64_t seconds_ago = 0;
  };
  /// Remembers that `request` had this gift. Returns the last other request that had it, if any. Of two
  /// requests at the same time exactly one gets the other. Constant time, but for the hash of the message.
  std::optional<Earlier> remember(const Gift& gift, GiftRequestId request);
  /// What remember() would return for these gifts of one new request. Remembers nothing.
  std::vector<std::optional<Earlier>> find(std::span<const Gift> gifts);

 private:
  using Hash = std::uint64_t;
  struct Request {
    GiftRequestId id;
    AccountId account;  ///< two gifts with one hash, made on purpose, name no request of another account
    UtcMillis at;
  };
  struct Remembered {
    Hash gift;
    Request request;
  };

  static bool is_over(const Request& past, UtcMillis now) {
    return has_elapsed(past.at, kRememberedMillis, now);
  }
  static Earlier earlier_of(const Request& past, UtcMillis now) {
    return {past.id, (now.value - past.at.value) / kSecondMillis};
  }
  static Hash hash_of(const Gift& gift);
  /// Under mutex_.
  void forget_oldest();

  const Clock clock_;
  std::mutex mutex_;
  std::unordered_map<Hash, Request> last_requests_;  // guarded by mutex_; each is in by_age_ too
  std::deque<Remembered> by_age_;                    // guarded by mutex_
};

}  // namespace giftsync::handlers
