// daemon/cli: the names of sources that commands take: those of the settings, and those that the store still
// knows. A name that is neither is a typing error, and no answer of "nothing".
#pragma once

#include <optional>
#include <string>

#include "daemon/cli/installation.h"

namespace giftsync::daemon {

/// Nothing when the source is known; else a sentence that names those that are.
std::optional<std::string> unknown_source(Installation& place, const std::string& name);

/// Likewise for a source of changes: giftsync itself writes some, under names of its own.
std::optional<std::string> unknown_change_source(Installation& place, const std::string& name);

}  // namespace giftsync::daemon
