// wiring: the server secret, a file beside the store from which the tokens of all links are derived (OPS-5).
// Its loss invalidates every link in every mail, so it is created only for an empty store and never
// overwritten. LinkSigner::fingerprint() shows whether it is the store's own.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace giftsync::wiring {

inline constexpr std::size_t kServerSecretBytes = 32;

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
/// not_written), platform::DependencyError without random bytes.
std::string create_server_secret(const std::string& path);

}  // namespace giftsync::wiring
