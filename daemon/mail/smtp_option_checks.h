// daemon/mail: checks which SMTP options fit together. smtps:// and require_tls always mean verified TLS.
// Otherwise STARTTLS is used when offered, unverified, as between relays; a password is then sent to loopback
// addresses only.
#pragma once

#include <string>

#include "daemon/mail/transports.h"

namespace giftsync::daemon::mail {

/// What is wrong with the options, for the admin, with the settings key and without secrets; empty when
/// valid.
std::string smtp_options_fault(const SmtpOptions& options);

/// True when the relay must speak TLS and show a certificate that can be verified.
bool requires_verified_tls(const SmtpOptions& options);

}  // namespace giftsync::daemon::mail
