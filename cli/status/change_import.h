// cli: `change import` (OPS-23): status changes from a file with one JSON object per line, in bounded memory
// (STATUS-21).
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "cli/console.h"
#include "cli/input_file.h"
#include "platform/time.h"
#include "schema/store/gift/change_log.h"
#include "schema/store/store.h"

namespace giftsync::cli {

/// Changes per database transaction: enough to amortize its cost, few enough that the daemon's writers wait
/// for about ten milliseconds at most.
inline constexpr std::size_t kChangesPerBatch = 5000;
/// Memory for changes that are read and not accepted yet: about a million changes.
inline constexpr std::size_t kMaxReadBytes = 64 << 20;
/// Orphaned changes that are reported one by one; further ones are only counted.
inline constexpr std::size_t kMaxOrphanMessages = 20;

/// Accepts every valid line, lists every refused line as "FILE:LINE: ..." on stderr and prints the counts.
/// When a later batch throws DependencyError, accepted changes stay; a second import does not
/// duplicate them. For a file larger than `max_read_bytes` the CRM sync of its gifts waits until the end of
/// the file, two minutes at most, so that each gift is synced once. Returns an exit code: 65 if a line was
/// refused.
int import_changes(const Console& console, store::Store& store, InputFile& input,
                   std::size_t max_read_bytes = kMaxReadBytes);

// One line of `change import` (OPS-23). Pure.

/// The source name of imported changes.
inline constexpr const char* kImportSource = "import";

/// All faults of a line: status: found "openend"; allowed: sent, ....
using ChangeFaults = std::vector<std::string>;

/// Parses {"recipient_transaction_id":..,"status":"..","occurred_at":"..","event_id":".."}. The id is a whole
/// number or a text of digits; the time is ISO 8601 with its zone and plausible at `now` (STATUS-16); the
/// event id is a text, a whole number or absent. Other members are ignored.
tl::expected<store::StatusChange, ChangeFaults> parse_change(std::string_view line, UtcMillis now);

}  // namespace giftsync::cli
