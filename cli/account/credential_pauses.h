// cli: `key pause`, `key release`, `organization pause-token` and `organization release-token` (HTTP-51):
// what stops a credential from sending until an admin releases it.
#pragma once

#include "cli/commands.h"

namespace giftsync::cli {

void add_key_pause_commands(Commands& commands, Command& key);
void add_token_pause_commands(Commands& commands, Command& organization);

}  // namespace giftsync::cli
