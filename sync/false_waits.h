// sync: waits that no rule can have made. A clock that was ahead for a while leaves times at which something
// is to be tried again, and they are no nearer once it was put right: what lies further ahead than the
// longest wait of its rule (sync/delivery_rules.h) is due now. Waits of polls: daemon/sources/poll_wait.h.
#pragma once

#include <cstdint>
#include <string>

#include "schema/store/store.h"

namespace giftsync::sync {

struct FalseWaits {
  bool pause = false;         ///< the outbox rested
  std::int64_t mails = 0;     ///< in the outbox
  std::int64_t gifts = 0;     ///< that the CRM does not know yet
  std::int64_t requests = 0;  ///< of the CRM
};

/// Ends them, and returns which there were. Request records go by the database's clock: `database_now`.
/// Throws schema::BrokenWorld when the store fails.
FalseWaits end_false_waits(schema::Store& store, schema::UtcMillis now, schema::UtcMillis database_now);

/// One sentence for the operator's log; empty when there were none.
std::string in_words(const FalseWaits& ended);

}  // namespace giftsync::sync
