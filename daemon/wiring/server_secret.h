// wiring: the server secret, a file beside the store from which the tokens of all links are derived (OPS-5).
// Its loss invalidates every link in every mail, so it is created only for an empty store and replaced only
// by a rotation (secret_rotation.h). LinkSigner::fingerprint() shows whether it is the store's own.
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "daemon/config/settings.h"
#include "platform/time.h"
#include "schema/store/server_check.h"
#include "schema/store/server_secret_facts.h"
#include "schema/store/store.h"
#include "sync/gift/gift_links.h"

namespace giftsync::wiring {

inline constexpr std::size_t kServerSecretBytes = 32;
/// Of the former secret, which is kept sealed with the present one.
inline constexpr const char* kFormerSecretLabel = "former server secret";

/// what() names the path, what is wrong and the next step; never the secret.
class ServerSecretError : public std::runtime_error {
 public:
  enum class Kind {
    missing,         ///< the file is missing
    already_exists,  ///< a file exists and must not be overwritten; read it
    unusable,        ///< exists, but is unreadable, accessible to others or not a secret
    not_written,     ///< the file system refused
  };
  ServerSecretError(Kind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

/// The 32 bytes of the secret in `path`: 64 hex digits and a line end, in a regular file that only its owner
/// can read. Throws ServerSecretError (missing, unusable).
std::string read_server_secret(const std::string& path);

/// Creates a new secret in `path` (mode 0600, complete and synced before it appears there) and returns its 32
/// bytes. When root creates it, it gets the owner of its directory, so that the service can read it. When two
/// processes create it at the same time, one gets already_exists. Throws ServerSecretError (already_exists,
/// not_written), DependencyError without random bytes.
std::string create_server_secret(const std::string& path);

// The server secret of a store (OPS-5), a file beside it. All links are derived from it, so the store
// keeps its fingerprint and rejects any other secret.

/// The secret's path: "giftsync.secret" beside "giftsync.db"; for PostgreSQL in systemd's state directory, or
/// if there is none beside the settings file.
std::string server_secret_path(const config::Settings& settings);

/// Where a rotation puts the next secret before it is the store's (OPS-38): "giftsync.secret.next".
std::string next_server_secret_path(const config::Settings& settings);

/// The daemon's memory of the store's server: "giftsync.server" beside the secret; no path for SQLite.
store::ServerFile server_file(const config::Settings& settings);
/// The same for a command, which only compares; outside of systemd also where the service keeps it.
store::ServerFile server_file_of_daemon(const config::Settings& settings);

/// Why a store that is missing must not be created: its server secret is there, so a store was lost, or the
/// settings name the wrong one (OPS-5).
std::optional<std::string> secret_without_store_fault(const config::Settings& settings);

/// Why load_server_secrets() would refuse the secret of a store that has one. Creates nothing. For PostgreSQL
/// the secret is not checked outside of systemd, which alone names its folder.
std::optional<std::string> server_secret_fault(const config::Settings& settings, store::Store& store);

/// The secret of before the last rotation (OPS-37).
struct FormerSecret {
  std::string secret;
  store::SecretRotation rotation;
};

/// New links and sealed texts are made with `current`; `former` is kept until finish_rotation() drops it.
struct ServerSecrets {
  std::string current;
  std::optional<FormerSecret> former;
};

/// The last rotation of this store's secret.
std::optional<store::SecretRotation> secret_rotation_of(store::Store& store);

/// The secrets' bytes if this process can read the file and it is the store's own; creates and throws nothing
/// because of the file.
std::optional<ServerSecrets> readable_server_secrets(const config::Settings& settings, store::Store& store);

/// The secrets' bytes. Creates the secret when the store has never had one. Where a rotation was interrupted
/// between store and file, or the next secret was copied here before it, the next secret takes its place.
/// Throws ConfigError when the secret is missing, unreadable or another store's.
ServerSecrets load_server_secrets(const config::Settings& settings, store::Store& store);
/// The same for those who only make links.
std::string load_server_secret(const config::Settings& settings, store::Store& store);

/// Whose links are valid beside those of the current secret; nullopt without a former one.
std::optional<sync::FormerSigner> former_signer(const ServerSecrets& secrets);

/// Since when all links are of the current secret; for a secret that was never rotated the earliest time.
UtcMillis links_since(store::Store& store);

/// A text that either secret has sealed; nullopt as of open_sealed_text().
std::optional<std::string> open_sealed_text(const ServerSecrets& secrets, std::string_view label,
                                            std::string_view sealed);

// Settings that are readable but unusable.

/// Wrong server secret, unknown match field...: the daemon exits with 78 (EX_CONFIG), and systemd does not
/// restart it.
class ConfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace giftsync::wiring
