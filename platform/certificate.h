// platform: reads the X.509 certificate with which a SAML identity provider signs and checks its validity and
// strength. Pure, apart from OpenSSL.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "platform/time.h"

namespace giftsync::platform {

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

struct CertificateIssues {
  std::vector<std::string> faults;    ///< clauses: "which expired on 2026-11-20"
  std::vector<std::string> warnings;  ///< the same
};
CertificateIssues validate_certificate(const CertificateInfo& info, UtcMillis now);

}  // namespace giftsync::platform
