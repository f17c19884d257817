// daemon/cli: `gift resend` and `gift cancel`: what an admin does to a gift by hand.
#pragma once

#include "daemon/cli/commands.h"

namespace giftsync::daemon {

void add_gift_hand_verbs(Commands& commands, CLI::App& noun);

}  // namespace giftsync::daemon
