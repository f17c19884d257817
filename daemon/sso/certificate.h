// daemon/sso: the X.509 certificate with which a SAML identity provider signs: what stands in it, and whether
// one would rely on it. Pure, apart from OpenSSL.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "schema/time.h"

namespace giftsync::daemon {

/// From this long before its end on a certificate is warned of.
inline constexpr std::int64_t kCertificateNoticeMillis = 30 * schema::kDayMillis;

struct CertificateFacts {
  std::string subject;  ///< "CN = idp.example.com, O = Example"
  std::string issuer;
  schema::UtcMillis not_before;
  schema::UtcMillis not_after;
  std::string key_type;  ///< "RSA", "EC", or what OpenSSL calls it
  int key_bits = 0;
  std::string signature;    ///< "sha256WithRSAEncryption"
  std::string fingerprint;  ///< SHA-256, hex
};

/// The one certificate in a PEM text; or what is wrong, as a clause that follows the file's name.
std::variant<CertificateFacts, std::string> read_certificate(std::string_view pem);

struct CertificateJudgement {
  std::vector<std::string> faults;    ///< clauses: "which expired on 2026-11-20"
  std::vector<std::string> warnings;  ///< the same
};
CertificateJudgement judge_certificate(const CertificateFacts& facts, schema::UtcMillis now);

}  // namespace giftsync::daemon
