// sync: the folded states of gifts with their rows, for the workers that save them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "schema/store/gift/change_log.h"
#include "schema/store/gift/sync_queue.h"
#include "sync/status/status_rules.h"

namespace giftsync::sync {

/// What each gift's changes come to, in order. `spans`: those of all of them that count. Throws
/// DependencyError: for external gifts without a report of their sending that counts the log is read once.
std::vector<FoldedStatus> fold_gifts(store::ChangeLog& log, std::span<const store::Gift* const> gifts,
                                     std::span<const store::ChangeSpan> spans);

/// What is to be saved of the gift; nullopt when its row has this state.
std::optional<store::FoldedState> changed_state(const store::Gift& gift, const FoldedStatus& folded);

}  // namespace giftsync::sync
