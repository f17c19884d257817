// daemon/mail: how a finished mail leaves the house. Two ways: SMTP (libcurl) and one .eml file a mail.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "sync/delivery_rules.h"

namespace giftsync::daemon {

/// A mail as bytes: RFC 5322 with CRLF line ends, not yet dot-stuffed.
struct OutgoingMail {
  std::string message_id;  ///< without angle brackets, safe as a file name: [A-Za-z0-9.@_-]+
  std::string envelope_from;
  std::string envelope_to;
  std::string bytes;
};

using sync::SendVerdict;

struct SendResult {
  SendVerdict verdict = SendVerdict::transport_fault;
  std::string
      reply;  ///< the relay's own words or the system's error, one line, no secrets; for logs and `status`
};

/// Used by one thread at a time.
class MailTransport {
 public:
  virtual ~MailTransport() = default;

  /// Everything that can be done before the mail might count as sent. Repeatable. Nullopt when ready for
  /// send(), else the fault (never `uncertain`).
  virtual std::optional<SendResult> prepare(const OutgoingMail& mail) = 0;

  /// Sends. The caller has durably written that it may be sent. `budget_millis` is how long the caller holds
  /// its lease: past it the transport must not send the final dot.
  virtual SendResult send(const OutgoingMail& mail, std::int64_t budget_millis) = 0;

  /// What is known of a mail that was being sent when its sender died: accepted, try_later (certainly not
  /// sent), or nullopt (nobody knows).
  virtual std::optional<SendResult> recall(const std::string& message_id) = 0;

  /// What became of the mail is durably written: nothing that was kept for recall() is needed any more.
  virtual void forget(const std::string& message_id) { static_cast<void>(message_id); }

  /// Whether a daemon that died may have left things that nobody will ask for: call forget_leftovers() when
  /// no mail is under way.
  virtual bool has_leftovers() const { return false; }
  virtual void forget_leftovers() {}

  /// How many mails may be under way at once when their sender dies. Those of a transport whose recall()
  /// always knows cost nothing then, so many can share one durable write; else each one more could become
  /// uncertain.
  virtual std::size_t mails_at_once() const { return 1; }
};

/// `directory` is made when missing. prepare() writes and syncs `.<message id>.tmp` and an empty
/// `.<message id>.here`, send() renames the first to `<message id>.eml` and syncs the directory, forget()
/// removes the second. So recall() knows of every mail that was prepared in this directory, though its file
/// may have been collected since, and does not pretend to know of one that was prepared in another.
std::unique_ptr<MailTransport> make_file_transport(const std::string& directory);

struct SmtpOptions {
  std::string url;       ///< smtp://host:port or smtps://host:port
  std::string username;  ///< empty: no AUTH
  std::string password;
  bool require_tls = true;              ///< smtp:// must upgrade by STARTTLS
  std::string ca_file;                  ///< empty: the system's authorities
  std::int64_t timeout_millis = 60000;  ///< one mail, from connect to the reply to the final dot
};
std::unique_ptr<MailTransport> make_smtp_transport(const SmtpOptions& options);

}  // namespace giftsync::daemon
