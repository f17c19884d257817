#include "daemon/secret_of_store.h"

#include <cstdlib>
#include <filesystem>

#include "daemon/crypto/link_token.h"
#include "daemon/crypto/server_secret.h"
#include "daemon/unusable_settings.h"

namespace giftsync::daemon {
namespace {

constexpr const char* kFingerprintFact = "server_secret_fingerprint";

/// The file's bytes; when there is no file, a new one for a store that has never had one.
std::string read_or_create(const std::string& path, bool may_create) {
  try {
    return read_server_secret(path);
  } catch (const ServerSecretFault& fault) {
    if (fault.kind() != ServerSecretFault::Kind::missing || !may_create) throw;
  }
  try {
    return create_server_secret(path);
  } catch (const ServerSecretFault& fault) {
    if (fault.kind() != ServerSecretFault::Kind::already_exists) throw;
    return read_server_secret(path);  // another daemon made it at the same moment
  }
}

}  // namespace

std::string secret_path(const Settings& settings) {
  if (settings.store.backend == StoreBackend::sqlite) {
    return std::filesystem::path(settings.store.connection).replace_extension(".secret").string();
  }
  const char* state = std::getenv("STATE_DIRECTORY");
  const std::filesystem::path folder =
      state && *state ? std::filesystem::path(state) : std::filesystem::path(settings.file).parent_path();
  return (folder / "giftsync.secret").string();
}

std::string secret_of_store(const Settings& settings, schema::Store& store) {
  const std::string path = secret_path(settings);
  const std::optional<std::string> known = store.fact(kFingerprintFact);
  std::string secret;
  try {
    secret = read_or_create(path, !known && store.is_unused());
  } catch (const ServerSecretFault& fault) {
    throw UnusableSettings(
        std::string(fault.what()) +
        (known ? "; the links in every mail sent so far depend on it: restore it from the backup, or "
                 "copy it from the other daemon of this store"
               : ""));
  }
  const std::string fingerprint = LinkSigner(secret).fingerprint();
  if (store.settle_fact(kFingerprintFact, fingerprint) != fingerprint) {
    throw UnusableSettings(
        path +
        " is not the server secret of this store: with it every link in every mail sent so far "
        "would be dead; restore the right file from the backup, or check store.connection in " +
        settings.file);
  }
  return secret;
}

}  // namespace giftsync::daemon
