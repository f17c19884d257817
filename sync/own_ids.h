// sync: where our own Transaction Ids begin when a daemon starts (design 3.1): above whatever the store and
// the CRM have of ours, also after the store was restored from an old backup or is a new one.
#pragma once

#include "schema/crm.h"
#include "schema/store/gift_ledger.h"

namespace giftsync::sync {

/// The first id at or above `lowest` that is above all of ours. Gifts that were sent elsewhere have their
/// vendors' ids, which ours need not be above.
schema::TransactionId first_own_id(schema::GiftLedger& gifts, schema::Crm& crm, schema::TransactionId lowest);

}  // namespace giftsync::sync
