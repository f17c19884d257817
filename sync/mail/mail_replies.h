// sync: many mails that failed with the same reply show a fault of the relay or of its settings (OPS-27).
// Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/time.h"
#include "schema/store/mail/delivery_queue.h"

namespace giftsync::sync {

/// The relay's reply without what differs from mail to mail: addresses, hosts, numbers behind the codes.
std::string reply_class(std::string_view reply);

/// Whether `text` is a part of the reply, in any case, or a reply of the same class.
bool is_reply_like(std::string_view reply, std::string_view text);

/// A reply that several mails in one state have.
struct SharedReply {
  DeliveryState state = DeliveryState::undelivered;  ///< or `queued`
  std::string reply;                                 ///< of one of them
  std::int64_t mails = 0;
  UtcMillis since;  ///< the earliest of their times
};

/// Undelivered mails that ended before it are not asked for.
inline constexpr std::int64_t kSharedReplyMillis = kHourMillis;

/// The replies, most mails first, that kManyUndelivered mails ended with, or with which kManyDeferred mails
/// wait, the first of them for kLongDeferredMillis.
std::vector<SharedReply> shared_replies(std::span<const store::FailedMail> mails, UtcMillis now);
inline constexpr std::int64_t kManyUndelivered = 10;
inline constexpr std::int64_t kManyDeferred = 3;
inline constexpr std::int64_t kLongDeferredMillis = 10 * kMinuteMillis;

}  // namespace giftsync::sync
