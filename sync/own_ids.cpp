#include "sync/own_ids.h"

#include <algorithm>
#include <set>

namespace giftsync::sync {
namespace {

constexpr std::size_t kIdsALook = 5000;
constexpr std::int64_t kMargin = 1000;

}  // namespace

FirstOwnId first_own_id(schema::GiftLedger& gifts, schema::Crm& crm, schema::TransactionId lowest,
                        schema::TransactionId looked_up_to) {
  if (const auto highest = gifts.highest_transaction_id())
    lowest = {std::max(lowest.value, highest->value + 1)};
  FirstOwnId first{lowest, looked_up_to};
  schema::TransactionId below{schema::kMaxFirstTransactionId};
  while (true) {
    const auto ids = crm.transaction_ids_below(below, kIdsALook);
    if (ids.empty()) return first;
    first.looked_up_to = std::max(first.looked_up_to, ids.front());
    const auto found = gifts.sent_elsewhere(ids);
    const std::set<schema::TransactionId> elsewhere(found.begin(), found.end());
    for (const schema::TransactionId id : ids) {
      if (id < lowest || id <= looked_up_to) return first;
      if (elsewhere.contains(id)) continue;
      first.id = {id.value + 1};
      return first;
    }
    below = ids.back();
  }
}

std::optional<schema::TransactionId> first_id_above_strangers(schema::GiftLedger& gifts, schema::Crm& crm) {
  const schema::TransactionId next = gifts.next_transaction_id();
  const schema::TransactionId far{next.value + static_cast<std::int64_t>(kIdsALook)};
  std::vector<schema::TransactionId> ids = crm.transaction_ids_below(far, kIdsALook);
  std::erase_if(ids, [&](schema::TransactionId id) { return id < next; });
  const std::vector<schema::TransactionId> strangers = gifts.without_gift(ids);
  if (strangers.empty()) return std::nullopt;
  return schema::TransactionId{std::max_element(strangers.begin(), strangers.end())->value + kMargin};
}

}  // namespace giftsync::sync
