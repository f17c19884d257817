// cli: `gift show --mail`: the mail of a gift as its recipient reads it.
#pragma once

#include "cli/cli_context.h"
#include "cli/console.h"
#include "schema/store/store.h"

namespace giftsync::cli {

/// Prints the headers and the text of the gift's last mail, or of the one that is queued, as the settings
/// compose it now. Its links work: they are as good as the gift. Returns an exit code.
int show_mail(const Console& console, CliContext& ctx, const store::Gift& gift, bool json);

}  // namespace giftsync::cli
