// wiring: gives the store the key of erased addresses (GUARD-17), which it keeps sealed with the server
// secret.
#pragma once

#include "daemon/config/settings.h"
#include "schema/store/store.h"

namespace giftsync::wiring {

/// Opens the store's key, or makes it at the first start. To be called after load_server_secrets() and before
/// the do-not-send list is used. Throws ConfigError when it was sealed with another server secret.
void open_erased_addresses(const config::Settings& settings, store::Store& store);

/// The same for a command: without the server secret, or with another one, nothing is opened and erased
/// people are not found by their address. For PostgreSQL the secret of the service is read, too, where this
/// user can.
void open_erased_addresses_if_readable(const config::Settings& settings, store::Store& store);

}  // namespace giftsync::wiring
