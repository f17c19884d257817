// daemon/settings: the second step of reading: rules between keys, once every single value has been looked
// at.
#pragma once

#include <filesystem>
#include <string>

#include "daemon/settings/given_settings.h"

namespace giftsync::daemon {

/// Adds a fault for each required key that is missing, each key that does not apply to the chosen alternative
/// and each pair that contradicts itself; makes store.connection absolute for sqlite. Silent about what a
/// fault of the first step would make look missing or wrong.
void check_together(GivenSettings& given, const std::filesystem::path& folder);

/// The same for one element of a list, by itself.
void check_element(GivenSettings& one, const std::string& list_path);

}  // namespace giftsync::daemon
