// platform: verification of signatures with a public key: ECDSA (SendGrid) and RSA certificates (SNS).
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

  /// Whether `signature` (DER for EC) is this key's signature of `text`.
  bool verifies(std::string_view text, std::string_view signature, SignatureHash hash) const;

 private:
  explicit PublicKey(evp_pkey_st* key);
  std::shared_ptr<evp_pkey_st> key_;
};

}  // namespace giftsync::platform
