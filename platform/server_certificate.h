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

struct ServerCertificate {
  std::vector<std::shared_ptr<x509_st>> chain;  ///< the server's own, then the intermediate ones; never empty
  std::shared_ptr<evp_pkey_st> key;             ///< null if only the certificate was read
  UtcMillis not_before;
  UtcMillis not_after;

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

/// A pair that a server can use at `now`: current, strong enough, the key fits, and not every user of this
/// host can read it.
tl::expected<ServerCertificate, CertificateFault> read_server_certificate(const std::string& certificate_file,
                                                                          const std::string& key_file,
                                                                          UtcMillis now);

}  // namespace giftsync
