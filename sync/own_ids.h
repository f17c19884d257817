// sync: where our own Transaction Ids go on (design 3.1): above whatever the store and the CRM have of ours
// when a daemon starts, also after the store was restored from an old backup or is a new one; and above what
// somebody else puts into the CRM meanwhile.
#pragma once

#include <optional>

#include "schema/crm.h"
#include "schema/store/gift_ledger.h"

namespace giftsync::sync {

struct FirstOwnId {
  schema::TransactionId id;
  schema::TransactionId looked_up_to;  ///< nothing up to it needs to be looked at once more
};

/// The first id at or above `lowest` that is above all of ours. Gifts that were sent elsewhere have their
/// vendors' ids, which ours need not be above, and which may be a million: those up to `looked_up_to` were
/// looked at by an earlier start. Ids beyond schema::kMaxFirstTransactionId, where ours would have no room,
/// are gone around when they are met.
FirstOwnId first_own_id(schema::GiftLedger& gifts, schema::Crm& crm, schema::TransactionId lowest,
                        schema::TransactionId looked_up_to);

/// When the CRM has an id among the next few thousand of ours of which the store knows nothing: a first id
/// well above such. Old records are being brought in beside the daemon, or somebody counts there too, and
/// ours must not meet them. There may be more behind, until it finds nothing. What it overlooks is refused
/// when it is written (GiftUpsert::may_take_over).
std::optional<schema::TransactionId> first_id_above_strangers(schema::GiftLedger& gifts, schema::Crm& crm);

}  // namespace giftsync::sync
