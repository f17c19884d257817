// sync: sends one batch of the mail outbox (MAIL-5). For each mail: prepare, store durably that it may be
// sent, send, store the outcome durably. So a mail can be sent twice only when the daemon died, or the
// connection broke, between the final dot and the record of its reply, and such a row is `uncertain` first.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/store/store.h"
#include "sync/gift_event.h"
#include "sync/mail_transport.h"

namespace giftsync::sync {

/// The lease while a mail is being sent; no other lease of a mail is longer.
inline constexpr std::int64_t kSendingLeaseMillis = 90'000;

/// What distinguishes the mails of one gift.
struct MailIdentity {
  std::string message_id;    ///< without angle brackets
  bool is_reminder = false;  ///< a second mail about a gift that was mailed some days ago
  platform::UtcMillis date;  ///< when the gift was sent, or this mail ordered
};
/// The mail that a gift's outbox row stands for: the gift's first, a resend or a reminder.
struct OrderedMail {
  std::string message_id;  ///< empty before its first sending
  schema::MailKind kind = schema::MailKind::gift;
  std::int64_t number = 1;
  platform::UtcMillis ordered_at;  ///< of a resend or reminder
};
/// Returns the same mail for the same gift and identity, so that a retry has the same bytes.
using ComposeMail = std::function<OutgoingMail(const schema::store::Gift&, const MailIdentity&)>;

struct DeliveryRules {
  std::string owner;            ///< lease owner
  std::string from_address;     ///< email.from; its domain is the one of Message-IDs
  std::string installation_id;  ///< makes Message-IDs globally unique
  std::string relay{};          ///< fingerprint of the relay's settings: a pause of another one does not hold
  DeliveryPolicy policy;
  ComposeMail compose;
};

/// Of the form gift-41.1.8f3a...@example.com: the same for every attempt, a new one for a resend. Further
/// mails of the gift are numbered, so that a report about a reminder does not apply to the gift. Pure.
MailIdentity mail_identity(const schema::store::Gift& gift, const OrderedMail& mail,
                           const std::string& from_address, const std::string& installation_id);

struct DeliveryStats {
  std::size_t accepted = 0;
  std::size_t undelivered = 0;
  std::size_t deferred = 0;  ///< will be retried
  std::size_t uncertain = 0;
  bool more = false;                    ///< more mails may be due now
  std::vector<std::string> warnings;    ///< log lines for the operator
  std::vector<std::string> info_lines;  ///< log lines at info level
  std::vector<GiftEvent> events;        ///< of the accepted mails
};

/// `now` is read again before each mail, because sending takes time. `should_continue` is called before each
/// group is prepared and again before it is sent; when it returns false, the remaining claims are released.
/// Throws platform::DependencyError when the store fails; the outcome of the affected mail is then resolved
/// after its lease has expired.
DeliveryStats delivery_step(schema::store::Store& store, MailTransport& transport, const DeliveryRules& rules,
                            const std::function<platform::UtcMillis()>& now,
                            const std::function<bool()>& should_continue);

}  // namespace giftsync::sync
