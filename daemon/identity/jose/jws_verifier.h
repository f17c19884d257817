// daemon/identity/jose: verifies a signed token in its compact form (RFC 7515) with the keys that a provider
// publishes (OIDC-4). The key always comes from the set, never from the token. Pure, apart from OpenSSL.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "daemon/identity/jose/jwk_set.h"

namespace giftsync::jose {

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
