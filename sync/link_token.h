// sync: the tokens in links (PAGE-1). They are derived from the server secret and never stored. A token lets
// its bearer view or claim that gift; without the secret no valid token can be made.
//
//   token = key id (1 character) + base64url(payload)
//   payload = kind (1 byte) + transaction id (7) + generation (4) + code (20)
//
// Numbers are big-endian. The code is HMAC-SHA256 over everything before it, cut to 160 bits, under a key
// that is derived from the secret for this purpose only. 44 characters of [A-Za-z0-9_-].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schema/ids.h"

namespace giftsync::sync {

/// What a link permits. `view` is the CRM's own Link: status, no buttons.
enum class LinkKind { redeem, donate, view };

struct LinkPayload {
  LinkKind kind = LinkKind::view;
  schema::TransactionId transaction;
  std::int64_t generation =
      0;  ///< the caller compares it with the transaction's: an older link is no longer valid
};

/// Immutable. Any thread.
class LinkSigner {
 public:
  /// `secret_bytes` as read_server_secret returns them. An empty secret is a bug and aborts.
  explicit LinkSigner(std::string_view secret_bytes);

  /// The same payload gives the same token. A transaction id outside 1 to kMaxId or a generation outside 0 to
  /// 2^32 - 1 is a bug and aborts.
  std::string token(LinkKind kind, schema::TransactionId transaction, std::int64_t generation) const;

  /// The payload of a token that a signer with this secret made; nullopt for any other text.
  std::optional<LinkPayload> verify(std::string_view token) const;

  /// 32 hex digits that identify a secret without revealing it; the store keeps them.
  std::string fingerprint() const;

  /// 16 hex digits of a keyed hash: they change with `settings`, and without the secret nothing about them
  /// can be found out, passwords included.
  std::string settings_fingerprint(std::string_view settings) const;

 private:
  std::string mac_of(std::string_view signed_bytes) const;

  std::string key_;
  std::string fingerprint_;
  std::string settings_key_;
  char key_id_;  ///< which secret signed; a quick filter, no proof
};

}  // namespace giftsync::sync
