#include "crm/gift_records.h"

#include "platform/time.h"

namespace giftsync::crm {

RowResult id_conflict_result(TransactionId transaction) {
  return {RowResult::Kind::rejected, id_conflict_reason(transaction), {}};
}

RowResult newer_record_result(TransactionId transaction) {
  constexpr std::int64_t kRestMillis = 6 * kHourMillis;
  RowResult result{RowResult::Kind::rejected,
                   "the Record Version of the record of gift " + std::to_string(transaction.value) +
                       " in the CRM is above every version that the store has, so it is newer and stays "
                       "unchanged: it was edited by hand, or the store is an older copy. If the store is "
                       "right, \"giftsyncctl backfill gift-records\" takes the record over",
                   {}};
  result.retry_after_millis = kRestMillis;
  return result;
}

}  // namespace giftsync::crm
