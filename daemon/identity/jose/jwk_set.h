// daemon/identity/jose: reads a JSON Web Key Set (RFC 7517): the public keys with which an OpenID provider
// signs. Pure, apart from OpenSSL.
#pragma once

#include <cstddef>
#include <optional>
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

}  // namespace giftsync::jose
