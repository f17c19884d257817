// sync: what store and CRM know of senders, a batch at a time: at most three calls of the CRM and one
// statement of the store, however many senders. send_permission.h judges it. Throws BrokenWorld.
#pragma once

#include <span>
#include <vector>

#include "schema/crm.h"
#include "schema/store/account_book.h"
#include "sync/send_permission.h"

namespace giftsync::sync {

/// One answer for each name, in their order; at most kCrmBatch. Of several users with one address the active
/// ones go first, then the lowest Id (design 3.2). Without a good token nobody is asked.
std::vector<SenderFacts> sender_facts(schema::AccountBook& accounts, schema::Crm& crm,
                                      const TokenStanding& token, std::span<const SenderName> names);

}  // namespace giftsync::sync
