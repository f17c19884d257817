// daemon/mail: the two implementations of sync's port for sending mail: SMTP (libcurl) and one .eml file per
// mail.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sync/mail_transport.h"

namespace giftsync::daemon::mail {

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

}  // namespace giftsync::daemon::mail
