#include "daemon/sources/providers/provider_webhook.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "daemon/sources/providers/mailgun.h"
#include "daemon/sources/providers/postmark.h"
#include "daemon/sources/providers/provider_event.h"
#include "daemon/sources/providers/sendgrid.h"
#include "daemon/sources/providers/sns.h"
#include "platform/text.h"

namespace giftsync::daemon::sources {

WebhookMessage parse_provider_message(const CompiledSource& source, const http::HttpRequest& request,
                                      platform::UtcMillis now, const FetchUrl& fetch) {
  switch (source.settings.preset) {
    case config::SourcePreset::ses:
      return parse_sns_message(source, request, now, fetch);
    case config::SourcePreset::postmark:
      return parse_postmark_message(source, request);
    case config::SourcePreset::mailgun:
      return parse_mailgun_message(source, request, now);
    case config::SourcePreset::sendgrid:
      return parse_sendgrid_message(source, request, now);
    case config::SourcePreset::none:
      break;
  }
  return WebhookRefusal{"for a source without a preset"};
}

std::vector<std::pair<std::string, std::string>> provider_mail_headers(
    const std::vector<config::SourceSettings>& sources, const std::string& message_id) {
  std::vector<std::pair<std::string, std::string>> headers;
  for (const config::SourceSettings& source : sources) {
    if (source.preset == config::SourcePreset::postmark) {
      headers.emplace_back(std::string("X-PM-Metadata-") + kMessageIdArgument, message_id);
    } else if (source.preset == config::SourcePreset::sendgrid) {
      const nlohmann::json arguments{{"unique_args", {{kMessageIdArgument, message_id}}}};
      headers.emplace_back("X-SMTPAPI", arguments.dump());
    }
  }
  return headers;
}

std::optional<GiftMessageId> parse_gift_message_id(std::string_view message_id,
                                                   std::string_view installation) {
  std::string_view text = platform::trimmed(message_id);
  if (text.starts_with('<')) text.remove_prefix(1);
  if (text.ends_with('>')) text.remove_suffix(1);
  text = text.substr(0, text.find('@'));
  constexpr std::string_view kBegin = "gift-";
  if (!text.starts_with(kBegin)) return std::nullopt;
  text.remove_prefix(kBegin.size());
  const std::size_t first = text.find('.');
  const std::size_t last = text.rfind('.');
  if (first == std::string_view::npos || last <= first || text.substr(last + 1) != installation)
    return std::nullopt;
  const std::string_view id = text.substr(0, first);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (id.empty() || !std::all_of(id.begin(), id.end(), is_digit)) return std::nullopt;
  GiftMessageId mail{std::string(id)};
  const std::string_view rest =
      text.substr(first + 1, last - first - 1);  // "1", or "1.2" for the second mail
  std::from_chars(rest.data(), rest.data() + rest.size(), mail.generation);
  return mail;
}

}  // namespace giftsync::daemon::sources
