// daemon/mail: one round of emptying the outbox (design 3.5). For each mail: prepare, write durably that it
// may be sent, send, write durably what became of it. So a mail repeats only when the daemon died, or the
// connection broke, between the final dot and the record of its reply, and such a row is `uncertain` first.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/clock.h"
#include "daemon/mail/gift_mail.h"
#include "daemon/mail/transport.h"
#include "schema/store/store.h"
#include "sync/delivery_rules.h"

namespace giftsync::daemon {

/// Of a mail's leases none is longer: it has this one while it is being sent.
inline constexpr std::int64_t kSendingLeaseMillis = 90'000;

struct DeliveryRules {
  std::string owner;         ///< of the leases
  std::string from_address;  ///< email.from
  MailFace face{};
  std::string installation;  ///< makes Message-IDs unique in the world
  sync::DeliveryPolicy policy;
  std::function<std::string(const schema::RecipientTransaction&)> redemption_url;
  std::function<std::string(const schema::RecipientTransaction&)> donation_url;
  /// Headers from which a mail provider that changes Message-IDs gives ours back in its reports.
  std::function<std::vector<std::pair<std::string, std::string>>(const std::string& message_id)>
      more_headers = [](const std::string&) { return std::vector<std::pair<std::string, std::string>>(); };
};

struct DeliveryReport {
  std::size_t accepted = 0;
  std::size_t undelivered = 0;
  std::size_t later = 0;  ///< to be tried again
  std::size_t uncertain = 0;
  bool more = false;               ///< there may be more to do at once
  std::vector<std::string> notes;  ///< one line for each thing that an operator wants to know
  std::vector<std::string> news;   ///< likewise, but good news
};

/// `keep_going` is asked before each bunch is prepared and again before it is sent; when it says no, the
/// remaining claims are given back.
/// Throws schema::BrokenWorld when the store fails; the affected mail is then settled when its lease has run
/// out.
DeliveryReport delivery_step(schema::Store& store, MailTransport& transport, const DeliveryRules& rules,
                             const Clock& clock, const std::function<bool()>& keep_going);

}  // namespace giftsync::daemon
