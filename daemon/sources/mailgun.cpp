#include "daemon/sources/mailgun.h"

#include "daemon/crypto/digest.h"
#include "daemon/sources/preset_report.h"
#include "daemon/sources/signature_check.h"

namespace giftsync::daemon {
namespace {

/// Mailgun repeats a call for up to eight hours, each time with the signature of the first.
constexpr std::int64_t kOldestMillis = 9 * schema::kHourMillis;

/// The documentation's. Both are signed as one text, so where one ends and the other begins must be certain.
constexpr std::size_t kTimestampDigits = 10;
constexpr std::size_t kTokenBytes = 50;

std::optional<WebhookRefusal> refusal_of(const SourcePlan& plan, const JsonValue& root,
                                         schema::UtcMillis now) {
  const std::string timestamp = text_at(root, "/signature/timestamp");
  const std::string token = text_at(root, "/signature/token");
  const std::string signature = text_at(root, "/signature/signature");
  const bool is_formed = timestamp.size() == kTimestampDigits &&
                         timestamp.find_first_not_of("0123456789") == std::string::npos &&
                         token.size() == kTokenBytes;
  const auto signed_at = is_formed ? read_time(timestamp) : std::nullopt;
  if (!signed_at || signature.empty()) return WebhookRefusal{"without timestamp, token and signature"};
  if (signed_at->value < now.value - kOldestMillis ||
      signed_at->value > now.value + kSignatureToleranceMillis)
    return WebhookRefusal{"signed too long ago, or in the future"};
  bool is_good = false;
  for (const Secret& secret : plan.settings.secrets) {
    const std::string expected = to_hex(hmac_sha256(secret.reveal(), timestamp + token));
    if (equal_in_constant_time(expected, signature)) is_good = true;
  }
  if (!is_good) return WebhookRefusal{"with a wrong signature"};
  return std::nullopt;
}

std::string word_of(const JsonValue& root) {
  std::string event = text_at(root, "/event-data/event");
  if (event == "delivered") return event;
  // The bot (apple, gmail, generic) is a proxy or scanner that loaded the pictures; empty: a person did.
  if (event == "opened") return text_at(root, "/event-data/client-info/bot").empty() ? event : "other";
  const bool is_final =
      event == "rejected" || (event == "failed" && text_at(root, "/event-data/severity") == "permanent");
  return is_final ? "bounced" : "other";
}

}  // namespace

WebhookMessage read_mailgun_message(const SourcePlan& plan, const HttpRequest& request,
                                    schema::UtcMillis now) {
  auto read = json_of(request.body);
  // Without a body that can be read there is no signature either.
  if (std::holds_alternative<WebhookGarbage>(read)) return WebhookRefusal{"without a signature"};
  const JsonValue& root = std::get<JsonDocument>(read).root();
  if (auto refusal = refusal_of(plan, root, now)) return *refusal;
  if (text_at(root, "/event-data/event").empty())
    return WebhookGarbage{std::nullopt, "there is no event-data"};
  WebhookReports message;
  // The signature does not cover the event: a token that was seen with one must not bring in another.
  message.message_id = text_at(root, "/signature/token");
  message.reports.push_back(mail_report(plan, text_at(root, "/event-data/message/headers/message-id"),
                                        word_of(root), text_at(root, "/event-data/timestamp"),
                                        text_at(root, "/event-data/id")));
  return message;
}

}  // namespace giftsync::daemon
