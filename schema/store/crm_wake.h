// schema/store: a mark by which a command tells all daemons of a store to ask a CRM again that they leave
// alone for a while (SYNC-70). Any thread.
#pragma once

#include <string>

#include "platform/random.h"
#include "schema/store/store.h"

namespace giftsync::schema::store {

/// Of the store's metadata: another text each time. Daemons read it while they leave the CRM alone.
inline constexpr const char* kCrmWakeFact = "crm_wake";

/// Throws platform::DependencyError.
inline void wake_crm_workers(Store& store) {
  constexpr std::size_t kMarkBytes = 8;
  store.set_metadata(kCrmWakeFact, platform::random_hex(kMarkBytes));
}

}  // namespace giftsync::schema::store
