// daemon/mail: checks which SMTP options fit together, and the default of one. smtps:// and require_tls
// always mean verified TLS. Otherwise STARTTLS is used when offered, unverified, as between relays; a
// password is then sent to loopback addresses only.
#pragma once

#include <string>

#include "daemon/mail/transports.h"

namespace giftsync::daemon::mail {

/// What is wrong with the options, for the admin, with the settings key and without secrets; empty when
/// valid.
std::string smtp_options_fault(const SmtpOptions& options);

/// True when the relay must speak TLS and show a certificate that can be verified.
bool requires_verified_tls(const SmtpOptions& options);

/// What giftsync calls itself in EHLO without a setting: the host's name if it has a domain, else the domain
/// of the address that mails come from (MAIL-32). Pure.
std::string default_client_name(const std::string& host_name, const std::string& from_address);

}  // namespace giftsync::daemon::mail
