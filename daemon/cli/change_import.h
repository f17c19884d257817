// daemon/cli: `change import`: status changes from a file of one JSON object a line, in bounded memory
// (design 3.1, 5).
#pragma once

#include "daemon/cli/console.h"
#include "daemon/cli/input_file.h"
#include "schema/store/store.h"

namespace giftsync::daemon {

/// Changes that are accepted in one transaction: enough that a transaction's own cost does not show, few
/// enough that the daemon's writers wait for some ten milliseconds at most.
inline constexpr std::size_t kChangesPerBatch = 5000;
/// Memory for what is read before any of it is accepted: some million changes.
inline constexpr std::size_t kReadBytesMax = 64 << 20;
/// Held changes that are named one by one; the others are only counted.
inline constexpr std::size_t kMostHeldNotes = 20;

/// Accepts every good line, lists every refused one as "FILE:LINE: ..." on stderr and prints the counts. What
/// was accepted stays when a later batch throws schema::BrokenWorld; importing again repeats it without harm.
/// The gifts of a file that does not fit into `read_bytes_max` rest until its end, two minutes at most, so
/// that each is synced once. Returns an exit code: 65 when a line was refused.
int import_changes(const Console& console, schema::Store& store, InputFile& input,
                   std::size_t read_bytes_max = kReadBytesMax);

}  // namespace giftsync::daemon
