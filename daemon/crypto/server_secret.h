// daemon/crypto: the server secret, a small file beside the store from which the tokens of all links are
// derived (design 3.5). Losing it makes every link in every mail invalid, so it is only made for an empty
// store and never overwritten; whether it is the store's own is told by LinkSigner::fingerprint().
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace giftsync::daemon {

inline constexpr std::size_t kServerSecretBytes = 32;

/// what() names the path, what is wrong and the next step; never the secret.
class ServerSecretFault : public std::runtime_error {
 public:
  enum class Kind {
    missing,         ///< no file there
    already_exists,  ///< a file is there that must not be overwritten; read it
    unusable,        ///< there, but not readable, open to others or not a secret
    not_written,     ///< the file system refused
  };
  ServerSecretFault(Kind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

/// The 32 bytes of the secret in `path`: 64 hex digits and a line end, in a regular file that only its owner
/// can read. Throws ServerSecretFault (missing, unusable).
std::string read_server_secret(const std::string& path);

/// Makes a new secret in `path` (mode 0600, complete and synced before it appears there) and gives its 32
/// bytes. Made by root, it belongs to the owner of its folder, so that the service can read it. Of two that
/// make it at once, one gets already_exists. Throws ServerSecretFault (already_exists, not_written),
/// schema::BrokenWorld without random bytes.
std::string create_server_secret(const std::string& path);

}  // namespace giftsync::daemon
