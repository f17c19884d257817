#include "sync/own_ids.h"

#include <algorithm>
#include <set>

namespace giftsync::sync {
namespace {

constexpr std::size_t kIdsALook = 1000;

}  // namespace

schema::TransactionId first_own_id(schema::GiftLedger& gifts, schema::Crm& crm,
                                   schema::TransactionId lowest) {
  if (const auto highest = gifts.highest_transaction_id())
    lowest = {std::max(lowest.value, highest->value + 1)};
  schema::TransactionId below{schema::kMaxId + 1};
  while (true) {
    const auto ids = crm.transaction_ids_below(below, kIdsALook);
    if (ids.empty()) return lowest;
    const auto found = gifts.sent_elsewhere(ids);
    const std::set<schema::TransactionId> elsewhere(found.begin(), found.end());
    for (const schema::TransactionId id : ids) {
      if (id < lowest) return lowest;
      if (elsewhere.count(id) == 0) return {id.value + 1};
    }
    below = ids.back();
  }
}

}  // namespace giftsync::sync
