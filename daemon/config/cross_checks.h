// daemon/config: the second step of reading: rules between keys, after every single value was checked.
#pragma once

#include <filesystem>
#include <string>

#include "daemon/config/parsed_config.h"

namespace giftsync::config {

/// Adds a fault for each missing required key, each key that does not apply to the chosen alternative and
/// each contradictory pair; makes store.connection absolute for sqlite. Does not report consequences of
/// faults of the first step.
void cross_check(ParsedConfig& parsed, const std::filesystem::path& folder);

/// The same for one element of a list.
void cross_check_element(ParsedConfig& config, const std::string& list_path);

}  // namespace giftsync::config
