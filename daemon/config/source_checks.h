// daemon/config: rules between the keys of one source.
#pragma once

#include <span>
#include <string_view>

#include "daemon/config/parsed_config.h"

namespace giftsync::config {

/// `config` contains one parsed source. Adds a fault for keys that a preset fixes, for keys that are missing
/// to parse its events, and for malformed secrets.
void check_source(ParsedConfig& config);

/// Names under which giftsync itself writes changes: no source may use one.
std::span<const std::string_view> reserved_source_names();

}  // namespace giftsync::config
