// daemon/settings: rules between the keys of one source.
#pragma once

#include <span>
#include <string_view>

#include "daemon/settings/given_settings.h"

namespace giftsync::daemon {

/// `one` holds one source and what the file gave of it. Adds a fault for what a preset settles already, for
/// what is missing to read its reports, and for secrets of a wrong form.
void check_source(GivenSettings& one);

/// Under these names giftsync itself writes changes: no source may have one.
std::span<const std::string_view> own_source_names();

}  // namespace giftsync::daemon
