#include "daemon/sources/mail_presets.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "daemon/sources/mailgun.h"
#include "daemon/sources/postmark.h"
#include "daemon/sources/preset_report.h"
#include "daemon/sources/sendgrid.h"
#include "daemon/sources/sns.h"
#include "schema/text.h"

namespace giftsync::daemon {

WebhookMessage read_preset_message(const SourcePlan& plan, const HttpRequest& request, schema::UtcMillis now,
                                   const FetchText& fetch) {
  switch (plan.settings.preset) {
    case SourcePreset::ses:
      return read_sns_message(plan, request, now, fetch);
    case SourcePreset::postmark:
      return read_postmark_message(plan, request);
    case SourcePreset::mailgun:
      return read_mailgun_message(plan, request, now);
    case SourcePreset::sendgrid:
      return read_sendgrid_message(plan, request, now);
    case SourcePreset::none:
      break;
  }
  return WebhookRefusal{"for a source without a preset"};
}

std::vector<std::pair<std::string, std::string>> mail_arguments(const std::vector<SourceSettings>& sources,
                                                                const std::string& message_id) {
  std::vector<std::pair<std::string, std::string>> headers;
  for (const SourceSettings& source : sources) {
    if (source.preset == SourcePreset::postmark) {
      headers.emplace_back(std::string("X-PM-Metadata-") + kMailArgument, message_id);
    } else if (source.preset == SourcePreset::sendgrid) {
      const nlohmann::json arguments{{"unique_args", {{kMailArgument, message_id}}}};
      headers.emplace_back("X-SMTPAPI", arguments.dump());
    }
  }
  return headers;
}

std::optional<OwnMail> own_mail_of(std::string_view message_id, std::string_view installation) {
  std::string_view text = schema::trimmed(message_id);
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
  OwnMail mail{std::string(id)};
  const std::string_view rest = text.substr(first + 1, last - first - 1);  // "1", or "1.2" of the second mail
  std::from_chars(rest.data(), rest.data() + rest.size(), mail.generation);
  return mail;
}

}  // namespace giftsync::daemon
