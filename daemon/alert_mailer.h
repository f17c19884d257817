// daemon: mails admins when a condition of the status begins and when it ends (OPS-43 to OPS-46), past the
// mail outbox, so that such a mail leaves also while that is paused. Of one thread, but for stop().
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/store/mail/alerts.h"
#include "sync/alert_rules.h"
#include "sync/mail/mail_transport.h"

namespace giftsync::daemon {

struct AlertMailerOptions {
  std::vector<std::string> recipients;
  sync::AlertRules rules;
  /// Whether this daemon alone works on the alerts of its store now, and for some minutes.
  std::function<bool()> may_work;
  std::function<std::vector<sync::AttentionItem>()> attention;
  std::function<sync::OutgoingMail(const sync::AlertMail&, const std::string& to)> compose;
  std::function<UtcMillis()> now;
};

class AlertMailer {
 public:
  /// `alerts` must outlive it.
  AlertMailer(store::Alerts& alerts, std::unique_ptr<sync::MailTransport> transport,
              AlertMailerOptions options);

  /// Looks at the conditions, stores what has changed, and mails what is due. A mail that the relay does not
  /// take is tried again, after a minute at first and ten at most; an address that alone is refused, or whose
  /// server takes nothing for an hour, is left out with an error in the log. Throws DependencyError of the
  /// store. `may_continue` is asked between two recipients.
  void step(const std::function<bool()>& may_continue);
  /// From now on no mail begins. Any thread.
  void stop() { transport_->stop(); }

 private:
  struct Failure {
    std::string recipient;
    sync::SendOutcome outcome;
    std::string reply;
  };
  void try_to_send(std::span<const store::Alert> alerts, const std::function<bool()>& may_continue);
  /// To those who do not have the mail yet. Nothing when it was interrupted.
  std::optional<std::vector<Failure>> send_to_others(const std::function<bool()>& may_continue);
  void report_failure(const std::string& reason);

  store::Alerts& alerts_;
  const std::unique_ptr<sync::MailTransport> transport_;
  const AlertMailerOptions options_;
  std::optional<sync::AlertMail> begun_mail_;  ///< one that some recipients have
  std::set<std::string> accepted_;             ///< those who have it
  std::int64_t failures_ = 0;                  ///< in a row
  UtcMillis failed_at_;
};

}  // namespace giftsync::daemon
