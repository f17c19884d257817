// cli: the rules by which commands match gifts again.
#pragma once

#include "cli/cli_context.h"
#include "matching/rematch.h"

namespace giftsync::cli {

/// Those of the settings, by the user at the command line.
matching::RematchRules rematch_rules(const CliContext& ctx);

}  // namespace giftsync::cli
