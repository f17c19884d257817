// daemon: the log lines of a gift's way: requested, mailed, matched, written to the CRM (OPS-30). A line
// names the gifts of one request by their ids; never an address, a name or a link. Under load lines are
// dropped and counted, so that they cost nothing measurable and the journal keeps the others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>

#include "platform/time.h"
#include "schema/store/gift/gift_requests.h"
#include "sync/gift/gift_event.h"

namespace giftsync::daemon {

/// Any thread.
class GiftLog {
 public:
  /// For each of the four kinds of lines: so many at once, then so many a second.
  static constexpr std::int64_t kMaxBurst = 500;
  static constexpr std::int64_t kLinesPerSecond = 50;
  /// Gifts in one line; further ones of the request are named in further lines.
  static constexpr std::size_t kMaxNamedMatches = 20;  ///< of one request at a time; more share lines
  static constexpr std::size_t kMaxGiftsPerLine = 50;

  struct NewRequest {
    GiftRequestId request;
    std::span<const store::RecipientTransaction> gifts;
    std::string_view http_request_id = {};
    std::string_view credential_prefix = {};
    std::string_view request_record = {};  ///< its Request Number, if it was sent for one
  };
  /// A gift request is durable.
  void log_request(const NewRequest& request, UtcMillis now);
  /// Successive events of one kind and one request share lines.
  void log_events(std::span<const sync::GiftEvent> events, UtcMillis now);
  /// Logs how many gifts were not named since the last call. Call it from time to time, and at the end.
  void log_dropped();

 private:
  enum Stage { requested, mailed, matched, written, kStages };
  static Stage stage_of(sync::GiftEventKind kind);
  bool admit(Stage stage, std::size_t gifts, UtcMillis now);

  struct Budget {
    std::int64_t thousandths = kMaxBurst * 1000;  ///< of lines
    UtcMillis since;
    std::size_t dropped_gifts = 0;
  };
  std::mutex mutex_;
  std::array<Budget, kStages> budgets_;  // guarded by mutex_
};

}  // namespace giftsync::daemon
