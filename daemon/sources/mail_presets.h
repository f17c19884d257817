// daemon/sources: the webhooks of mail providers (SES through SNS, Postmark, Mailgun, SendGrid) as they
// document them: each with its own signature, each matched to a gift by our Message-ID or by the argument
// that we send with the mail. Reports about mails that are not ours are ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/sources/webhook_message.h"

namespace giftsync::daemon {

WebhookMessage read_preset_message(const SourcePlan& plan, const HttpRequest& request, schema::UtcMillis now,
                                   const FetchText& fetch);

/// The headers with which a mail carries its Message-ID to the providers among `sources` that do not give it
/// back themselves.
std::vector<std::pair<std::string, std::string>> mail_arguments(const std::vector<SourceSettings>& sources,
                                                                const std::string& message_id);

/// What one of our Message-IDs names.
struct OwnMail {
  std::string transaction;
  std::int64_t generation = 0;  ///< of its links
  friend bool operator==(const OwnMail&, const OwnMail&) = default;
};
/// Of "gift-<transaction>.<generation>.<installation>@domain", with or without angle brackets and domain; a
/// further mail has its number after the generation. Nullopt for anything else, reminders too, and for
/// another installation's.
std::optional<OwnMail> own_mail_of(std::string_view message_id, std::string_view installation);

}  // namespace giftsync::daemon
