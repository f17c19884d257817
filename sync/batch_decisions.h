// sync: decides for the gifts of a batch to whom they belong, with as few questions to the CRM as it takes.
#pragma once

#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/crm/crm.h"
#include "schema/store/store.h"
#include "sync/sync_step.h"

namespace giftsync::sync {

/// The sync state of each gift, in order: `decided`, or `skipped` where the rules want no record. Nothing is
/// stored. Adds a sentence to `warnings` for each sender that the CRM does not know. Throws
/// schema::crm::LookupNotReady, and platform::DependencyError when store or CRM fail.
std::vector<schema::store::CrmSyncState> decide_gifts(schema::store::Store& store, schema::crm::Crm& crm,
                                                      const SyncRules& rules,
                                                      const std::vector<const schema::store::Gift*>& gifts,
                                                      platform::UtcMillis now,
                                                      std::vector<std::string>& warnings);

}  // namespace giftsync::sync
