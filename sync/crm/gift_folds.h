// sync: the folded states of gifts with their rows, for the workers that save them, and for callers that act
// on one gift; and the step that saves those of gifts whose record waits for the CRM (NUM-6).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "schema/store/gift/change_log.h"
#include "schema/store/gift/gift_requests.h"
#include "schema/store/gift/sync_queue.h"
#include "sync/status/status_rules.h"

namespace giftsync::store {
class Store;
}

namespace giftsync::sync {

/// By status: gifts that have got a time of it, without test gifts.
using ReachedCounts = std::array<std::size_t, kAllStatuses.size()>;
/// Counts what a gift, whose row was `before`, has got with the times that were saved.
void count_reached(const store::RecipientTransaction& before, const StatusTimes& saved,
                   ReachedCounts& counts);

/// What each gift's changes come to, in order. `spans`: those of all of them that count. Throws
/// DependencyError: for external gifts without a report of their sending that counts the log is read once.
std::vector<FoldedStatus> fold_gifts(store::ChangeLog& log, std::span<const store::Gift* const> gifts,
                                     std::span<const store::ChangeSpan> spans);

/// What is to be saved of the gift; nullopt when its row has this state.
std::optional<store::FoldedState> changed_state(const store::Gift& gift, const FoldedStatus& folded);

/// The gift as every reader has it from now on: what it came to is saved, as the workers would within a
/// second, and counted in `reached`. Nothing without such a gift. When workers and sources change it all the
/// time, its row may be older than the last change: then its status is that of its version too.
std::optional<store::Gift> save_fold(store::Store& store, TransactionId gift, ReachedCounts& reached);

/// Where the worker is in the order of the gifts: so that gifts which change all the time delay no others.
struct FoldPlace {
  TransactionId after = {};
};

struct FoldStepStats {
  bool more = false;  ///< there may be more to fold
  ReachedCounts reached{};
};

/// Folds gifts whose change the sync has had time for and did not fold: the CRM is away, slow, or many wait.
/// One transaction. Throws DependencyError of the store.
FoldStepStats fold_step(store::Store& store, FoldPlace& place, UtcMillis now);

}  // namespace giftsync::sync
