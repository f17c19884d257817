// platform: signs with a private RSA key: the assertion (JWT, RS256) by which a server signs in without a
// password. Any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

struct evp_pkey_st;

namespace giftsync::platform {

inline constexpr int kMinSigningKeyBits = 2048;

class SigningKey {
 public:
  /// The private key in a PEM text (PKCS #8 or PKCS #1, without a passphrase), or what is wrong, as a clause
  /// that follows the key's name: "which is an EC key, and RS256 needs RSA". Never contains a part of the
  /// key.
  static tl::expected<SigningKey, std::string> from_pem(std::string_view pem);

  /// The RSASSA-PKCS1-v1_5 signature of `text` with SHA-256. Throws platform::DependencyError when OpenSSL
  /// cannot sign.
  std::string sign(std::string_view text) const;

 private:
  explicit SigningKey(evp_pkey_st* key);
  std::shared_ptr<evp_pkey_st> key_;
};

/// The compact form (RFC 7515) of a JWT with the header {"alg":"RS256"}. `claims` is a JSON object.
std::string signed_jwt(const SigningKey& key, std::string_view claims);

}  // namespace giftsync::platform
