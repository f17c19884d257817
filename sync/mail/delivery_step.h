// sync: sends the mail outbox (MAIL-5), over several connections at once (MAIL-30). For each mail: prepare,
// store durably that it may be sent, send, store the outcome durably. So a mail can be sent twice only when
// the daemon died, or the connection broke, between the final dot and the record of its reply, and such a row
// is `uncertain` first.
#pragma once

#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "platform/log_line.h"
#include "platform/time.h"
#include "platform/ttl_cache.h"
#include "schema/store/store.h"
#include "sync/gift/gift_event.h"
#include "sync/mail/claimed_mails.h"
#include "sync/mail/mail_transport.h"
#include "sync/mail/relay_health.h"

namespace giftsync::sync {

/// What distinguishes the mails of one gift.
struct MailIdentity {
  std::string message_id;    ///< without angle brackets
  bool is_reminder = false;  ///< a second mail about a gift that was mailed some days ago
  UtcMillis date;            ///< when the gift was sent, or this mail ordered
};
/// The mail that a gift's outbox row stands for: the gift's first, a resend or a reminder.
struct OrderedMail {
  std::string message_id;  ///< empty before its first sending
  MailKind kind = MailKind::gift;
  std::int64_t number = 1;
  UtcMillis ordered_at;  ///< of a resend or reminder
};
/// Returns the same mail for the same gift and identity, so that a retry has the same bytes.
using ComposeMail = std::function<OutgoingMail(const store::Gift&, const MailIdentity&)>;
/// The mail to an approver or admin.
using ComposeApproverMail = std::function<OutgoingMail(const store::ApproverMail&, const MailIdentity&)>;
/// The mail to a sender of gifts that became undelivered.
using ComposeSenderMail = std::function<OutgoingMail(const store::SenderMail&, const MailIdentity&)>;
/// The mail with a sign-in link.
using ComposeSignInMail = std::function<OutgoingMail(const store::SignInMail&, const MailIdentity&)>;

struct DeliveryRules {
  std::string owner;            ///< lease owner
  std::string from_address;     ///< email.from; its domain is the one of Message-IDs
  std::string installation_id;  ///< makes Message-IDs globally unique
  std::string daemon{};         ///< host and address: a pause is this daemon's alone
  std::string relay{};          ///< fingerprint of the relay's settings: a pause of another one does not hold
  DeliveryPolicy policy;
  ComposeMail compose;
  ComposeApproverMail compose_for_approver = {};  ///< needed where notices are queued
  ComposeSenderMail compose_for_sender = {};      ///< needed where notices of senders are queued
  ComposeSignInMail compose_for_sign_in = {};     ///< needed where links are asked for
  /// Why a gift's mail must not leave for this address now (GUARD-3); called by any thread. Absent: all may.
  std::function<std::optional<std::string>(const std::string& email)> refuse_mail = {};
  /// True while links in mails would be of an ended secret: none leaves. Called by any thread.
  std::function<bool(UtcMillis now)> have_links_ended = {};
  /// For so long a bad address is on the do-not-send list (GUARD-22). Absent: it is not listed.
  std::optional<std::int64_t> bounce_days = {};
};

/// In the form gift-41.1.8f3a...@example.com: the same for every attempt, a new one for a resend. Further
/// mails of the gift are numbered, so that a report about a reminder does not apply to the gift. Pure.
MailIdentity mail_identity(const store::Gift& gift, const OrderedMail& mail, const std::string& from_address,
                           const std::string& installation_id);

struct DeliveryStats {
  std::size_t accepted = 0;
  std::size_t undelivered = 0;
  std::size_t deferred = 0;  ///< will be retried
  std::size_t uncertain = 0;
  bool more = false;                ///< more mails may be due now
  std::vector<LogLine> warnings;    ///< for the operator
  std::vector<LogLine> info_lines;  ///< at info level
  std::vector<GiftEvent> events;    ///< of the accepted mails
};

/// What the connections of one daemon share. `store` and `rules` must outlive it; the rules do not change
/// while a step runs.
class MailDelivery {
 public:
  /// `now` is called by any thread, before each mail, because sending takes time. `mails_at_once`: of one
  /// connection (MailTransport::max_batch_size).
  MailDelivery(store::Store& store, const DeliveryRules& rules, std::size_t connections,
               std::size_t mails_at_once, std::function<UtcMillis()> now);

  static constexpr std::size_t kMaxMailsPerStep = 200;
  /// While callers wait for a response: a step must not take long, or its share of the disk is too large.
  static constexpr std::size_t kMaxMailsPerYieldingStep = 20;

  struct Connection {
    std::size_t number = 0;  ///< from 0
    MailTransport& transport;
    bool may_give_up = true;  ///< false while the clock is in doubt (DeliveryPolicy)
    /// Called before each group is prepared and again before it is sent; when it returns false, the remaining
    /// claims are released.
    std::function<bool()> should_continue;
    std::function<void()> wake_others = [] {};  ///< more mails wait than this connection can take
    std::size_t max_mails = kMaxMailsPerStep;   ///< of this step
  };
  /// Sends up to `max_mails` mails over one connection; each connection has one step at a time, and
  /// different ones run at once. Throws DependencyError when the store fails: call
  /// release_after_fault() before the next step.
  DeliveryStats step(const Connection& connection);
  /// After a step that threw: stores the outcomes that the step could not store, then releases the mails that
  /// are claimed, and those that the step had in hand. May throw the same, and may be repeated.
  void release_after_fault(std::size_t connection);

 private:
  friend class DeliveryRun;

  /// What one connection works on; kept when its step throws.
  struct InFlight {
    std::vector<store::DeliveryClaim> claims;  ///< with the attempts of their rows, as far as known
    UtcMillis claimed_at{0};                   ///< the earliest of these claims
    /// Not sent yet; the store has not said whether they have begun.
    std::vector<AttemptWriter::Sending> beginning;
    std::vector<store::DeliveryOutcome> ended;  ///< not known to be stored
    std::vector<std::string> markers;           ///< Message-IDs to discard once these outcomes are durable
  };
  /// The pause of all mail by an admin (MAIL-36), as it was within the last second.
  store::MailPauseState admin_pause();
  void store_outcomes(InFlight& in_flight);
  void requeue_unsent(InFlight& in_flight);

  store::Store& store_;
  const DeliveryRules& rules_;
  const std::function<UtcMillis()> now_;
  ClaimedMails claimed_;
  AttemptWriter writer_;
  std::mutex health_mutex_;
  RelayHealth health_;             // guarded by health_mutex_; the stored pause changes under it too
  bool has_worked_ = false;        // guarded by health_mutex_; the relay worked since the last pause began
  bool knows_long_pause_ = false;  // guarded by health_mutex_; the end of a pause before the start was read
  /// Guarded by health_mutex_; since when mail is paused by an admin, as the log has it.
  std::optional<UtcMillis> logged_pause_;
  TtlCache<int, store::MailPauseState> admin_pause_;
  std::vector<InFlight> in_flight_;  ///< by connection; used by its thread only
};

}  // namespace giftsync::sync
