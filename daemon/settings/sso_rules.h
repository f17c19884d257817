// daemon/settings: rules between the keys of one single-sign-on connection, and between connections.
#pragma once

#include "daemon/settings/given_settings.h"
#include "schema/time.h"

namespace giftsync::daemon {

/// `one` holds one connection and what the file gave of it. Adds a fault for what its type needs and lacks or
/// has in vain, and what is wrong with its certificate; warns of SHA1 and of a certificate that ends soon.
void check_connection_keys(GivenSettings& one, schema::UtcMillis now);

/// Once all connections were read.
void check_sso(GivenSettings& given);

}  // namespace giftsync::daemon
