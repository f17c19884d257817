// daemon/config: rules between the keys of one single-sign-on connection, and between connections.
#pragma once

#include "daemon/config/parsed_config.h"
#include "platform/time.h"

namespace giftsync::daemon::config {

/// `one` contains one parsed connection. Adds a fault for keys that its type requires or does not use, and
/// for its certificate; warns of SHA1 and of a certificate that expires soon.
void check_connection_keys(ParsedConfig& one, platform::UtcMillis now);

/// Call it after all connections were parsed.
void check_sso(ParsedConfig& given);

}  // namespace giftsync::daemon::config
