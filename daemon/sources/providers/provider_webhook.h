// daemon/sources/providers: the webhooks of mail providers (SES through SNS, Postmark, Mailgun, SendGrid) as
// documented by them: each with its own signature, each matched to a gift by giftsync's Message-ID or by the
// argument sent with the mail (SRC-32). Events about other mails are ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/sources/webhook_message.h"

namespace giftsync::daemon::sources {

WebhookMessage parse_provider_message(const CompiledSource& source, const http::HttpRequest& request,
                                      platform::UtcMillis now, const FetchUrl& fetch);

/// The headers that carry a mail's Message-ID to those providers among `sources` that do not return it
/// themselves.
std::vector<std::pair<std::string, std::string>> provider_mail_headers(
    const std::vector<config::SourceSettings>& sources, const std::string& message_id);

/// The gift that a Message-ID of giftsync names.
struct GiftMessageId {
  std::string transaction;
  std::int64_t generation = 0;  ///< of its links
  friend bool operator==(const GiftMessageId&, const GiftMessageId&) = default;
};
/// Parses "gift-<transaction>.<generation>.<installation>@domain", with or without angle brackets and domain;
/// a further mail has its number after the generation. Nullopt for anything else, also for reminders and for
/// other installations.
std::optional<GiftMessageId> parse_gift_message_id(std::string_view message_id,
                                                   std::string_view installation);

}  // namespace giftsync::daemon::sources
