// sync: the port for sending a composed mail. Two implementations: SMTP and one .eml file per mail
// (daemon/mail/transports.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sync/mail/delivery_rules.h"

namespace giftsync::sync {

/// A mail as bytes: RFC 5322 with CRLF line ends, not yet dot-stuffed.
struct OutgoingMail {
  std::string message_id;  ///< without angle brackets, safe as a file name: [A-Za-z0-9.@_-]+
  std::string envelope_from;
  std::string envelope_to;
  std::string bytes;
};

struct SendResult {
  SendOutcome outcome = SendOutcome::transport_error;
  std::string
      reply;  ///< the relay's reply or the system's error, one line, no secrets; for logs and `status`
  /// With a refusal or a transport_error: the relay said so in reply to RCPT, DATA or the final dot, and may
  /// mean this recipient or every mail (MAIL-27).
  bool is_ambiguous = false;
  bool is_bad_address = false;  ///< with a refusal: the relay said that the address is bad (GUARD-22)
  bool is_stopped = false;  ///< with a transport_error: stop() ended the attempt; the relay is not at fault
};

/// Used by one thread at a time, but for stop().
class MailTransport {
 public:
  virtual ~MailTransport() = default;

  /// Does everything that is possible before the mail might count as sent. Repeatable. Returns nullopt when
  /// ready for send(), else the fault (never `uncertain`).
  virtual std::optional<SendResult> prepare(const OutgoingMail& mail) = 0;

  /// Sends. The caller has durably stored that the mail may be sent. `budget_millis` is the rest of the
  /// caller's lease: after it the transport must not send the final dot.
  virtual SendResult send(const OutgoingMail& mail, std::int64_t budget_millis) = 0;

  /// From now on prepare() and send() end within about a second, unless the relay may have received the final
  /// dot. Any thread, also while another one sends.
  virtual void stop() {}

  /// prepare() and send() for the mails of one batch, in order. After a fault the mails that follow are not
  /// sent and have the same result.
  virtual std::vector<std::optional<SendResult>> prepare_all(std::span<const OutgoingMail* const> mails) {
    std::vector<std::optional<SendResult>> faults;
    for (const OutgoingMail* mail : mails) faults.push_back(prepare(*mail));
    return faults;
  }
  virtual std::vector<SendResult> send_all(std::span<const OutgoingMail* const> mails,
                                           std::int64_t budget_millis) {
    std::vector<SendResult> results;
    for (const OutgoingMail* mail : mails) {
      const bool is_over = !results.empty() && results.back().outcome == SendOutcome::transport_error &&
                           !results.back().is_ambiguous;
      results.push_back(is_over ? results.back() : send(*mail, budget_millis));
    }
    return results;
  }
  /// True when prepare() needs no answer of the relay now.
  virtual bool is_ready() const { return true; }

  /// The outcome of a mail whose sender died while sending: accepted, try_later (certainly not sent), or
  /// nullopt (unknown).
  virtual std::optional<SendResult> recover_outcome(const std::string& message_id) = 0;

  /// Call once the outcome is durably stored: deletes the data for recover_outcome().
  virtual void discard_marker(const std::string& message_id) { static_cast<void>(message_id); }

  /// Whether a daemon that died may have left markers that no mail refers to: call remove_stale_markers().
  /// It asks after it has looked, and removes nothing while a mail is being sent.
  virtual bool has_stale_markers() const { return false; }
  virtual void remove_stale_markers(const std::function<bool()>& none_is_sent) {
    static_cast<void>(none_is_sent);
  }

  /// How many mails may be marked as being sent at once. A transport whose recover_outcome() always knows the
  /// outcome can share one durable write among many; otherwise each of them could become uncertain when the
  /// sender dies.
  virtual std::size_t max_batch_size() const { return 1; }
};

}  // namespace giftsync::sync
