// cli: the do-not-send list as CSV with the columns pattern, reason, comment and expires_at, of which only
// the first must be there.
#pragma once

#include <cstddef>
#include <istream>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "cli/console.h"
#include "platform/time.h"
#include "schema/store/gift/do_not_send.h"

namespace giftsync::cli {

/// As many entries keep the list in memory small (GUARD-2).
inline constexpr std::size_t kMaxImportedEntries = 1'000'000;

struct DoNotSendCsv {
  static constexpr std::size_t kMaxListedFaults = 20;

  std::vector<store::DoNotSendEntry> entries;  ///< each pattern once, without added_at
  std::vector<std::string> faults;             ///< "list.csv:3: ...", the first ones
  std::size_t fault_count = 0;                 ///< use the entries only if it is 0
};

/// The words of all reasons, the strongest first.
std::vector<std::string> do_not_send_reasons();

/// An empty reason is blocked.
DoNotSendCsv parse_do_not_send_csv(std::istream& in, const std::string& name, UtcMillis now);

/// A day, which ends the entry at its beginning, or a time, behind `now`; else what was found and is allowed.
tl::expected<UtcMillis, std::string> read_entry_end(const std::string& text, UtcMillis now);

/// Asks about patterns such as "com" and "*.gov", which cover very much. Nothing if the command may go on;
/// else its exit code, after a message.
std::optional<int> refuse_top_level(const Console& console, bool yes,
                                    const std::vector<store::DoNotSendEntry>& entries);

}  // namespace giftsync::cli
