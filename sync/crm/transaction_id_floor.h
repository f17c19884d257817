// sync: the first Transaction Id that giftsync may allot (SYNC-21): above its own ids in store and CRM when a
// daemon starts, also after the store was restored from an old backup or is new; and above ids that others
// write into the CRM meanwhile.
#pragma once

#include <optional>

#include "crm/gift_records.h"
#include "schema/store/gift/gift_requests.h"

namespace giftsync::sync {

struct TransactionIdFloor {
  TransactionId id;
  TransactionId highest_seen_id;  ///< ids up to it need not be checked again
};

/// The first id at or above `lowest` that is above all of giftsync's own ids. External gifts have their
/// vendors' ids, which may be millions and are no lower bound; those up to `highest_seen_id` were checked by
/// an earlier start. Ids beyond kMaxFirstTransactionId leave giftsync no ids above them; they are
/// skipped when they are reached.
TransactionIdFloor find_transaction_id_floor(store::GiftRequests& gifts, crm::GiftRecords& records,
                                             TransactionId lowest, TransactionId highest_seen_id);

/// A first id well above any id among giftsync's next few thousand that the CRM has and the store does not
/// know. Such ids occur while old records are imported, or when another program allots ids too. Repeat until
/// it returns nothing. An id that it misses is refused on write (GiftUpsert::may_adopt).
std::optional<TransactionId> first_id_above_unknown_records(store::GiftRequests& gifts,
                                                            crm::GiftRecords& records);

}  // namespace giftsync::sync
