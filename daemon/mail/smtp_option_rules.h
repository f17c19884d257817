// daemon/mail: which SMTP options go together. TLS and the password: smtps:// and require_tls mean verified
// TLS, always. Otherwise STARTTLS is used when offered, unverified, as relays do among themselves; a password
// then goes to loopback addresses only.
#pragma once

#include <string>

#include "daemon/mail/transport.h"

namespace giftsync::daemon {

/// What is wrong with the options, for the admin, with the settings' key and without secrets; empty when
/// nothing is.
std::string smtp_options_fault(const SmtpOptions& options);

/// True when the relay must speak TLS and show a certificate that can be verified.
bool demands_verified_tls(const SmtpOptions& options);

}  // namespace giftsync::daemon
