// sync: what store and CRM have about senders, one batch at a time: at most three CRM calls and one store
// statement for any number of senders. send_authorization.h evaluates it. Throws platform::DependencyError.
#pragma once

#include <span>
#include <vector>

#include "schema/crm/directory.h"
#include "schema/store/accounts.h"
#include "sync/send_authorization.h"

namespace giftsync::sync {

/// One result for each name, in their order; at most CrmPace::rows_per_read. Of several users with one
/// address active ones come first, then the lowest Id (SYNC-12).
std::vector<SenderInfo> find_senders(schema::store::Accounts& accounts, schema::crm::Directory& directory,
                                     const TokenStatus& token, std::span<const SenderRef> names);

}  // namespace giftsync::sync
