#include "daemon/sources/sns.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/sources/provider_webhook.h"
#include "platform/digest.h"
#include "platform/ip_address.h"
#include "platform/keys.h"
#include "platform/text.h"
#include "sync/mail/delivery_rules.h"

namespace giftsync::sources {
namespace {

/// SNS retries for up to 23 days; older messages are replays.
constexpr std::int64_t kMaxAgeMillis = 24 * kDayMillis;

/// The first message that SES publishes to a new topic: neither JSON nor an event.
constexpr std::string_view kTopicValidated = "Successfully validated SNS topic for Amazon SES";

/// The response when the message is not processed further.
std::optional<WebhookMessage> check_authenticity(const CompiledSource& source, const JsonValue& message,
                                                 UtcMillis now, const FetchUrl& fetch) {
  if (text_at(message, "/TopicArn") != source.settings.topic) return WebhookRefusal{"of another SNS topic"};
  const std::string text = sns_signed_text(message);
  const auto signature = from_base64_text(text_at(message, "/Signature"));
  const std::string version = text_at(message, "/SignatureVersion");
  if (text.empty() || !signature || (version != "1" && version != "2"))
    return WebhookRefusal{"without a signature of SNS"};
  const auto sent_at = sync::parse_event_time(text_at(message, "/Timestamp"));
  if (!sent_at || sent_at->value < now.value - kMaxAgeMillis || sent_at->value > now.value + kHourMillis)
    return WebhookRefusal{"sent too long ago, or in the future"};
  const std::string url = text_at(message, "/SigningCertURL");
  if (!is_sns_certificate_url(url, sns_host_of(source.settings.topic)))
    return WebhookRefusal{"with a certificate that is not Amazon's"};
  const std::optional<std::string> pem = fetch(url);
  const auto key = pem ? PublicKey::from_certificate(*pem) : std::nullopt;
  if (!key) return WebhookTemporaryFailure{"Amazon's certificate cannot be fetched or read"};
  const SignatureHash hash = version == "1" ? SignatureHash::sha1 : SignatureHash::sha256;
  if (!key->verifies(text, *signature, hash)) return WebhookRefusal{"with a wrong signature"};
  return std::nullopt;
}

/// The original Message-ID: SES replaces it in the mail.
std::string message_id_in(ProviderEvent& event) {
  const JsonValue* headers = JsonPointer::parse("/mail/headers")->resolve(event.root());
  for (std::size_t i = 0; headers != nullptr && i < headers->elements().size(); ++i) {
    if (ascii_lower(text_at(headers->elements()[i], "/name")) == "message-id")
      return event.text(fmt::format("/mail/headers/{}/value", i));
  }
  return event.text("/mail/commonHeaders/messageId");
}

/// The default of SES feedback notifications.
constexpr const char* kHeadersMissing =
    "SES omits the mails' original headers, so its events cannot be matched to gifts; in SES, set each "
    "kind of notification to include the original headers";

bool has_headers(const JsonValue& event) {
  return JsonPointer::parse("/mail/headers")->resolve(event) != nullptr;
}

struct SesStatus {
  std::string name = "other";
  std::string time;
};

/// "eventType" in event publishing, "notificationType" in feedback notifications. A mail that SES accepted
/// and did not send has no time of its own and gets `published_at`, since the time of the mail is before
/// giftsync's own "delivered" (SRC-33).
SesStatus status_of(ProviderEvent& event, const std::string& published_at) {
  std::string type = event.text("/eventType");
  if (type.empty()) type = event.text("/notificationType");
  if (type == "Delivery") return {"delivered", event.text("/delivery/timestamp")};
  if (type == "Open") return {"opened", event.text("/open/timestamp")};
  if (type == "Bounce" && event.text("/bounce/bounceType") == "Permanent")
    return {"bounced", event.text("/bounce/timestamp")};
  // "not-spam": the recipient took the mail out of the junk folder.
  if (type == "Complaint" && event.text("/complaint/complaintFeedbackType") != "not-spam")
    return {std::string(sync::kComplaintStatus), event.text("/complaint/timestamp")};
  if (type == "Reject" || type == "Rendering Failure") return {"bounced", published_at};
  return {};
}

/// The account's suppression list also has addresses that complained.
bool is_bad_address(const JsonValue& event) {
  return text_at(event, "/bounce/bounceSubType") != "OnAccountSuppressionList" &&
         sync::is_bad_address_code(text_at(event, "/bounce/bouncedRecipients/0/status"));
}

/// `message` is SNS's, whose envelope is signed.
void add_event(const CompiledSource& source, const JsonValue& message, const JsonValue& root,
               WebhookEvents& result) {
  ProviderEvent event(root);
  const std::string id = message_id_in(event);
  const SesStatus status = status_of(event, text_at(message, "/Timestamp"));
  if (status.name != "other")
    result.warning =
        has_headers(root) || parse_gift_message_id(id, source.installation) ? "" : kHeadersMissing;
  MailEventFields fields{id, status.name, status.time, text_at(message, "/MessageId"),
                         event.text("/complaint/complainedRecipients/0/emailAddress")};
  fields.is_bad_address = status.name == "bounced" && is_bad_address(root);
  if (fields.is_bad_address)
    fields.recipient = recipient_at(event, fields, "/bounce/bouncedRecipients/0/emailAddress");
  result.events.push_back(mail_event(source, event, fields));
}

}  // namespace

std::string sns_host_of(std::string_view topic_arn) {
  // arn:PARTITION:sns:REGION:ACCOUNT:NAME, which the settings have checked.
  const auto part = [&](int number) {
    std::string_view rest = topic_arn;
    for (int i = 0; i < number; ++i) rest.remove_prefix(std::min(rest.find(':'), rest.size() - 1) + 1);
    return rest.substr(0, rest.find(':'));
  };
  return fmt::format("sns.{}.amazonaws.com{}", part(3), part(1) == "aws-cn" ? ".cn" : "");
}

bool is_sns_url(std::string_view url, std::string_view host) {
  constexpr std::string_view kScheme = "https://";
  if (!url.starts_with(kScheme)) return false;
  url.remove_prefix(kScheme.size());
  return url.substr(0, url.find_first_of("/?#")) == host;
}

bool has_sns_certificate_path(std::string_view url) {
  // Exactly this path: with a free query the SNS API could be made to return an attacker's text.
  constexpr std::string_view kBegin = "/SimpleNotificationService-";
  constexpr std::string_view kEnd = ".pem";
  url.remove_prefix(std::min(url.find_first_of("/?#", std::string_view("https://").size()), url.size()));
  if (!url.starts_with(kBegin) || !url.ends_with(kEnd) || url.size() <= kBegin.size() + kEnd.size())
    return false;
  const std::string_view name = url.substr(kBegin.size(), url.size() - kBegin.size() - kEnd.size());
  return name.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

bool is_sns_certificate_url(std::string_view url, std::string_view host) {
  return is_sns_url(url, host) && has_sns_certificate_path(url);
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

WebhookMessage parse_sns_message(const CompiledSource& source, const http::HttpRequest& request,
                                 UtcMillis now, const FetchUrl& fetch) {
  const auto body = parse_json_body(request.body);
  // A body that cannot be parsed has no signature either.
  if (!body) return WebhookRefusal{"without a signature of SNS"};
  const JsonValue& message = body->root();
  if (auto refusal = check_authenticity(source, message, now, fetch)) return std::move(*refusal);
  WebhookEvents result;
  result.message_id = text_at(message, "/MessageId");
  const std::string type = text_at(message, "/Type");
  if (type == "SubscriptionConfirmation") {
    const std::string url = text_at(message, "/SubscribeURL");
    if (!is_sns_url(url, sns_host_of(source.settings.topic)))
      return WebhookInvalidBody{std::nullopt, "the subscription's confirmation URL is not Amazon's"};
    if (!fetch(url))
      return WebhookTemporaryFailure{"the subscription's confirmation cannot be fetched", true};
    return result;
  }
  if (type != "Notification") return result;
  const std::string content = text_at(message, "/Message");
  if (content.starts_with(kTopicValidated)) return result;
  const auto inner = parse_json_body(content);
  if (!inner) return inner.error();
  const JsonValue& event = inner->root();
  if (!event.is_object()) return WebhookInvalidBody{std::nullopt, "the notification is not an SES event"};
  add_event(source, message, event, result);
  return result;
}

namespace {

constexpr std::size_t kMaxCertificates = 20;
constexpr std::size_t kMaxBodyBytes = std::size_t{64} << 10;
constexpr std::int64_t kTimeoutMillis = 5'000;
/// Each fetch occupies a thread that serves a call.
constexpr int kMaxConcurrentFetches = 4;

/// Counts a fetch while it lasts.
class RunningFetch {
 public:
  explicit RunningFetch(std::atomic<int>& running) : running_(running), before_(running++) {}
  ~RunningFetch() { --running_; }
  RunningFetch(const RunningFetch&) = delete;
  RunningFetch& operator=(const RunningFetch&) = delete;
  bool is_allowed() const { return before_ < kMaxConcurrentFetches; }

 private:
  std::atomic<int>& running_;
  const int before_;
};

}  // namespace

std::optional<std::string> SnsCertificateCache::fetch_body(const std::string& url) {
  HttpGetRequest request;
  request.url = url;
  request.max_bytes = kMaxBodyBytes;
  request.timeout_millis = kTimeoutMillis;
  request.https_only = true;
  HttpGetResponse response = http_get_(request, [] { return true; });
  if (response.status != 200) return std::nullopt;
  return std::move(response.body);
}

std::optional<std::string> SnsCertificateCache::operator()(const std::string& url,
                                                           const std::string& client) {
  const bool is_certificate = has_sns_certificate_path(url);
  const UtcMillis now = clock_();
  std::optional<std::string> stale;
  {
    const std::lock_guard lock(mutex_);
    const auto cached = certificates_.find(url);
    if (cached != certificates_.end()) {
      if (now.value - cached->second.fetched_at.value < kDayMillis) return cached->second.text;
      stale = cached->second.text;
    }
  }
  const RunningFetch running(running_);
  if (!running.is_allowed() || fetches_.count(rate_limit_prefix(client), now).is_exceeded) return stale;
  std::optional<std::string> text = fetch_body(url);
  if (!is_certificate) return text;
  // A proxy between this host and Amazon may return another text, so the certificate is checked.
  if (!text || !PublicKey::from_certificate(*text)) return stale;
  const std::lock_guard lock(mutex_);
  if (certificates_.size() >= kMaxCertificates) certificates_.clear();
  certificates_[url] = {*text, now};
  return text;
}

}  // namespace giftsync::sources
