// cli: the rules by which commands match gifts again.
#pragma once

#include "cli/cli_context.h"
#include "sync/rematch.h"

namespace giftsync::cli {

/// Those of the settings, by the user at the command line.
sync::RematchRules rematch_rules(const CliContext& ctx);

}  // namespace giftsync::cli
