// platform: verification of signatures with a public key: ECDSA (SendGrid), RSA certificates (SNS), and the
// keys of a JSON Web Key Set, which are given as numbers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct evp_pkey_st;

namespace giftsync::platform {

enum class SignatureHash { sha1, sha256 };

class PublicKey {
 public:
  /// Parses a SubjectPublicKeyInfo in base64, as SendGrid shows it, with or without PEM lines. EC keys only.
  static std::optional<PublicKey> from_base64(std::string_view text);
  /// Reads the RSA key of an X.509 certificate (PEM) that is valid now.
  static std::optional<PublicKey> from_certificate(std::string_view pem);
  /// The RSA key of a modulus of 2048 to 8192 bits and an exponent, both as bytes, highest first. Refuses
  /// even numbers, the exponent 1 and keys of the kind that CVE-2017-15361 (ROCA) lets factor.
  static std::optional<PublicKey> from_rsa_numbers(std::string_view modulus, std::string_view exponent);
  /// The key of a point of the curve P-256; each coordinate has 32 bytes, highest first.
  static std::optional<PublicKey> from_p256_point(std::string_view x, std::string_view y);

  /// Whether `signature` (DER for EC) is this key's signature of `text`.
  bool verifies(std::string_view text, std::string_view signature, SignatureHash hash) const;
  /// The same for an EC key of P-256 and SHA-256, with the signature as r and s of 32 bytes each (RFC 7518).
  bool verifies_p256_pair(std::string_view text, std::string_view signature) const;

 private:
  explicit PublicKey(evp_pkey_st* key);
  std::shared_ptr<evp_pkey_st> key_;
};

}  // namespace giftsync::platform
