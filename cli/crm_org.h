// cli: what `crm check` says of an org of Salesforce.
#pragma once

#include "cli/cli_context.h"
#include "cli/console.h"

namespace giftsync::cli {

/// Signs in to the org, or says why that fails. Returns the exit code.
int check_org(const Console& console, const CliContext& ctx, bool json);

}  // namespace giftsync::cli
