// cli: `change list`: the change log, read and printed page by page, so that memory holds one page only.
#pragma once

#include <cstdint>

#include "cli/cli_context.h"
#include "cli/console.h"
#include "cli/listing.h"

namespace giftsync::cli {

struct ChangeListing {
  store::ChangeFilter filter;
  store::ChangeOrder order = store::ChangeOrder::oldest_first;
  bool json = false;
  std::int64_t limit = 0;  ///< 0: all
};

/// Returns an exit code.
int list_changes(const Console& console, CliContext& ctx, const ChangeListing& listing);

/// A change as `change list --json` and `gift show --json` print it.
Json change_json(const store::StatusChange& change);

/// The audit entries in order: "voided 2026-11-21 12:31 UTC by ana: the wrong gift; restored 2026-11-22 08:00
/// UTC by bob"; empty for a change that was never voided.
std::string audit_text(const store::StatusChange& change);

/// The audit text, after "orphaned" if the change is; empty for a change without either.
std::string change_annotations(const store::StatusChange& change);

}  // namespace giftsync::cli
