// schema/store: what the store keeps of the server secret (OPS-5, OPS-37): fingerprints, the last rotation,
// and the texts that the secret seals. Never a secret that is readable. Any thread. A database error throws
// DependencyError.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/time.h"
#include "schema/sql/dsn.h"

namespace giftsync::sql {
class Database;
}

namespace giftsync::store {

/// Names in the store's metadata.
inline constexpr const char* kSecretFingerprintFact = "server_secret_fingerprint";
inline constexpr const char* kSecretRotationFact = "server_secret_rotation";

/// The last exchange of the server secret.
struct SecretRotation {
  std::string former_fingerprint;
  UtcMillis rotated_at;
  UtcMillis links_until;      ///< links of the former secret are valid until then
  std::string sealed_former;  ///< the former secret, sealed with the present one; empty once it is dropped

  bool operator==(const SecretRotation&) const = default;
};

std::string to_text(const SecretRotation& rotation);
/// The value of kSecretRotationFact; nullopt for another text.
std::optional<SecretRotation> secret_rotation_from(const std::string& text);

/// Texts that the server secret seals: a column of a table, whose column `key` tells the rows apart.
struct SealedColumn {
  std::string_view table;
  std::string_view key;
  std::string_view column;
  std::string_view label;      ///< as given to seal_text()
  std::string_view only = {};  ///< the key of the only row that is sealed; empty: all rows with a text are
};

struct SealedText {
  std::string key;
  std::string text;
};

class ServerSecretFacts {
 public:
  /// Shares the connections of a Store of the same dsn.
  explicit ServerSecretFacts(const sql::Dsn& dsn);

  /// From now on `fingerprint` is the store's. False, without a change, when rotation.former_fingerprint is
  /// not the store's any more.
  bool rotate(const std::string& fingerprint, const SecretRotation& rotation);
  /// Removes the sealed former secret of this rotation. False when it is another one or has none.
  bool drop_former(const SecretRotation& rotation);

  std::vector<SealedText> sealed_texts(const SealedColumn& column);
  /// False, without a change, when the row has another text than `before`.
  bool replace(const SealedColumn& column, const SealedText& before, const std::string& text);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::store
