#include "sync/crm/gift_folds.h"

#include <unordered_map>

#include "schema/store/store.h"
#include "sync/crm/gift_record_draft.h"
#include "sync/gift/lifecycle.h"

namespace giftsync::sync {

void count_reached(const store::RecipientTransaction& before, const StatusTimes& saved,
                   ReachedCounts& counts) {
  for (const Status status : kAllStatuses)
    if (!before.is_test && saved[status] && !before.times[status]) ++counts[static_cast<std::size_t>(status)];
}

std::vector<FoldedStatus> fold_gifts(store::ChangeLog& log, std::span<const store::Gift* const> gifts,
                                     std::span<const store::ChangeSpan> spans) {
  std::unordered_map<TransactionId, std::vector<store::ChangeSpan>> by_gift;
  for (const store::ChangeSpan& span : spans) by_gift[span.transaction].push_back(span);
  const auto external_sent_times = reported_sent_times(log, gifts, spans);
  std::vector<FoldedStatus> folded;
  folded.reserve(gifts.size());
  for (const store::Gift* gift : gifts) {
    const store::RecipientTransaction& transaction = gift->transaction;
    const auto reported = external_sent_times.find(transaction.id);
    const UtcMillis sent_at =
        reported != external_sent_times.end() ? reported->second : *transaction.times[Status::sent];
    folded.push_back(fold(sent_at, by_gift[transaction.id], transaction.untimed_status));
  }
  return folded;
}

std::optional<store::FoldedState> changed_state(const store::Gift& gift, const FoldedStatus& folded) {
  const store::RecipientTransaction& transaction = gift.transaction;
  if (folded == state_of(transaction)) return std::nullopt;
  return store::FoldedState{transaction.id,      transaction.version,         folded.status,     folded.times,
                            folded.has_conflict, next_timer_at(gift, folded), transaction.status};
}

std::optional<store::Gift> save_fold(store::Store& store, TransactionId gift, ReachedCounts& reached) {
  constexpr int kTries = 3;
  std::optional<store::Gift> row;
  for (int tries = 0; tries < kTries; ++tries) {
    auto found = store.gifts.find(std::span(&gift, 1));
    if (found.empty()) return std::nullopt;
    row = std::move(found.front());
    const store::Gift* const one = &*row;
    const auto folded =
        fold_gifts(store.changes, std::span(&one, 1), store.changes.spans_of(std::span(&gift, 1)));
    const auto changed = changed_state(*row, folded.front());
    if (!changed) break;
    // Not saved: a worker was faster.
    if (!store.sync.save_folded(std::span(&*changed, 1)).empty())
      count_reached(row->transaction, changed->times, reached);
  }
  return row;
}

}  // namespace giftsync::sync
