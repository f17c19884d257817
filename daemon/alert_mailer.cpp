#include "daemon/alert_mailer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "platform/logging.h"

namespace giftsync::daemon {

using sync::SendOutcome;

namespace {

constexpr std::int64_t kSendMillis = kMinuteMillis;
constexpr std::int64_t kLongestRetryMinutes = 10;
/// After an hour a recipient whose server takes nothing keeps the others from no further mail.
constexpr std::int64_t kMaxFailuresOfSome = 10;

}  // namespace

AlertMailer::AlertMailer(store::Alerts& alerts, std::unique_ptr<sync::MailTransport> transport,
                         AlertMailerOptions options)
    : alerts_(alerts), transport_(std::move(transport)), options_(std::move(options)) {}

void AlertMailer::step(const std::function<bool()>& may_continue) {
  if (!options_.may_work()) {
    begun_mail_.reset();  // the daemon that has the claim mails it
    return;
  }
  std::vector<store::Alert> stored = alerts_.list();
  const sync::AlertChanges changes = observe(stored, options_.attention(), options_.rules, options_.now());
  if (!changes.empty()) {
    alerts_.save(changes.kept, changes.ended);  // before a mail: its Message-ID is made from what is stored
    stored = applied(stored, changes);
  }
  try_to_send(stored, may_continue);
}

void AlertMailer::try_to_send(std::span<const store::Alert> alerts,
                              const std::function<bool()>& may_continue) {
  const UtcMillis now = options_.now();
  const std::int64_t wait = std::min(failures_, kLongestRetryMinutes) * kMinuteMillis;
  if (is_quiet(options_.rules.quiet, now) || !has_elapsed(failed_at_, wait, now)) return;
  if (!begun_mail_) {
    sync::AlertMail mail = due_mail(alerts, options_.rules, alerts_.last_mailed_at(), now);
    if (mail.empty()) return;
    begun_mail_ = std::move(mail);
    accepted_.clear();
  }
  const bool had_some = !accepted_.empty();
  const auto outcome = send_to_others(may_continue);
  if (!outcome) return;
  const std::vector<Failure>& failures = *outcome;
  if (!failures.empty() && !may_continue()) return;  // a stop is no fault of the relay
  // The relay works again: what failed before was not because of these recipients.
  if (!had_some && !accepted_.empty()) failures_ = 0;
  const bool is_given_up =
      std::all_of(failures.begin(), failures.end(),
                  [](const Failure& one) { return one.outcome == SendOutcome::refused; }) ||
      failures_ >= kMaxFailuresOfSome;
  if (!failures.empty() && (accepted_.empty() || !is_given_up)) {
    if (accepted_.empty()) begun_mail_.reset();  // the next attempt tells what holds then
    report_failure(failures.front().reply);
    return;
  }
  const sync::AlertChanges changes = after_mail(*begun_mail_, alerts, now);
  alerts_.save(changes.kept, changes.ended, now);  // throws: accepted_ keeps who has the mail
  for (const Failure& one : failures)
    log_event(
        LogEvent::alert_recipient_refused,
        fmt::format("an alert was not mailed to {}: {}; correct alerts.mail_to", one.recipient, one.reply));
  failures_ = 0;
  const sync::AlertMail mail = *std::exchange(begun_mail_, std::nullopt);
  log_event(LogEvent::alert_mailed,
            fmt::format("alert mailed: {} begun, {} ended", mail.begun.size(), mail.ended.size()));
}

std::optional<std::vector<AlertMailer::Failure>> AlertMailer::send_to_others(
    const std::function<bool()>& may_continue) {
  std::vector<Failure> failures;
  for (const std::string& recipient : options_.recipients) {
    if (accepted_.contains(recipient)) continue;
    // The claim is renewed: another daemon takes it over once it has ended, and would mail the same.
    if (!may_continue() || !options_.may_work()) return std::nullopt;
    const sync::OutgoingMail mail = options_.compose(*begun_mail_, recipient);
    const auto fault = transport_->prepare(mail);
    const sync::SendResult result = fault ? *fault : transport_->send(mail, kSendMillis);
    if (result.outcome == SendOutcome::accepted) {
      transport_->discard_marker(mail.message_id);
      accepted_.insert(recipient);
      continue;
    }
    failures.push_back({recipient, result.outcome, result.reply});
    // The others would wait for the relay as long. Before it is given up, each is tried.
    const bool is_of_relay = result.outcome == SendOutcome::transport_error && !result.is_ambiguous;
    if (is_of_relay && failures_ < kMaxFailuresOfSome) break;
  }
  return failures;
}

/// Once, until a mail leaves again.
void AlertMailer::report_failure(const std::string& reason) {
  failed_at_ = options_.now();
  if (++failures_ > 1) return;
  log_event(LogEvent::alert_not_mailed,
            fmt::format("an alert could not be mailed and is tried again until it can: {}", reason));
}

}  // namespace giftsync::daemon
