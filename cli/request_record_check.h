// cli: what keeps a request record from being sent, as JSON and as text (REQ-52).
#pragma once

#include <string>

#include "cli/cli_context.h"
#include "cli/console.h"

namespace giftsync::cli {

/// Prints all findings to `out`; exit code 0 without any, 1 with some, 65 for an unknown record.
int print_request_record_check(const Console& console, CliContext& ctx, const std::string& number, bool json);

/// Prints the findings of a record that was just approved as warnings.
void warn_of_findings(const Console& console, CliContext& ctx, const std::string& id);

}  // namespace giftsync::cli
