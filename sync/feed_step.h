// sync: what has changed of marked gifts, as events of the feed (API-10, API-11). The feed folds by itself:
// it depends on no CRM, so a CRM that is paused delays no event (API-13).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "schema/enums.h"
#include "schema/store/event/feed.h"
#include "sync/crm/gift_folds.h"
#include "sync/status/status_rules.h"

namespace giftsync::store {
class Store;
}

namespace giftsync::sync {

/// The events about one gift whose changes come to `folded`: gift.sent if it was made; one for each status
/// that it did not have when something of it was last published, by their times; one for its present status
/// if it changed without such a time; gift.updated for any other change. No event if nothing has changed.
/// Each has the time of the status that its type names, if there is one. Pure.
store::GiftPublication publication_of(const store::MarkedGift& marked, const FoldedStatus& folded);

/// The id of an event for its readers, the same each time: "evt_1796043483_17" (API-12, HOOK-1). Pure.
std::string feed_event_id(std::int64_t epoch, std::int64_t seq);

/// Where the worker is in the order of the marks: so that gifts which change all the time delay no others.
struct FeedPlace {
  std::int64_t after = 0;
};

struct FeedStepStats {
  std::size_t taken = 0;   ///< marked gifts that were looked at
  std::size_t events = 0;  ///< that were published
  bool more = false;       ///< there may be more marks
  ReachedCounts reached{};
};

/// Marked gifts of one step, and so of one transaction, which may make a request wait.
inline constexpr std::size_t kMaxMarksPerStep = 200;

/// Publishes what marked gifts have come to, and what became of gift requests and request records. Throws
/// DependencyError of the store.
FeedStepStats feed_step(store::Store& store, FeedPlace& place);

}  // namespace giftsync::sync
