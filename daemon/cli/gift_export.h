// daemon/cli: `gift export`: gifts as a file for spreadsheets and programs, with totals for the books. Gifts
// pass through one batch at a time.
#pragma once

#include "daemon/cli/commands.h"

namespace giftsync::daemon {

void add_gift_export_verb(Commands& commands, CLI::App& noun);

}  // namespace giftsync::daemon
