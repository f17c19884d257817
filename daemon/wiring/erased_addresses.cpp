#include "daemon/wiring/erased_addresses.h"

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "daemon/wiring/server_secret.h"
#include "schema/store/gift/erased_address.h"

namespace giftsync::wiring {
namespace {

/// Whether the store has a key that the secret, or the former one, opens.
bool open_key(store::Store& store, const ServerSecrets& secrets) {
  const std::optional<std::string> sealed = store.metadata(store::kErasedAddressKeyFact);
  auto key = sealed ? store::open_erased_address_key(secrets.current, *sealed) : std::nullopt;
  if (!key && sealed && secrets.former) key = store::open_erased_address_key(secrets.former->secret, *sealed);
  if (!key) return false;
  store.do_not_send.set_erased_address_key(std::move(*key));
  return true;
}

/// The service's secret, for a command outside of systemd.
std::optional<std::string> secret_of_service() {
  constexpr const char* kOfService = "/var/lib/giftsync/giftsync.secret";
  try {
    return read_server_secret(kOfService);
  } catch (const ServerSecretError&) {
    return std::nullopt;  // the caller does without it
  }
}

}  // namespace

void open_erased_addresses(const config::Settings& settings, store::Store& store) {
  const std::optional<ServerSecrets> secrets = readable_server_secrets(settings, store);
  if (secrets) {
    if (!store.metadata(store::kErasedAddressKeyFact))
      store.set_metadata_if_absent(store::kErasedAddressKeyFact,
                                   store::new_erased_address_key(secrets->current));
    if (open_key(store, *secrets)) return;
  }
  throw ConfigError(
      "server secret " + server_secret_path(settings) +
      ": it cannot be read, or does not open the store's key of erased addresses; run this as the service's "
      "user, or restore store and server secret from the same backup");
}

void open_erased_addresses_if_readable(const config::Settings& settings, store::Store& store) {
  if (const auto secrets = readable_server_secrets(settings, store)) {
    open_key(store, *secrets);
    return;
  }
  // Another store's secret does not open it.
  if (settings.store.backend == config::StoreBackend::sqlite) return;
  if (const auto secret = secret_of_service()) open_key(store, {*secret, {}});
}

}  // namespace giftsync::wiring
