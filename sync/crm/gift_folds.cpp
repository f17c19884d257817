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
  return store::FoldedState{.transaction = transaction.id,
                            .from_version = transaction.version,
                            .status = folded.status,
                            .times = folded.times,
                            .has_conflict = folded.has_conflict,
                            .due_at = next_timer_at(gift, folded),
                            .from_status = transaction.status,
                            .counted = store::counted_gift(gift.request, transaction)};
}

namespace {

constexpr std::size_t kMaxFoldsPerStep = 200;
/// Within this time the sync has usually folded a change.
constexpr std::int64_t kSyncTimeMillis = 700;

std::vector<std::optional<store::FoldedState>> fold_waiting(store::ChangeLog& log,
                                                            std::span<const store::WaitingGift> gifts) {
  std::vector<const store::Gift*> rows;
  std::vector<store::ChangeSpan> spans;
  for (const store::WaitingGift& waiting : gifts) {
    rows.push_back(&waiting.gift);
    spans.insert(spans.end(), waiting.spans.begin(), waiting.spans.end());
  }
  const std::vector<FoldedStatus> folded = fold_gifts(log, rows, spans);
  std::vector<std::optional<store::FoldedState>> states;
  for (std::size_t i = 0; i < rows.size(); ++i) states.push_back(changed_state(*rows[i], folded[i]));
  return states;
}

}  // namespace

FoldStepStats fold_step(store::Store& store, FoldPlace& place, UtcMillis now) {
  const store::FoldRun run = store.sync.fold_waiting(
      place.after, kMaxFoldsPerStep, now - kSyncTimeMillis,
      [&](std::span<const store::WaitingGift> gifts) { return fold_waiting(store.changes, gifts); });
  FoldStepStats stats;
  const bool is_end = run.taken < kMaxFoldsPerStep;
  // At the end it begins again at once, unless it began there.
  stats.more = !is_end || place.after.value != 0;
  place.after = is_end ? TransactionId{} : run.last;
  for (const store::FoldedState& state : run.folded) {
    if (!state.counted) continue;
    for (const Status status : kAllStatuses)
      if (state.times[status] && !state.counted->times[status])
        ++stats.reached[static_cast<std::size_t>(status)];
  }
  return stats;
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
