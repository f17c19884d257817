// cli: retries failed request records after a command that may have corrected what failed (REQ-53).
#pragma once

#include "cli/cli_context.h"
#include "cli/console.h"

namespace giftsync::cli {

/// Says how many, unless there are none.
void retry_failed_requests(const Console& console, CliContext& ctx);

}  // namespace giftsync::cli
