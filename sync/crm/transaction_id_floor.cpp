#include "sync/crm/transaction_id_floor.h"

#include <algorithm>
#include <set>

namespace giftsync::sync {
namespace {

constexpr std::size_t kIdsPerRead = 5000;
constexpr std::int64_t kMargin = 1000;

}  // namespace

TransactionIdFloor find_transaction_id_floor(store::GiftRequests& gifts, crm::GiftRecords& records,
                                             TransactionId lowest, TransactionId highest_seen_id) {
  if (const auto highest = gifts.highest_transaction_id())
    lowest = {std::max(lowest.value, highest->value + 1)};
  TransactionIdFloor first{lowest, highest_seen_id};
  TransactionId below{kMaxFirstTransactionId};
  while (true) {
    const auto ids = records.transaction_ids_below(below, kIdsPerRead);
    if (ids.empty()) return first;
    first.highest_seen_id = std::max(first.highest_seen_id, ids.front());
    const auto found = gifts.filter_external(ids);
    const std::set<TransactionId> external_ids(found.begin(), found.end());
    for (const TransactionId id : ids) {
      if (id < lowest || id <= highest_seen_id) return first;
      if (external_ids.contains(id)) continue;
      first.id = {id.value + 1};
      return first;
    }
    below = ids.back();
  }
}

std::optional<TransactionId> first_id_above_unknown_records(store::GiftRequests& gifts,
                                                            crm::GiftRecords& records) {
  const TransactionId next = gifts.next_transaction_id();
  const TransactionId end{next.value + static_cast<std::int64_t>(kIdsPerRead)};
  const std::vector<TransactionId> unknown_ids =
      gifts.filter_unknown(records.transaction_ids_between(next, end, kIdsPerRead));
  if (unknown_ids.empty()) return std::nullopt;
  return TransactionId{std::max_element(unknown_ids.begin(), unknown_ids.end())->value + kMargin};
}

}  // namespace giftsync::sync
