// daemon/identity/jose: signed JSON of an OpenID provider: its keys, and the check of its signatures. Reads a
// JSON Web Key Set (RFC 7517): the public keys with which an OpenID provider
// signs. Pure, apart from OpenSSL.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "platform/keys.h"

namespace giftsync::jose {

/// The two algorithms of tokens that are accepted: RSASSA-PKCS1-v1_5 and ECDSA over P-256, with SHA-256.
enum class JwsAlgorithm { rs256, es256 };

/// "RS256", "ES256"
std::string_view to_word(JwsAlgorithm algorithm);
/// Nullopt for any other word; upper and lower case differ.
std::optional<JwsAlgorithm> parse_algorithm(std::string_view word);

struct Jwk {
  std::string key_id;  ///< kid; empty when the key has none
  JwsAlgorithm algorithm;
  PublicKey key;
};

inline constexpr std::size_t kMaxKeys = 64;

struct JwkSet {
  std::vector<Jwk> keys;  ///< those that can verify tokens
  std::size_t ignored =
      0;  ///< of another type, use or algorithm, unreadable, too weak, or with private parts
};

/// What is wrong as a clause that follows "the provider's keys are": not JSON (OIDC-4's strictness), no list
/// `keys`, more than kMaxKeys keys (OIDC-1). One unusable key does not spoil the others.
tl::expected<JwkSet, std::string> parse_jwk_set(std::string_view document);

// Verifies a signed token in its compact form (RFC 7515) with the keys that a provider
// publishes (OIDC-4). The key always comes from the set, never from the token. Pure, apart from OpenSSL.

inline constexpr std::size_t kMaxTokenBytes = std::size_t{64} * 1024;

struct VerifiedJws {
  std::string type;  ///< the header's typ, as sent; empty when it has none
  std::string payload;
};

struct JwsRefusal {
  enum class Reason {
    malformed,    ///< not three parts of canonical base64url, or a header that is no strict JSON object
    header,       ///< a member that could lead to another key or another meaning
    algorithm,    ///< not one of `allowed`
    unknown_key,  ///< no key of the set fits, or several do, or the token names none and its signature does
                  ///< not hold; the provider may have new keys
    signature
  };
  Reason reason;
  std::string text;  ///< a clause that follows "the token"
};

/// The token's payload once its signature holds. Its header's `kid` must name one key of its algorithm;
/// without `kid` the set must have exactly one such key. `allowed`: words of JwsAlgorithm; others allow
/// nothing.
tl::expected<VerifiedJws, JwsRefusal> verify_jws(std::string_view compact, const JwkSet& keys,
                                                 std::span<const std::string> allowed);

}  // namespace giftsync::jose
