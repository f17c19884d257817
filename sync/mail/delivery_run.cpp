#include "sync/mail/delivery_run.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "platform/text.h"
#include "schema/contact_normalization.h"

namespace giftsync::sync {
namespace {

using store::DeliveryClaim;
using store::DeliveryOutcome;

/// After a pause: mails to choose from, so that the same recipients do not decide again (MAIL-27).
constexpr std::size_t kMaxTestMails = 12;
/// After this budget the transport aborts before the final dot, so that a daemon that was suspended for
/// longer than its lease cannot send a mail that another daemon has claimed.
constexpr std::int64_t kSendBudgetMillis = 80'000;
static_assert(kSendBudgetMillis < kSendingLeaseMillis);

OutgoingMail compose(const ClaimedMail& mail, const DeliveryRules& rules) {
  const OrderedMail ordered{mail.claim.message_id, mail.claim.kind, mail.claim.number, mail.claim.ordered_at};
  const MailIdentity identity = mail_identity(mail.gift, ordered, rules.from_address, rules.installation_id);
  switch (mail.claim.kind) {
    case MailKind::approval:
      return rules.compose_for_approver(mail.of_approver, identity);
    case MailKind::sender:
      return rules.compose_for_sender(mail.of_sender, identity);
    case MailKind::sign_in:
      return rules.compose_for_sign_in(mail.of_sign_in, identity);
    case MailKind::gift:
    case MailKind::reminder:
    case MailKind::test:
      return rules.compose(mail.gift, identity);
  }
  std::abort();  // a value outside its enumeration: a bug
}

std::string obsolete_reason(MailKind kind) {
  if (kind == MailKind::approval) return "not sent: nothing in it is for this user any more";
  if (kind == MailKind::sender) return "not sent: it would name no gift";
  if (kind == MailKind::sign_in)
    return "not sent: its link was used or has ended, or its user gets none any more";
  return "not sent: the gift was opened or has ended";
}

/// The outcome of a mail that was not passed to the transport.
DeliveryOutcome unsent(const DeliveryClaim& claim, std::int64_t attempt, DeliveryState state, UtcMillis now,
                       const std::string& reason) {
  return {claim.transaction, attempt, state, now, reason, false, std::nullopt};
}

/// It is sent at once by the next daemon.
DeliveryOutcome stopped_before(const DeliveryClaim& claim, std::int64_t attempt, UtcMillis now) {
  return unsent(claim, attempt, DeliveryState::queued, now,
                "not sent: the daemon stopped, or loaded its settings again, before that");
}

/// GUARD-3.
std::optional<std::string> refusal_of(const ClaimedMail& mail, const DeliveryRules& rules) {
  if (!rules.refuse_mail || !is_of_gift(mail.claim.kind)) return std::nullopt;
  return rules.refuse_mail(mail.gift.transaction.email);
}

/// A gift whose first mail never left is undelivered; a further mail, or one that may have arrived, is
/// withdrawn, and the gift stays as it is.
DeliveryOutcome refused_by_policy(const DeliveryClaim& claim, const std::string& refusal, UtcMillis now) {
  const bool was_mailed =
      claim.number > 1 || claim.state == DeliveryState::uncertain || claim.uncertain_retries > 0;
  DeliveryOutcome outcome =
      unsent(claim, claim.attempt, was_mailed ? DeliveryState::withdrawn : DeliveryState::undelivered, now,
             std::string(kNotSent) + refusal);
  if (!was_mailed)
    outcome.change = store::StatusChange{{}, "mailer", claim.transaction, Status::undelivered, now, now, {}};
  return outcome;
}

struct Attempt {
  const DeliveryClaim& claim;
  std::int64_t number;
  UtcMillis day_started_at;  ///< RelayHealth::day_started_at()
};

Attempt attempt_of(const DeliveryClaim& claim, std::int64_t number, const RelayHealth& health,
                   UtcMillis now) {
  return {claim, number, health.day_started_at(claim.first_deferred_at.value_or(now), now)};
}

DeliveryOutcome outcome_of(const Attempt& attempt, const SendResult& result, UtcMillis now,
                           const DeliveryPolicy& policy) {
  const DeliveryClaim& claim = attempt.claim;
  const DeliveryTransition next = after_attempt(result.outcome, attempt.number, attempt.day_started_at, now,
                                                policy, claim.uncertain_retries);
  DeliveryOutcome outcome{claim.transaction,    attempt.number, next.state,
                          next.next_attempt_at, result.reply,   result.outcome == SendOutcome::try_later,
                          std::nullopt};
  if (next.status && claim.kind == MailKind::gift)
    outcome.change = store::StatusChange{{}, "mailer", claim.transaction, *next.status, now, now, {}};
  return outcome;
}

/// GUARD-22.
std::optional<store::DoNotSendEntry> bounce_of(const ClaimedMail& mail, const SendResult& result,
                                               const DeliveryRules& rules, UtcMillis now) {
  if (!rules.bounce_days || !result.is_bad_address || !is_of_gift(mail.claim.kind)) return std::nullopt;
  store::DoNotSendEntry entry;
  entry.pattern = email_key(mail.gift.transaction.email);
  entry.reason = DoNotSendReason::bounced;
  entry.transaction = mail.claim.transaction;
  entry.added_by = "mailer";
  entry.expires_at = now + *rules.bounce_days * kDayMillis;
  return entry;
}

/// A line about one mail: that of a gift, or of a user or sender.
LogLine line_of(LogEvent event, const DeliveryOutcome& outcome, const std::string& text) {
  const std::int64_t id = outcome.transaction.value;
  if (store::is_test_mail(outcome.transaction)) {
    LogLine line = gift_line(event, store::test_gift_of(outcome.transaction), text);
    line.message = "test " + line.message;
    return line;
  }
  if (store::is_sign_in_mail(outcome.transaction))
    return {event, "sign-in link of user " +
                       std::to_string(store::sign_in_user_of(outcome.transaction).value) + ": " + text};
  if (store::is_mail_to_sender(outcome.transaction)) return {event, "notice to a gift's sender: " + text};
  if (id < 0) return {event, "notices to user " + std::to_string(-id) + ": " + text};
  return gift_line(event, outcome.transaction, text);
}

void count(DeliveryStats& stats, const DeliveryOutcome& outcome) {
  switch (outcome.state) {
    case DeliveryState::accepted:
      ++stats.accepted;
      break;
    case DeliveryState::undelivered:
      ++stats.undelivered;
      stats.warnings.push_back(line_of(LogEvent::mail_undelivered, outcome, "undelivered: " + outcome.reply));
      break;
    case DeliveryState::uncertain:
    case DeliveryState::held:
      ++stats.uncertain;
      stats.warnings.push_back(line_of(LogEvent::mail_uncertain, outcome,
                                       "it is unknown whether its mail arrived: " + outcome.reply));
      break;
    default:
      ++stats.deferred;
      break;
  }
}

}  // namespace

DeliveryStats DeliveryRun::run() {
  if (!delivery_.claimed_.has_work_for(connection_.number)) return std::move(stats_);
  const SendPermission granted = permission();
  if (granted == SendPermission::wait) {
    delivery_.claimed_.set_paused(connection_.number);
    return std::move(stats_);
  }
  is_test_ = granted == SendPermission::test;
  struct AttemptEnd {
    DeliveryRun& run;
    ~AttemptEnd() {
      const std::lock_guard lock(run.delivery_.health_mutex_);
      run.delivery_.health_.end(run.connection_.number);
    }
  } const ending{*this};
  deliver();
  return std::move(stats_);
}

/// Under health_mutex_. While it holds, no mail grows older (MAIL-36).
bool DeliveryRun::is_paused_by_admin() {
  const store::MailPauseState state = delivery_.admin_pause();
  RelayHealth& health = delivery_.health_;
  // A time to come was stored while the clock was ahead.
  health.set_long_pause_ended_at(
      std::max(health.long_pause_ended_at(), std::min(state.last_ended_at, delivery_.now_())));
  std::optional<UtcMillis>& logged = delivery_.logged_pause_;
  if (state.pause && logged != state.pause->since)
    stats_.warnings.push_back(
        {LogEvent::mail_paused_by_admin,
         describe(*state.pause) + "; no mail begins until \"giftsyncctl mail resume\""});
  else if (!state.pause && logged)
    stats_.info_lines.push_back(
        {LogEvent::mail_resumed_by_admin,
         "mail is sent again: an admin has ended the pause that began " + to_rfc3339(*logged)});
  logged = state.pause ? std::optional(state.pause->since) : std::nullopt;
  return state.pause.has_value();
}

bool DeliveryRun::may_continue() {
  return connection_.should_continue() && !delivery_.admin_pause().pause;
}

/// Reads the stored pause, which an admin may have ended. A pause of other settings has ended: they were
/// corrected.
SendPermission DeliveryRun::permission() {
  const DeliveryRules& rules = delivery_.rules_;
  const std::lock_guard lock(delivery_.health_mutex_);
  RelayHealth& health = delivery_.health_;
  store::DeliveryQueue& deliveries = delivery_.store_.deliveries;
  // A time to come was stored while the clock was ahead.
  if (!delivery_.knows_long_pause_)
    health.set_long_pause_ended_at(std::min(deliveries.long_pause_ended_at(rules.daemon), delivery_.now_()));
  delivery_.knows_long_pause_ = true;
  if (is_paused_by_admin()) return SendPermission::wait;
  std::optional<store::CircuitBreaker> stored = deliveries.breaker(rules.daemon);
  if (stored && stored->relay != rules.relay) {
    health.end_pause(*stored, delivery_.now_());
    deliveries.close_breaker(rules.daemon, health.long_pause_ended_at());
    deliveries.retry_deferred(std::nullopt, delivery_.now_());
    stats_.info_lines.push_back(
        {LogEvent::mail_resumed, "mail delivery resumed: the relay's settings were changed; trying again"});
  } else {
    health.set_pause(std::move(stored));
  }
  return health.begin(connection_.number, delivery_.now_());
}

void DeliveryRun::deliver() {
  const bool began_as_test = is_test_;
  std::size_t taken = 0;
  bool is_allowed = true;
  while (!has_ended_ && taken < connection_.max_mails && (is_allowed = may_continue())) {
    std::vector<ClaimedMail> group =
        take(is_test_ ? 1 : std::min(transport_.max_batch_size(), connection_.max_mails - taken));
    if (group.empty() && !in_flight_.ended.empty()) {
      write({});
      continue;  // now it may claim
    }
    if (group.empty()) {
      remove_stale_markers();
      break;
    }
    taken += group.size();
    in_flight_.claimed_at = group.front().claimed_at;
    for (const ClaimedMail& mail : group) {
      in_flight_.claims.push_back(mail.claim);
      in_flight_.claimed_at = std::min(in_flight_.claimed_at, mail.claimed_at);
    }
    if (delivery_.claimed_.needs_more_connections()) connection_.wake_others();
    delivery_.writer_.join();
    struct MessageToSend {
      AttemptWriter& writer;
      ~MessageToSend() { writer.leave(); }
    } const leaving{delivery_.writer_};
    deliver_group(std::move(group));
  }
  write({});
  in_flight_.claims.clear();
  if (!is_allowed || has_ended_) delivery_.claimed_.release_all(delivery_.rules_.owner);
  stats_.more = stats_.more || taken >= connection_.max_mails || (began_as_test && !is_test_);
}

std::vector<ClaimedMail> DeliveryRun::take(std::size_t count) {
  ClaimedMails::Wanted wanted{connection_.number, count, in_flight_.ended.empty(), SIZE_MAX, {}, is_test_};
  if (is_test_) wanted.max_claim = kMaxTestMails;
  {
    const std::lock_guard lock(delivery_.health_mutex_);
    wanted.suspects = recipients_of(delivery_.health_.suspects());
  }
  return delivery_.claimed_.take(delivery_.rules_.owner, wanted);
}

void DeliveryRun::deliver_group(std::vector<ClaimedMail> group) {
  const std::vector<PreparedMail> prepared = prepare(std::move(group));
  if (!prepared.empty()) {
    // A slow relay may have delayed the preparation.
    if (may_continue())
      send(prepared);
    else
      release(prepared);
  }
  // While the next mail can follow at once, its `sending` and these outcomes share a transaction.
  if (!transport_.is_ready() || delivery_.claimed_.is_empty()) write({});
}

/// The mails of the group that can be sent; the others have their outcome.
std::vector<DeliveryRun::PreparedMail> DeliveryRun::prepare(std::vector<ClaimedMail> group) {
  // Before anything has an outcome, since the store may fail.
  std::vector<std::optional<std::string>> refusals;
  for (const ClaimedMail& mail : group) refusals.push_back(refusal_of(mail, delivery_.rules_));
  std::vector<PreparedMail> composed;
  std::vector<EndedAttempt> abandoned;
  for (std::size_t i = 0; i < group.size(); ++i) {
    ClaimedMail& mail = group[i];
    if (mail.claim.state == DeliveryState::sending) {
      if (auto result = resolve_abandoned(mail))
        abandoned.push_back({mail, mail.claim.attempt, std::move(*result)});
    } else if (mail.is_obsolete) {
      add_outcome(mail, unsent(mail.claim, mail.claim.attempt, DeliveryState::withdrawn, delivery_.now_(),
                               obsolete_reason(mail.claim.kind)));
    } else if (refusals[i]) {
      add_outcome(mail, refused_by_policy(mail.claim, *refusals[i], delivery_.now_()));
    } else {
      OutgoingMail outgoing = compose(mail, delivery_.rules_);
      composed.push_back({std::move(mail), std::move(outgoing)});
    }
  }
  record(abandoned);
  std::vector<const OutgoingMail*> mails;
  for (const PreparedMail& prepared_mail : composed) mails.push_back(&prepared_mail.mail);
  const auto faults = transport_.prepare_all(mails);
  std::vector<EndedAttempt> failed;
  for (std::size_t i = 0; i < composed.size(); ++i) {
    if (faults[i] && !faults[i]->is_stopped)
      failed.push_back({composed[i].claimed, composed[i].claimed.claim.attempt, *faults[i]});
  }
  record(failed);
  std::vector<PreparedMail> prepared;
  std::vector<PreparedMail> untouched;
  for (std::size_t i = 0; i < composed.size(); ++i) {
    if (!faults[i])
      prepared.push_back(std::move(composed[i]));
    else if (faults[i]->is_stopped)
      untouched.push_back(std::move(composed[i]));
  }
  if (!untouched.empty()) release(untouched);
  return prepared;
}

/// The sender died between `sending` and the outcome. Only the transport may know the outcome. None: the mail
/// was not sent, and its outcome is added.
std::optional<SendResult> DeliveryRun::resolve_abandoned(const ClaimedMail& mail) {
  auto known = transport_.recover_outcome(mail.claim.message_id);
  in_flight_.markers.push_back(mail.claim.message_id);
  if (known && known->outcome == SendOutcome::try_later) {
    in_flight_.ended.push_back(stopped_before(mail.claim, mail.claim.attempt, delivery_.now_()));
    stats_.more = true;
    return std::nullopt;
  }
  if (!known) known = SendResult{SendOutcome::uncertain, "the daemon stopped while the mail was being sent"};
  return known;
}

/// Stores all as `sending`, then sends them.
void DeliveryRun::send(const std::vector<PreparedMail>& group) {
  std::vector<AttemptWriter::Sending> started;
  for (const PreparedMail& prepared_mail : group)
    started.push_back({prepared_mail.claimed.claim, prepared_mail.mail.message_id});
  // Read before the lease is stored: time that passes in between, for example by SIGSTOP, counts against the
  // budget.
  const UtcMillis started_at = delivery_.now_();
  const std::vector<bool> has_started = write(started);
  std::vector<const PreparedMail*> sent;
  std::vector<const OutgoingMail*> mails;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (!has_started[i]) continue;  // another daemon has claimed it, with its files in the directory
    sent.push_back(&group[i]);
    mails.push_back(&group[i].mail);
  }
  const std::int64_t budget_millis = kSendBudgetMillis - (delivery_.now_().value - started_at.value);
  if (budget_millis <= 0) {
    // Too late: another daemon may have claimed them. If none has, they are released unchanged.
    for (const PreparedMail* one : sent) {
      in_flight_.markers.push_back(one->mail.message_id);
      add_outcome(one->claimed,
                  unsent(one->claimed.claim, one->claimed.claim.attempt + 1, DeliveryState::queued,
                         delivery_.now_(), "not sent: the lease on this mail expired"));
    }
    return;
  }
  const std::int64_t refusals_before = [this] {
    const std::lock_guard lock(delivery_.health_mutex_);
    return delivery_.health_.refusals();
  }();
  const std::vector<SendResult> results = transport_.send_all(mails, budget_millis);
  std::vector<EndedAttempt> ended;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    in_flight_.markers.push_back(sent[i]->mail.message_id);
    ended.push_back({sent[i]->claimed, sent[i]->claimed.claim.attempt + 1, results[i], refusals_before});
  }
  record(ended);
}

/// Adds what follows from attempts that ended together. All outcomes are stored before what they show of the
/// relay: they must not be lost, and another connection must not decide about suspects before.
void DeliveryRun::record(const std::vector<EndedAttempt>& attempts) {
  if (attempts.empty()) return;
  Findings findings;
  {
    const std::lock_guard lock(delivery_.health_mutex_);
    for (const EndedAttempt& attempt : attempts) record_one(attempt, findings);
    if (findings.has_suspects || findings.has_paused || findings.has_resumed) write({});
    if (findings.has_resumed) {
      delivery_.store_.deliveries.close_breaker(delivery_.rules_.daemon,
                                                delivery_.health_.long_pause_ended_at());
      stats_.info_lines.push_back({LogEvent::mail_resumed, "mail delivery resumed"});
    }
    if (findings.has_paused) store_pause();
  }
  retry_for_one_recipient(findings.of_one_recipient);
}

/// Under health_mutex_.
void DeliveryRun::record_one(const EndedAttempt& attempt, Findings& findings) {
  const SendResult& result = attempt.result;
  if (result.is_ambiguous) return record_suspect(attempt, findings);
  const UtcMillis now = delivery_.now_();
  if (result.is_stopped)
    return add_outcome(attempt.mail, stopped_before(attempt.mail.claim, attempt.number, now));
  DeliveryOutcome outcome = outcome_of(attempt_of(attempt.mail.claim, attempt.number, delivery_.health_, now),
                                       result, now, policy_);
  if (result.outcome == SendOutcome::transport_error)
    return record_fault(attempt, std::move(outcome), findings);
  outcome.do_not_send = bounce_of(attempt.mail, result, delivery_.rules_, now);
  add_outcome(attempt.mail, std::move(outcome));
  if (result.outcome != SendOutcome::uncertain) record_working(attempt, findings);
}

void DeliveryRun::add_outcome(const ClaimedMail& mail, DeliveryOutcome outcome) {
  count(stats_, outcome);
  if (outcome.state == DeliveryState::accepted && is_of_gift(mail.claim.kind)) {
    const bool is_reminder = mail.claim.kind == MailKind::reminder;
    stats_.events.push_back(
        gift_event(is_reminder ? GiftEventKind::reminded : GiftEventKind::mailed, mail.gift));
  }
  in_flight_.ended.push_back(std::move(outcome));
}

/// The relay's answer concerns the recipient or the relay: the mail waits for itself, and the next mails
/// decide (MAIL-27). Under health_mutex_.
void DeliveryRun::record_suspect(const EndedAttempt& attempt, Findings& findings) {
  const ClaimedMail& mail = attempt.mail;
  const std::string& reply = attempt.result.reply;
  const UtcMillis now = delivery_.now_();
  const Attempt known = attempt_of(mail.claim, attempt.number, delivery_.health_, now);
  const bool is_refusal = attempt.result.outcome == SendOutcome::refused;
  const bool is_limit_reached =
      is_refusal && policy_.may_give_up && now.value - known.day_started_at.value >= kMaxDeferredMillis;
  findings.has_suspects = true;
  findings.refusals += is_refusal ? 1 : 0;
  const SuspectVerdict verdict = delivery_.health_.record_suspect(
      connection_.number,
      {mail.claim, attempt.number, mail.gift.transaction.email, reply, is_refusal, is_limit_reached}, now);
  if (verdict == SuspectVerdict::recipients)
    return add_outcome(mail, outcome_of(known, attempt.result, now, policy_));
  DeliveryOutcome waiting =
      unsent(mail.claim, attempt.number, DeliveryState::queued, now + pause_millis(attempt.number), reply);
  waiting.deferred = is_refusal;
  stats_.warnings.push_back(
      line_of(LogEvent::mail_waits, waiting, "its mail waits, others are tried: " + reply));
  add_outcome(mail, std::move(waiting));
  if (verdict == SuspectVerdict::undecided) return;
  has_ended_ = true;
  findings.has_paused = true;
  delivery_.has_worked_ = false;
}

/// Under health_mutex_.
void DeliveryRun::record_fault(const EndedAttempt& attempt, DeliveryOutcome outcome, Findings& findings) {
  has_ended_ = true;
  const std::string& reason = attempt.result.reply;
  const FaultScope scope = delivery_.health_.record_fault(connection_.number, reason, delivery_.now_());
  if (scope == FaultScope::connection)
    stats_.warnings.push_back(
        {LogEvent::relay_connection_rests,
         "mail delivery: one of several connections to the relay failed and rests (" + reason + ")"});
  // The mail was tried before, and since then the relay took others.
  const bool may_be_cause =
      scope == FaultScope::relay && delivery_.has_worked_ && attempt.mail.claim.turn == 0;
  // Or the mail could bring one connection after the other to a stop, or begin one pause after the other.
  if (scope == FaultScope::connection || may_be_cause)
    outcome.next_attempt_at =
        outcome.next_attempt_at + pause_millis(std::max<std::int64_t>(1, outcome.attempt));
  if (scope == FaultScope::relay) {
    findings.has_paused = true;
    delivery_.has_worked_ = false;
  }
  count(stats_, outcome);
  in_flight_.ended.push_back(std::move(outcome));
}

/// Under health_mutex_.
void DeliveryRun::store_pause() {
  store::CircuitBreaker pause = *delivery_.health_.pause();
  pause.relay = delivery_.rules_.relay;
  pause.daemon = delivery_.rules_.daemon;
  const auto former = delivery_.store_.deliveries.breaker(pause.daemon);
  if (!former)
    stats_.warnings.push_back(
        {LogEvent::mail_paused, "mail delivery paused (" + pause.reason + "); its mails wait, none is lost"});
  else if (without_digits(former->reason) != without_digits(pause.reason))
    stats_.warnings.push_back(
        {LogEvent::mail_paused, "mail delivery still paused, now because: " + pause.reason});
  delivery_.store_.deliveries.open_breaker(pause);
}

/// Under health_mutex_.
void DeliveryRun::record_working(const EndedAttempt& attempt, Findings& findings) {
  // The relay may have begun to refuse all mails while it took this one. Those of a batch follow one another.
  const bool is_taken = attempt.result.outcome == SendOutcome::accepted &&
                        delivery_.health_.refusals() == attempt.refusals_before + findings.refusals;
  RelayHealth::Working working = delivery_.health_.record_working(
      connection_.number, attempt.mail.gift.transaction.email, is_taken, delivery_.now_());
  if (delivery_.health_.pause()) return;  // the test goes on
  delivery_.has_worked_ = true;
  // A pause that began with these attempts is not stored yet.
  if (working.has_resumed && !std::exchange(findings.has_paused, false)) findings.has_resumed = true;
  std::move(working.of_one_recipient.begin(), working.of_one_recipient.end(),
            std::back_inserter(findings.of_one_recipient));
  if (is_test_) has_ended_ = true;
  is_test_ = false;
}

/// The relay takes other mails. Their first outcomes are stored already. A refusal is asked for once more, as
/// the relay may have been repaired in between.
void DeliveryRun::retry_for_one_recipient(const std::vector<SuspectMail>& suspects) {
  const UtcMillis now = delivery_.now_();
  std::vector<DeliveryOutcome> outcomes;
  for (const SuspectMail& suspect : suspects) {
    if (suspect.is_refusal) {
      outcomes.push_back(unsent(suspect.claim, suspect.attempt, DeliveryState::queued, now, suspect.reply));
      stats_.more = true;
      continue;
    }
    const SendResult answer{SendOutcome::try_later, suspect.reply, true};
    const Attempt attempt = [&] {
      const std::lock_guard lock(delivery_.health_mutex_);
      return attempt_of(suspect.claim, suspect.attempt, delivery_.health_, now);
    }();
    outcomes.push_back(outcome_of(attempt, answer, now, policy_));
    stats_.warnings.push_back(line_of(LogEvent::mail_waits, outcomes.back(),
                                      "the relay takes other mails, but not this one: " + suspect.reply));
    if (outcomes.back().state == DeliveryState::undelivered) count(stats_, outcomes.back());
  }
  delivery_.store_.deliveries.finish(outcomes, now);
}

/// Stores the outcomes so far and the beginnings in one transaction. When it throws, both stay in hand.
std::vector<bool> DeliveryRun::write(const std::vector<AttemptWriter::Sending>& started) {
  if (in_flight_.ended.empty() && started.empty()) return {};
  in_flight_.beginning = started;
  std::vector<bool> has_started =
      delivery_.writer_.write(delivery_.rules_.owner, {in_flight_.ended, started});
  note_written(has_started);
  for (const std::string& message_id : std::exchange(in_flight_.markers, {}))
    transport_.discard_marker(message_id);
  return has_started;
}

void DeliveryRun::note_written(const std::vector<bool>& has_started) {
  std::unordered_set<TransactionId> gone;  // ended, or claimed by another daemon
  std::unordered_set<TransactionId> started;
  for (const DeliveryOutcome& outcome : std::exchange(in_flight_.ended, {})) gone.insert(outcome.transaction);
  const std::vector<AttemptWriter::Sending> beginning = std::exchange(in_flight_.beginning, {});
  for (std::size_t i = 0; i < beginning.size(); ++i)
    (has_started[i] ? started : gone).insert(beginning[i].claim.transaction);
  std::erase_if(in_flight_.claims,
                [&](const DeliveryClaim& claim) { return gone.contains(claim.transaction); });
  for (DeliveryClaim& claim : in_flight_.claims) claim.attempt += started.contains(claim.transaction) ? 1 : 0;
}

void DeliveryRun::release(const std::vector<PreparedMail>& group) {
  std::vector<DeliveryClaim> claims;
  for (const PreparedMail& prepared : group) claims.push_back(prepared.claimed.claim);
  delivery_.store_.deliveries.release(delivery_.rules_.owner, claims);
}

void DeliveryRun::remove_stale_markers() {
  if (!transport_.has_stale_markers()) return;
  transport_.remove_stale_markers(
      [this] { return !delivery_.store_.deliveries.has_any(DeliveryState::sending); });
}

}  // namespace giftsync::sync
