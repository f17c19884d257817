#include "schema/crm/gift_records.h"

#include "platform/time.h"

namespace giftsync::schema::crm {

RowResult id_conflict_result(TransactionId transaction) {
  return {
      RowResult::Kind::rejected,
      "the CRM has a gift record with the Transaction Id " + std::to_string(transaction.value) +
          " that giftsync did not write; it stays unchanged. Give it another Transaction Id in the CRM, one "
          "that no gift has: then giftsync creates this gift's record within minutes",
      {}};
}

RowResult newer_record_result(TransactionId transaction) {
  constexpr std::int64_t kRestMillis = 6 * platform::kHourMillis;
  RowResult result{RowResult::Kind::rejected,
                   "the Record Version of the record of gift " + std::to_string(transaction.value) +
                       " in the CRM is above every version that the store has, so it is newer and stays "
                       "unchanged: it was edited by hand, or the store is an older copy. If the store is "
                       "right, \"giftsyncctl backfill gift-records\" takes the record over",
                   {}};
  result.rest_millis = kRestMillis;
  return result;
}

}  // namespace giftsync::schema::crm
