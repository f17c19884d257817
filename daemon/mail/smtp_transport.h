// daemon/mail: passes a mail's bytes to libcurl and stops permanently when the sender's lease has expired. A
// process that was suspended and resumed thus cannot finish a mail that another sender may have taken over
// (MAIL-5).
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/mail/transports.h"

namespace giftsync::mail {

// Tracks the SMTP dialogue with the relay and derives the outcome of a mail. libcurl's result
// codes do not show in which phase a mail failed; the commands and replies do. Pure: lines in, outcome out.

/// The last command sent to the relay (`greeting`: none yet, the relay speaks first).
enum class SmtpPhase {
  idle,
  greeting,
  hello,
  start_tls,
  authentication,
  readiness,  ///< NOOP
  sender,     ///< MAIL FROM
  recipient,  ///< RCPT TO
  data,       ///< DATA and the mail itself up to the final dot
  final_dot,
};

struct SmtpReply {
  SmtpPhase phase = SmtpPhase::idle;
  int code = 0;
  std::string text;  ///< all lines joined by spaces, beginning with the code; truncated at about 4,096 bytes
  bool names_recipient =
      false;  ///< its enhanced codes (RFC 3463) say that the recipient's address is at fault
  bool names_bad_address = false;  ///< sync::is_bad_address_code() holds for all of these codes
};

class SmtpSession {
 public:
  /// Begins a new exchange, on the open connection or on a new one (recognized by its greeting).
  void begin_exchange();
  /// A line that was sent. Never stored: it may contain a password.
  void command(std::string_view line);
  /// From now on the relay may have received the final dot.
  void final_dot();
  /// One line of a reply, with or without its line end.
  void reply_line(std::string_view line);

  SmtpPhase phase() const { return phase_; }
  /// The complete reply to phase(); empty until it has arrived.
  const std::optional<SmtpReply>& reply() const { return reply_; }
  /// The negative reply that no positive reply followed in this exchange; empty when there is none.
  const std::optional<SmtpReply>& refusal() const { return refusal_; }
  /// QUIT was sent.
  bool is_closed() const { return is_closed_; }
  /// True when the relay accepted a login on this connection.
  bool authenticated() const { return is_authenticated_; }
  /// True when the reply to phase() has a code of 200 to 299.
  bool is_positive_reply() const;
  /// True while the relay has sent nothing in this exchange, or only the closing (421) of a connection that
  /// an earlier exchange opened: the exchange may then be repeated on a new connection.
  bool may_retry_on_new_connection() const;

  /// The outcome of the mail if the exchange ends here (MAIL-1, MAIL-2, MAIL-3). Without `login_missing` a
  /// refusal at RCPT or DATA may concern the recipient; with it (a login is configured, but the relay
  /// accepted none) it is the transport's fault.
  sync::SendOutcome outcome(bool login_missing) const;
  /// True when that outcome is a refusal whose enhanced code does not name the recipient, or a transport
  /// error by a reply to RCPT, DATA or the final dot: the relay may mean this recipient or every mail
  /// (MAIL-27).
  bool is_ambiguous(bool login_missing) const;

 private:
  void enter(SmtpPhase phase);

  SmtpPhase phase_ = SmtpPhase::idle;
  std::optional<SmtpReply> reply_;
  std::optional<SmtpReply> refusal_;
  std::string partial_reply_;  ///< the lines so far of a multi-line reply
  std::optional<bool> names_bad_address_;
  std::optional<bool> names_recipient_;  ///< what the enhanced codes of these lines say; none: they have none
  bool is_authenticated_ = false;
  bool was_greeted_ = false;  ///< this exchange opened the connection
  bool is_closed_ = false;    ///< later lines are ignored
};

/// Milliseconds of a clock that keeps running while the process or the machine is suspended.
using LeaseClock = std::function<std::int64_t()>;

class BoundedBody {
 public:
  /// `bytes` must outlive the body. `deadline_millis` is a time of `clock`.
  BoundedBody(std::string_view bytes, std::int64_t deadline_millis, LeaseClock clock);

  /// Copies at most `size` bytes and returns their number. 0: all bytes were read, the final dot may follow.
  /// Nullopt: the lease has expired and the mail must be aborted; every later call returns nullopt too.
  std::optional<std::size_t> read(char* buffer, std::size_t size);

  bool lease_over() const { return lease_over_; }

 private:
  std::string_view remaining_;
  std::int64_t deadline_millis_;
  LeaseClock clock_;
  bool lease_over_ = false;
};

// one-line descriptions of relay errors for the admin, with the next step and without secrets.

/// Describes a transport fault: the relay's refusal if there is one, else libcurl's `code` and message.
std::string describe_error(const SmtpSession& session, CURLcode code, std::string_view curl_message);

/// One printable line of well-formed UTF-8, at most 500 code points, in which no `secrets` (nor their base64)
/// remain: some relays repeat the command that they refuse.
std::string as_log_line(std::string_view text, const std::vector<std::string>& secrets);

}  // namespace giftsync::mail
