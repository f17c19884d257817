// cli: `gift resend` and `gift cancel`.
#pragma once

#include "cli/commands.h"

namespace giftsync::cli {

void add_gift_action_commands(Commands& commands, CLI::App& noun);

}  // namespace giftsync::cli
