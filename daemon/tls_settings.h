// daemon: `server.tls` of the settings: the certificate and key that the listeners use, and what is wrong
// with them (OPS-48).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "daemon/config/settings.h"
#include "daemon/http/tls.h"

namespace giftsync::daemon {

/// Null when the settings have no `server.tls`. Otherwise reads the files, or says as "FILE:LINE: KEY: ..."
/// why the pair cannot be used.
tl::expected<std::shared_ptr<http::TlsContext>, std::string> make_tls(const config::Settings& settings,
                                                                      UtcMillis now);

/// "FILE:LINE: server.tls.certificate: ...": it has expired or is not valid yet, so clients refuse it. A
/// start uses it nevertheless, since mails and CRM need none (OPS-48). `tls` is that of the settings and may
/// be null.
std::optional<std::string> tls_date_fault(const config::Settings& settings, const http::TlsContext* tls,
                                          UtcMillis now);

/// The same when it expires soon, or is not for the host of a URL.
std::vector<std::string> tls_warnings(const config::Settings& settings, const http::TlsContext* tls,
                                      UtcMillis now);

/// Follows changes of the files, and tells the log: of a new pair, of one that cannot be used, and at once
/// and each day of one that expires soon or is not valid. Call it every second or so; one thread.
class TlsWatch {
 public:
  /// `tls` may be null: then nothing is watched.
  void watch(std::shared_ptr<http::TlsContext> tls) { tls_ = std::move(tls); }
  void check(const config::Settings& settings, UtcMillis now);

 private:
  std::shared_ptr<http::TlsContext> tls_;
  CertificateState state_ = CertificateState::good;  ///< at the former call
  UtcMillis warned_at_{INT64_MIN / 2};
};

}  // namespace giftsync::daemon
