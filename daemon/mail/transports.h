// daemon/mail: the two implementations of sync's port for sending mail: SMTP (libcurl) and one .eml file per
// mail.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sync/mail/mail_transport.h"

namespace giftsync::mail {

/// `directory` is created when missing. prepare() writes and syncs `.<message id>.tmp` and a marker
/// `.<message id>.here`, send() renames the first to `<message id>.eml` and syncs the directory,
/// discard_marker() removes the marker. So recover_outcome() knows the outcome of every mail that was
/// prepared in this directory, even if its file has been collected since, and returns nullopt for one that
/// was prepared elsewhere.
std::unique_ptr<sync::MailTransport> make_file_transport(const std::string& directory);

struct SmtpOptions {
  std::string url;       ///< smtp://host:port or smtps://host:port
  std::string username;  ///< empty: no AUTH
  std::string password;
  bool require_tls = true;              ///< smtp:// must upgrade by STARTTLS
  std::string ca_file;                  ///< empty: the system's authorities
  std::int64_t timeout_millis = 60000;  ///< one mail, from connect to the reply to the final dot
  std::string client_name{};            ///< in EHLO; empty: the host's name
};
std::unique_ptr<sync::MailTransport> make_smtp_transport(const SmtpOptions& options);

// Checks which SMTP options fit together, and the default of one. smtps:// and require_tls
// always mean verified TLS. Otherwise STARTTLS is used when offered, unverified, as between relays; a
// password is then sent to loopback addresses only.

/// What is wrong with the options, for the admin, with the settings key and without secrets; empty when
/// valid.
std::string smtp_options_fault(const SmtpOptions& options);

/// True when the relay must speak TLS and show a certificate that can be verified.
bool requires_verified_tls(const SmtpOptions& options);

/// What giftsync calls itself in EHLO without a setting: the host's name if it has a domain, else the domain
/// of the address that mails come from (MAIL-32). Pure.
std::string default_client_name(const std::string& host_name, const std::string& from_address);

}  // namespace giftsync::mail
