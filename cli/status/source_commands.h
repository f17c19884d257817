// cli: sources of changes in other commands: the source names that commands accept: those of the settings and
// those of the store. Any other name is reported as a typing error.
#pragma once

#include <optional>
#include <string>

#include "cli/cli_context.h"

namespace giftsync::cli {

/// Nothing for a known source; else a message with the known names.
std::optional<std::string> source_fault(CliContext& ctx, const std::string& name);

/// The same for the source of a change: also accepts the reserved names under which giftsync writes changes.
std::optional<std::string> change_source_fault(CliContext& ctx, const std::string& name);

/// "last refused 2026-11-21 12:31 UTC, 12 in a row: status: found nothing"; empty when none was refused.
std::string last_refusal_text(const store::SourceSummary& row);

}  // namespace giftsync::cli
