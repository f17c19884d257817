// daemon/crypto: the tokens in links (design 3.5). They are derived from the server secret, never stored:
// whoever has a token may see or take that gift, and nobody without the secret can make one.
//
//   token = key id (1 character) + base64url( kind (1 byte) + transaction id (7) + generation (4) + code (20)
//   )
//
// Numbers are big-endian; the code is HMAC-SHA256 over all that precedes it, cut to 160 bits, under a key
// derived from the secret for this use alone. 44 characters of [A-Za-z0-9_-].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schema/ids.h"

namespace giftsync::daemon {

/// What a link lets its bearer do. `view` is the CRM's own Link: status, no buttons.
enum class LinkKind { redeem, donate, view };

struct LinkClaim {
  LinkKind kind = LinkKind::view;
  schema::TransactionId transaction;
  std::int64_t generation =
      0;  ///< the caller compares it with the transaction's: an older link is no longer valid
};

/// Immutable, so from any thread.
class LinkSigner {
 public:
  /// `secret_bytes` as read_server_secret gives them. An empty secret is a bug and ends the program.
  explicit LinkSigner(std::string_view secret_bytes);

  /// The same token for the same claim. A transaction id outside 1 to kMaxId or a generation outside 0 to
  /// 2^32 - 1 is a bug and ends the program.
  std::string token(LinkKind kind, schema::TransactionId transaction, std::int64_t generation) const;

  /// The claim of a token that a signer with this secret made; nullopt for every other text.
  std::optional<LinkClaim> verify(std::string_view token) const;

  /// 32 hex digits that tell one secret from another and nothing about it; the store keeps it.
  std::string fingerprint() const;

 private:
  std::string code_of(std::string_view signed_bytes) const;

  std::string key_;
  std::string fingerprint_;
  char key_id_;  ///< which secret signed; a first sieve, not a proof
};

}  // namespace giftsync::daemon
