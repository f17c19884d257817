// daemon/mail: sends one batch of the mail outbox (MAIL-5). For each mail: prepare, store durably that it may
// be sent, send, store the outcome durably. So a mail can be sent twice only when the daemon died, or the
// connection broke, between the final dot and the record of its reply, and such a row is `uncertain` first.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/mail/gift_mail.h"
#include "daemon/mail/transport.h"
#include "platform/clock.h"
#include "schema/store/store.h"
#include "sync/delivery_rules.h"

namespace giftsync::daemon::mail {

/// The lease while a mail is being sent; no other lease of a mail is longer.
inline constexpr std::int64_t kSendingLeaseMillis = 90'000;

struct DeliveryRules {
  std::string owner;         ///< lease owner
  std::string from_address;  ///< email.from
  MailBranding branding{};
  std::string installation_id;  ///< makes Message-IDs globally unique
  sync::DeliveryPolicy policy;
  std::function<std::string(const schema::store::RecipientTransaction&)> redemption_url;
  std::function<std::string(const schema::store::RecipientTransaction&)> donation_url;
  /// Headers that a mail provider which replaces Message-IDs repeats in its reports, so that ours can be
  /// found.
  std::function<std::vector<std::pair<std::string, std::string>>(const std::string& message_id)>
      extra_headers = [](const std::string&) { return std::vector<std::pair<std::string, std::string>>(); };
};

struct DeliveryStats {
  std::size_t accepted = 0;
  std::size_t undelivered = 0;
  std::size_t deferred = 0;  ///< will be retried
  std::size_t uncertain = 0;
  bool more = false;                    ///< more mails may be due now
  std::vector<std::string> warnings;    ///< log lines for the operator
  std::vector<std::string> info_lines;  ///< log lines at info level
};

/// `should_continue` is called before each group is prepared and again before it is sent; when it returns
/// false, the remaining claims are released. Throws schema::DependencyError when the store fails; the outcome
/// of the affected mail is then resolved after its lease has expired.
DeliveryStats delivery_step(schema::store::Store& store, MailTransport& transport, const DeliveryRules& rules,
                            const platform::Clock& clock, const std::function<bool()>& should_continue);

}  // namespace giftsync::daemon::mail
