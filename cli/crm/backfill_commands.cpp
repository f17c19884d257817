// cli: `backfill gift-records` and `backfill status-timestamps` (SYNC-51, SYNC-59).
#include <memory>

#include "cli/commands.h"
#include "cli/resumable_run.h"

namespace giftsync::cli {
namespace {

void add_common_options(Command* verb, BackfillOptions& options) {
  verb->add_flag("--dry-run", options.dry_run, "Show what would change and write nothing");
  verb->add_flag("--restart", options.restart, "Start over, even after an interrupted run");
  verb->add_flag("--json", options.json, "Print a JSON object: each gift with a result, and the summary");
}

}  // namespace

void add_backfill_commands(Commands& commands) {
  Command* noun = commands.noun("backfill", "Reconcile gift records with the store");
  const auto records = std::make_shared<BackfillOptions>();
  Command* verb =
      commands.verb(*noun, "gift-records",
                    "Compare store and CRM gift by gift. Creates missing records, repairs fields that "
                    "giftsync owns (Status, its timestamps, money), only reports other differences, "
                    "and adopts gift records from before giftsync, so that changes apply to them. The "
                    "daemon may run at the same time. An interrupted run resumes where it stopped.",
                    {"backfill gift-records --dry-run", "backfill gift-records",
                     "backfill gift-records --recreate", "backfill gift-records --json"});
  verb->add_flag("--recreate", records->recreate,
                 "Recreate records that were deleted in the CRM; by default they are only reported");
  add_common_options(verb, *records);
  commands.run(verb, records, backfill_gift_records);
  const auto times = std::make_shared<BackfillOptions>();
  verb = commands.verb(
      *noun, "status-timestamps",
      "Fill empty timestamps of gift records from the old status log (crm.status_log in the settings), which "
      "package version 1.1 kept. Filled timestamps stay unchanged. The daemon may run at the same "
      "time. An interrupted run resumes where it stopped.",
      {"backfill status-timestamps --dry-run", "backfill status-timestamps"});
  add_common_options(verb, *times);
  commands.run(verb, times, backfill_status_timestamps);
}

}  // namespace giftsync::cli
