#include "sync/transaction_id_floor.h"

#include <algorithm>
#include <set>

namespace giftsync::sync {
namespace {

constexpr std::size_t kIdsPerRead = 5000;
constexpr std::int64_t kMargin = 1000;

}  // namespace

TransactionIdFloor find_transaction_id_floor(schema::store::GiftRequests& gifts,
                                             schema::crm::GiftRecords& records, schema::TransactionId lowest,
                                             schema::TransactionId highest_seen_id) {
  if (const auto highest = gifts.highest_transaction_id())
    lowest = {std::max(lowest.value, highest->value + 1)};
  TransactionIdFloor first{lowest, highest_seen_id};
  schema::TransactionId below{schema::kMaxFirstTransactionId};
  while (true) {
    const auto ids = records.transaction_ids_below(below, kIdsPerRead);
    if (ids.empty()) return first;
    first.highest_seen_id = std::max(first.highest_seen_id, ids.front());
    const auto found = gifts.filter_external(ids);
    const std::set<schema::TransactionId> external_ids(found.begin(), found.end());
    for (const schema::TransactionId id : ids) {
      if (id < lowest || id <= highest_seen_id) return first;
      if (external_ids.contains(id)) continue;
      first.id = {id.value + 1};
      return first;
    }
    below = ids.back();
  }
}

std::optional<schema::TransactionId> first_id_above_unknown_records(schema::store::GiftRequests& gifts,
                                                                    schema::crm::GiftRecords& records) {
  const schema::TransactionId next = gifts.next_transaction_id();
  const schema::TransactionId end{next.value + static_cast<std::int64_t>(kIdsPerRead)};
  const std::vector<schema::TransactionId> unknown_ids =
      gifts.filter_unknown(records.transaction_ids_between(next, end, kIdsPerRead));
  if (unknown_ids.empty()) return std::nullopt;
  return schema::TransactionId{std::max_element(unknown_ids.begin(), unknown_ids.end())->value + kMargin};
}

}  // namespace giftsync::sync
