// daemon/cli: `backfill gift-records` and `backfill status-timestamps` (design 5).
#include <memory>

#include "daemon/cli/backfill_run.h"
#include "daemon/cli/commands.h"

namespace giftsync::daemon {
namespace {

void add_common_words(CLI::App* verb, BackfillWords& words) {
  verb->add_flag("--dry-run", words.dry_run, "Show what would change and write nothing");
  verb->add_flag("--restart", words.restart, "Begin anew, even if a run was ended half-way");
  verb->add_flag("--json", words.json,
                 "Print a JSON object: each gift that something is said of, and the summary");
}

}  // namespace

void add_backfill_commands(Commands& commands) {
  CLI::App* noun = commands.noun("backfill", "Bringing gift records up to what is known");
  const auto records = std::make_shared<BackfillWords>();
  CLI::App* verb = commands.verb(*noun, "gift-records",
                                 "Compare store and CRM gift by gift. Records that are missing are made, "
                                 "fields that giftsync owns (Status, "
                                 "its timestamps, money) are put right, other differences are told and left, "
                                 "and gift records from before "
                                 "giftsync are adopted, so that changes apply to them. Runs beside the "
                                 "daemon; ended half-way, it goes on "
                                 "where it stopped.",
                                 {"backfill gift-records --dry-run", "backfill gift-records",
                                  "backfill gift-records --recreate", "backfill gift-records --json"});
  verb->add_flag("--recreate", records->recreate,
                 "Make records again that were deleted in the CRM; else they are only told");
  add_common_words(verb, *records);
  commands.run(verb, [records](const Console& console, Installation& place) {
    return backfill_gift_records(console, place, *records);
  });
  const auto times = std::make_shared<BackfillWords>();
  verb = commands.verb(
      *noun, "status-timestamps",
      "Fill empty timestamps of gift records from the old status log (crm.status_log in the settings), which "
      "package version 1.1 kept. What is filled already is left as it is. Runs beside the daemon; ended "
      "half-way, it goes on where it stopped.",
      {"backfill status-timestamps --dry-run", "backfill status-timestamps"});
  add_common_words(verb, *times);
  commands.run(verb, [times](const Console& console, Installation& place) {
    return backfill_status_timestamps(console, place, *times);
  });
}

}  // namespace giftsync::daemon
