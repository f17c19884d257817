// daemon/mail: what was said between us and the relay, and therefore what may be believed about a mail.
// libcurl's result codes do not tell in which phase a mail failed; the commands and replies themselves do.
// Pure: lines in, verdict out.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/mail/transport.h"

namespace giftsync::daemon {

/// The last thing that was said to the relay (`greeting`: nothing yet, it speaks first).
enum class SmtpMoment {
  idle,
  greeting,
  hello,
  start_tls,
  authentication,
  readiness,  ///< NOOP
  sender,     ///< MAIL FROM
  recipient,  ///< RCPT TO
  data,       ///< DATA, and the mail itself up to the final dot
  final_dot,
};

struct SmtpReply {
  SmtpMoment to = SmtpMoment::idle;
  int code = 0;
  std::string words;  ///< all lines joined by spaces, beginning with the code; cut after some 4,096 bytes
};

class SmtpDialogue {
 public:
  /// A new exchange, on the connection that is open or on a new one (which makes itself known by its
  /// greeting).
  void begin_exchange();
  /// A line that was handed to the connection. Never kept: it may hold a password.
  void command(std::string_view line);
  /// From now on the final dot may be with the relay.
  void final_dot();
  /// One line of a reply, with or without its line end.
  void reply_line(std::string_view line);

  SmtpMoment moment() const { return moment_; }
  /// The complete reply to moment(); empty while it is outstanding.
  const std::optional<SmtpReply>& reply() const { return reply_; }
  /// The negative reply after which nothing went well any more in this exchange; empty when there was none.
  const std::optional<SmtpReply>& refusal() const { return refusal_; }
  /// QUIT was said.
  bool over() const { return over_; }
  /// True when the relay accepted a login on this connection.
  bool authenticated() const { return authenticated_; }
  /// True when moment() has been answered by a code of 200 to 299.
  bool answered_well() const;
  /// True while the relay has said nothing in this exchange, or only that it closes (421) a connection which
  /// was opened for an earlier one: then the exchange may simply be held again on a new connection.
  bool nothing_began() const;

  /// What became of the mail if the exchange ends here (design 3.5). Without `login_missing` a refusal at
  /// RCPT or DATA concerns the recipient; with it (a login is set up, but the relay took none) it is the
  /// transport's fault.
  SendVerdict verdict(bool login_missing) const;

 private:
  void enter(SmtpMoment moment);

  SmtpMoment moment_ = SmtpMoment::idle;
  std::optional<SmtpReply> reply_;
  std::optional<SmtpReply> refusal_;
  std::string lines_so_far_;  ///< of a reply of several lines
  bool authenticated_ = false;
  bool greeted_ = false;  ///< this exchange opened the connection
  bool over_ = false;     ///< what follows changes nothing
};

}  // namespace giftsync::daemon
