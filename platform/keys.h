// platform: certificates, public keys, the key that giftsync signs with, and texts sealed with a secret.
//
// Reads the X.509 certificate with which a SAML identity provider signs and checks its validity and strength.
// Pure, apart from OpenSSL.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "platform/time.h"

struct evp_pkey_st;

namespace giftsync {

/// A certificate that expires within this time causes a warning.
inline constexpr std::int64_t kExpiryNoticeMillis = 30 * kDayMillis;

struct CertificateInfo {
  std::string subject;  ///< "CN = idp.example.com, O = Example"
  std::string issuer;
  UtcMillis not_before;
  UtcMillis not_after;
  std::string key_type;  ///< "RSA", "EC", or what OpenSSL calls it
  int key_bits = 0;
  std::string signature_algorithm;  ///< "sha256WithRSAEncryption"
  std::string fingerprint;          ///< SHA-256, hex
};

/// The one certificate in a PEM text, or what is wrong, as a clause that follows the file's name.
tl::expected<CertificateInfo, std::string> parse_certificate(std::string_view pem);

enum class CertificateCause { expired, not_yet_valid, weak_key };

struct CertificateIssues {
  struct Fault {
    CertificateCause cause;
    std::string clause;  ///< "which expired on 2026-11-20"
  };
  std::vector<Fault> faults;
  std::vector<std::string> warnings;  ///< clauses
};
CertificateIssues validate_certificate(const CertificateInfo& info, UtcMillis now);

// Verification of signatures with a public key: ECDSA (SendGrid), RSA certificates (SNS), and the
// keys of a JSON Web Key Set, which are given as numbers.

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

// Signs with a private RSA key: the assertion (JWT, RS256) by which a server signs in without a
// password. Any thread.

inline constexpr int kMinSigningKeyBits = 2048;

class SigningKey {
 public:
  /// The private key in a PEM text (PKCS #8 or PKCS #1, without a passphrase), or what is wrong, as a clause
  /// that follows the key's name: "which is an EC key, and RS256 needs RSA". Never contains a part of the
  /// key.
  static tl::expected<SigningKey, std::string> from_pem(std::string_view pem);

  /// The RSASSA-PKCS1-v1_5 signature of `text` with SHA-256. Throws DependencyError when OpenSSL
  /// cannot sign.
  std::string sign(std::string_view text) const;

 private:
  explicit SigningKey(evp_pkey_st* key);
  std::shared_ptr<evp_pkey_st> key_;
};

/// The compact form (RFC 7515) of a JWT with the header {"alg":"RS256"}. `claims` is a JSON object.
std::string signed_jwt(const SigningKey& key, std::string_view claims);

// Encrypts a text that is stored beside other data, so that a copy of the store alone does not
// reveal it: AES-256-GCM under a key that HKDF-SHA-256 derives from a secret. Any thread.

/// `text` sealed under `secret` for the purpose `label`: printable ASCII, different at each call. Throws
/// DependencyError when OpenSSL or the generator of random bytes fails.
std::string seal_text(std::string_view secret, std::string_view label, std::string_view text);

/// What seal_text() was given; nullopt for a text that was sealed with another secret or label, or changed
/// since, or is no sealed text. Throws DependencyError when OpenSSL lacks an algorithm.
std::optional<std::string> open_sealed_text(std::string_view secret, std::string_view label,
                                            std::string_view sealed);

}  // namespace giftsync
