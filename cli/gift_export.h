// cli: `gift export`: gifts as a file for spreadsheets and programs, with totals for accounting. Memory holds
// one batch.
#pragma once

#include "cli/commands.h"

namespace giftsync::cli {

void add_gift_export_command(Commands& commands, CLI::App& noun);

}  // namespace giftsync::cli
