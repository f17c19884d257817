// platform: the certificate by which a server of this host is known, with its private key: reads both files
// and says what is wrong with them. Any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "platform/time.h"

struct evp_pkey_st;
struct x509_st;

namespace giftsync {

/// A server's certificate is renewed before this time is left; then its owner is warned.
inline constexpr std::int64_t kRenewalNoticeMillis = 14 * kDayMillis;

/// What the dates of a certificate say at a time. `ending`: it is valid, and to be renewed now.
enum class CertificateState { good, ending, expired, not_yet_valid };

struct CertificateDates {
  UtcMillis not_before;
  UtcMillis not_after;

  CertificateState state_at(UtcMillis now) const;
  /// Whether clients with the right clock take it at `now`.
  bool are_valid_at(UtcMillis now) const;
};

struct ServerCertificate {
  std::vector<std::shared_ptr<x509_st>> chain;  ///< the server's own, then the intermediate ones; never empty
  std::shared_ptr<evp_pkey_st> key;             ///< null if only the certificate was read
  CertificateDates dates;

  /// Whether it is for this name or numeric address.
  bool covers(const std::string& host) const;
};

/// What is wrong with one of the files. Never contains a part of a key.
struct CertificateFault {
  bool is_of_key = false;  ///< else of the certificate
  std::string found;       ///< "/etc/tls/server.pem, which expired on 2026-11-20"
  std::string next_step;   ///< of this cause alone
};

/// The certificates of a PEM file, whatever their dates.
tl::expected<ServerCertificate, CertificateFault> read_server_certificate(
    const std::string& certificate_file);

/// A pair that a server can use: strong enough, the key fits, and not every user of this host can read it.
/// Whatever its dates: this host's clock may be wrong, and clients decide for themselves.
tl::expected<ServerCertificate, CertificateFault> read_server_certificate(const std::string& certificate_file,
                                                                          const std::string& key_file);

/// What is wrong with the dates of the certificate in this file at `now`; nothing while they are valid.
std::optional<CertificateFault> date_fault(const std::string& certificate_file, const CertificateDates& dates,
                                           UtcMillis now);

}  // namespace giftsync
