#include "daemon/sources/sns.h"

#include <algorithm>

#include "daemon/crypto/digest.h"
#include "daemon/crypto/public_key.h"
#include "daemon/sources/preset_report.h"
#include "schema/text.h"

namespace giftsync::daemon {
namespace {

/// SNS tries for up to 23 days; older messages are replays.
constexpr std::int64_t kOldestMillis = 24 * schema::kDayMillis;

/// What SES publishes first to a topic that it is to report to: no JSON, and no report.
constexpr std::string_view kValidated = "Successfully validated SNS topic for Amazon SES";

/// What to answer instead of reading on.
std::optional<WebhookMessage> refusal_of(const SourcePlan& plan, const JsonValue& message,
                                         schema::UtcMillis now, const FetchText& fetch) {
  if (text_at(message, "/TopicArn") != plan.settings.topic) return WebhookRefusal{"of another SNS topic"};
  const std::string text = sns_signed_text(message);
  const auto signature = from_base64_text(text_at(message, "/Signature"));
  const std::string version = text_at(message, "/SignatureVersion");
  if (text.empty() || !signature || (version != "1" && version != "2"))
    return WebhookRefusal{"without a signature of SNS"};
  const auto sent_at = read_time(text_at(message, "/Timestamp"));
  if (!sent_at || sent_at->value < now.value - kOldestMillis ||
      sent_at->value > now.value + schema::kHourMillis)
    return WebhookRefusal{"sent too long ago, or in the future"};
  const std::string url = text_at(message, "/SigningCertURL");
  if (!is_sns_certificate_url(url)) return WebhookRefusal{"with a certificate that is not Amazon's"};
  const std::optional<std::string> pem = fetch(url);
  const auto key = pem ? PublicKey::from_certificate(*pem) : std::nullopt;
  if (!key) return WebhookNotNow{"Amazon's certificate cannot be fetched or read"};
  const SignatureHash hash = version == "1" ? SignatureHash::sha1 : SignatureHash::sha256;
  if (!key->verifies(text, *signature, hash)) return WebhookRefusal{"with a wrong signature"};
  return std::nullopt;
}

/// The original Message-ID: SES gives the mail one of its own.
std::string message_id_in(const JsonValue& event) {
  std::string id = text_at(event, "/mail/commonHeaders/messageId");
  const JsonValue* headers = JsonPointer::parse("/mail/headers")->in(event);
  if (headers == nullptr) return id;
  for (const JsonValue& header : headers->elements()) {
    if (schema::ascii_lower(text_at(header, "/name")) == "message-id") return text_at(header, "/value");
  }
  return id;
}

/// Feedback notifications are so unless somebody says otherwise.
constexpr const char* kNoHeaders =
    "SES leaves out the mails' own headers, so what it reports cannot be matched to gifts; in SES, have each "
    "kind of notification include the original headers";

bool has_headers(const JsonValue& event) {
  return JsonPointer::parse("/mail/headers")->in(event) != nullptr;
}

struct SesWord {
  std::string word = "other";
  std::string time;
};

/// "eventType" in event publishing, "notificationType" in feedback notifications. What SES took and did not
/// send has no time of its own: it is `published_at`, since the time of the mail is before our own
/// "delivered".
SesWord word_of(const JsonValue& event, const std::string& published_at) {
  std::string type = text_at(event, "/eventType");
  if (type.empty()) type = text_at(event, "/notificationType");
  if (type == "Delivery") return {"delivered", text_at(event, "/delivery/timestamp")};
  if (type == "Open") return {"opened", text_at(event, "/open/timestamp")};
  if (type == "Bounce" && text_at(event, "/bounce/bounceType") == "Permanent")
    return {"bounced", text_at(event, "/bounce/timestamp")};
  if (type == "Reject" || type == "Rendering Failure") return {"bounced", published_at};
  return {};
}

/// `message` is SNS's, whose envelope is signed.
void add_report(const SourcePlan& plan, const JsonValue& message, const JsonValue& event,
                WebhookReports& taken) {
  const std::string id = message_id_in(event);
  const SesWord said = word_of(event, text_at(message, "/Timestamp"));
  if (said.word != "other")
    taken.doubt = has_headers(event) || own_mail_of(id, plan.installation) ? "" : kNoHeaders;
  taken.reports.push_back(mail_report(plan, id, said.word, said.time, text_at(message, "/MessageId")));
}

}  // namespace

bool is_sns_url(std::string_view url) {
  constexpr std::string_view kScheme = "https://";
  if (!url.starts_with(kScheme)) return false;
  url.remove_prefix(kScheme.size());
  std::string_view host = url.substr(0, url.find_first_of("/?#"));
  constexpr std::string_view kBegin = "sns.";
  if (!host.starts_with(kBegin)) return false;
  host.remove_prefix(kBegin.size());
  std::size_t end = std::string_view::npos;
  for (const std::string_view tail : {".amazonaws.com", ".amazonaws.com.cn"}) {
    if (host.ends_with(tail)) end = host.size() - tail.size();
  }
  if (end == std::string_view::npos || end == 0) return false;
  const std::string_view region = host.substr(0, end);
  return std::all_of(region.begin(), region.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

bool is_sns_certificate_url(std::string_view url) {
  // Exactly this path: whoever can choose a query can have SNS's own API answer with a text of theirs.
  constexpr std::string_view kBegin = "/SimpleNotificationService-";
  constexpr std::string_view kEnd = ".pem";
  if (!is_sns_url(url)) return false;
  url.remove_prefix(std::min(url.find_first_of("/?#", std::string_view("https://").size()), url.size()));
  if (!url.starts_with(kBegin) || !url.ends_with(kEnd) || url.size() <= kBegin.size() + kEnd.size())
    return false;
  const std::string_view name = url.substr(kBegin.size(), url.size() - kBegin.size() - kEnd.size());
  return name.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

std::string sns_signed_text(const JsonValue& message) {
  const std::string type = text_at(message, "/Type");
  std::vector<std::string_view> names;
  if (type == "Notification") {
    names = {"Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"};
  } else if (type == "SubscriptionConfirmation" || type == "UnsubscribeConfirmation") {
    names = {"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"};
  }
  std::string text;
  for (const std::string_view name : names) {
    const JsonValue* value = message.find(name);
    if (value == nullptr || !value->text()) {
      if (name == "Subject") continue;
      return {};
    }
    text.append(name).append("\n").append(*value->text()).append("\n");
  }
  return text;
}

WebhookMessage read_sns_message(const SourcePlan& plan, const HttpRequest& request, schema::UtcMillis now,
                                const FetchText& fetch) {
  auto read = json_of(request.body);
  // Without a body that can be read there is no signature either.
  if (std::holds_alternative<WebhookGarbage>(read)) return WebhookRefusal{"without a signature of SNS"};
  const JsonValue& message = std::get<JsonDocument>(read).root();
  if (auto refusal = refusal_of(plan, message, now, fetch)) return std::move(*refusal);
  WebhookReports taken;
  taken.message_id = text_at(message, "/MessageId");
  const std::string type = text_at(message, "/Type");
  if (type == "SubscriptionConfirmation") {
    const std::string url = text_at(message, "/SubscribeURL");
    if (!is_sns_url(url))
      return WebhookGarbage{std::nullopt, "the subscription is not to be confirmed at Amazon"};
    if (!fetch(url)) return WebhookNotNow{"the subscription's confirmation cannot be fetched"};
    return taken;
  }
  if (type != "Notification") return taken;
  const std::string said = text_at(message, "/Message");
  if (said.starts_with(kValidated)) return taken;
  auto inner = json_of(said);
  if (auto* garbage = std::get_if<WebhookGarbage>(&inner)) return std::move(*garbage);
  const JsonValue& event = std::get<JsonDocument>(inner).root();
  if (!event.is_object()) return WebhookGarbage{std::nullopt, "the notification is no SES event"};
  add_report(plan, message, event, taken);
  return taken;
}

}  // namespace giftsync::daemon
