#include "wiring/server_secret_config.h"

#include <spdlog/spdlog.h>

#include <cstdlib>
#include <filesystem>

#include "sync/link_token.h"
#include "wiring/config_error.h"
#include "wiring/database_config.h"
#include "wiring/server_secret.h"

namespace giftsync::wiring {
namespace {

constexpr const char* kFingerprintFact = "server_secret_fingerprint";

std::string wrong_secret(const std::string& path, const daemon::config::Settings& settings) {
  return path +
         " is not the server secret of this store: with it every link in every mail sent so far would be "
         "invalid; restore the right file from the backup, or check store.connection in " +
         settings.file;
}

/// The file's bytes; creates the file for a store that has never had a secret.
std::string read_or_create(const std::string& path, bool may_create) {
  try {
    return read_server_secret(path);
  } catch (const ServerSecretError& fault) {
    if (fault.kind() != ServerSecretError::Kind::missing || !may_create) throw;
  }
  try {
    return create_server_secret(path);
  } catch (const ServerSecretError& fault) {
    if (fault.kind() != ServerSecretError::Kind::already_exists) throw;
    return read_server_secret(path);  // another daemon created it at the same time
  }
}

}  // namespace

std::string server_secret_path(const daemon::config::Settings& settings) {
  if (settings.store.backend == daemon::config::StoreBackend::sqlite) {
    return std::filesystem::path(settings.store.connection).replace_extension(".secret").string();
  }
  const char* state = std::getenv("STATE_DIRECTORY");
  const std::filesystem::path folder =
      state && *state ? std::filesystem::path(state) : std::filesystem::path(settings.file).parent_path();
  return (folder / "giftsync.secret").string();
}

schema::store::ServerFile server_file(const daemon::config::Settings& settings) {
  if (settings.store.backend == daemon::config::StoreBackend::sqlite) return {};
  return {.path = std::filesystem::path(server_secret_path(settings)).replace_extension(".server").string(),
          .on_write_fault = [](const std::string& fault) { spdlog::warn("{}", fault); }};
}

schema::store::ServerFile server_file_of_daemon(const daemon::config::Settings& settings) {
  constexpr const char* kOfService = "/var/lib/giftsync/giftsync.server";
  schema::store::ServerFile file = server_file(settings);
  file.may_write = false;
  std::error_code ignored_error;
  if (!file.path.empty() && !std::filesystem::exists(file.path, ignored_error)) file.path = kOfService;
  return file;
}

std::optional<std::string> secret_without_store_fault(const daemon::config::Settings& settings) {
  const std::string path = server_secret_path(settings);
  std::error_code ignored_error;
  if (!std::filesystem::exists(path, ignored_error)) return std::nullopt;
  return store_location(settings) + ": there is no store, but its server secret is there (" + path +
         "): restore the store from its backup, or correct store.connection in " + settings.file +
         "; to begin with an empty store, move the secret away";
}

std::optional<std::string> server_secret_fault(const daemon::config::Settings& settings,
                                               schema::store::Store& store) {
  const bool is_beside_store = settings.store.backend == daemon::config::StoreBackend::sqlite;
  if (!is_beside_store && std::getenv("STATE_DIRECTORY") == nullptr) return std::nullopt;
  const std::string path = server_secret_path(settings);
  const std::optional<std::string> known = store.fact(kFingerprintFact);
  if (!known) return std::nullopt;
  try {
    if (sync::LinkSigner(read_server_secret(path)).fingerprint() == *known) return std::nullopt;
    return wrong_secret(path, settings);
  } catch (const ServerSecretError& fault) {
    return fault.what();
  }
}

std::optional<std::string> readable_server_secret(const daemon::config::Settings& settings,
                                                  schema::store::Store& store) {
  try {
    std::string secret = read_server_secret(server_secret_path(settings));
    if (sync::LinkSigner(secret).fingerprint() == store.fact(kFingerprintFact)) return secret;
  } catch (const ServerSecretError&) {
    // The caller does without it.
  }
  return std::nullopt;
}

std::string load_server_secret(const daemon::config::Settings& settings, schema::store::Store& store) {
  const std::string path = server_secret_path(settings);
  const std::optional<std::string> known = store.fact(kFingerprintFact);
  std::string secret;
  try {
    secret = read_or_create(path, !known && store.is_unused());
  } catch (const ServerSecretError& fault) {
    throw ConfigError(
        std::string(fault.what()) +
        (known ? "; the links in every mail sent so far depend on it: restore it from the backup, or "
                 "copy it from the other daemon of this store"
               : ""));
  }
  const std::string fingerprint = sync::LinkSigner(secret).fingerprint();
  if (store.set_metadata_if_absent(kFingerprintFact, fingerprint) != fingerprint) {
    throw ConfigError(wrong_secret(path, settings));
  }
  return secret;
}

}  // namespace giftsync::wiring
