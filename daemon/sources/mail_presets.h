// daemon/sources: the webhooks of mail providers (SES through SNS, Postmark, Mailgun, SendGrid) as they
// document them: each with its own signature, each matched to a gift by our Message-ID or by the argument
// that we send with the mail. Reports about mails that are not ours are ignored.
#pragma once

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

/// The transaction in one of our Message-IDs, "gift-<transaction>.<generation>.<installation>@domain", with
/// or without angle brackets and domain; empty for anything else and for another installation's.
std::string transaction_in_message_id(std::string_view message_id, std::string_view installation);

}  // namespace giftsync::daemon
