// daemon/cli: `change list` and `change held`: the log of status changes page by page, in the memory of one
// page (design 3.1).
#pragma once

#include <cstdint>

#include "daemon/cli/console.h"
#include "daemon/cli/installation.h"
#include "daemon/cli/json_list.h"

namespace giftsync::daemon {

struct ChangeListing {
  schema::ChangeFilter filter;
  schema::ChangeOrder order = schema::ChangeOrder::oldest_first;
  bool json = false;
  std::int64_t limit = 0;  ///< 0: all
};

/// Returns an exit code.
int list_changes(const Console& console, Installation& place, const ChangeListing& listing);

/// A change as listings and `gift show` give it.
Json change_json(const schema::StatusChange& change);

/// "voided 2026-11-21 12:31 UTC by ana: the wrong gift; restored 2026-11-22 08:00 UTC by bob", one after the
/// other; empty for a change that nobody has voided.
std::string review_words(const schema::StatusChange& change);

/// The same, and "held"; empty for a change that simply stands.
std::string change_state(const schema::StatusChange& change);

}  // namespace giftsync::daemon
