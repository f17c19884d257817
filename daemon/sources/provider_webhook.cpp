#include "daemon/sources/provider_webhook.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "daemon/sources/sns.h"
#include "platform/digest.h"
#include "platform/json.h"
#include "platform/keys.h"
#include "platform/text.h"
#include "sync/mail/delivery_rules.h"

namespace giftsync::sources {
namespace {

// Mailgun's webhooks: HMAC-SHA256 of timestamp and token in the body, giftsync's
// Message-ID in the event.

/// Mailgun repeats a call for up to eight hours, each time with the first signature.
constexpr std::int64_t kMailgunMaxAgeMillis = 9 * kHourMillis;

/// Lengths in Mailgun's documentation. Timestamp and token are signed as one text, so the boundary between
/// them must be fixed (SRC-34).
constexpr std::size_t kTimestampDigits = 10;
constexpr std::size_t kTokenBytes = 50;

std::optional<WebhookRefusal> check_authenticity(const CompiledSource& source, const JsonValue& root,
                                                 UtcMillis now) {
  const std::string timestamp = text_at(root, "/signature/timestamp");
  const std::string token = text_at(root, "/signature/token");
  const std::string signature = text_at(root, "/signature/signature");
  const bool is_well_formed = timestamp.size() == kTimestampDigits &&
                              timestamp.find_first_not_of("0123456789") == std::string::npos &&
                              token.size() == kTokenBytes;
  const auto signed_at = is_well_formed ? sync::parse_event_time(timestamp) : std::nullopt;
  if (!signed_at || signature.empty()) return WebhookRefusal{"without timestamp, token and signature"};
  if (signed_at->value < now.value - kMailgunMaxAgeMillis ||
      signed_at->value > now.value + kSignatureToleranceMillis)
    return WebhookRefusal{"signed too long ago, or in the future"};
  bool is_good = false;
  for (const config::Secret& secret : source.settings.secrets) {
    const std::string expected = to_hex(hmac_sha256(secret.reveal(), timestamp + token));
    if (equal_in_constant_time(expected, signature)) is_good = true;
  }
  if (!is_good) return WebhookRefusal{"with a wrong signature"};
  return std::nullopt;
}

std::string mailgun_status_of(ProviderEvent& read) {
  std::string event = read.text("/event-data/event");
  if (event == "delivered" || event == sync::kComplaintStatus) return event;
  // The bot (apple, gmail, generic) is a proxy or scanner that loaded the pictures; empty for a person
  // (SRC-31).
  if (event == "opened") return read.text("/event-data/client-info/bot").empty() ? event : "other";
  const bool is_final =
      event == "rejected" || (event == "failed" && read.text("/event-data/severity") == "permanent");
  return is_final ? "bounced" : "other";
}

/// "5.1.1 The email account does not exist": older events have the code in the message alone.
bool is_mailgun_bad_address(const JsonValue& event) {
  std::string code = text_at(event, "/event-data/delivery-status/enhanced-code");
  if (code.empty()) code = text_at(event, "/event-data/delivery-status/message");
  return sync::is_bad_address_code(code.substr(0, code.find(' ')));
}

WebhookMessage parse_mailgun_message(const CompiledSource& source, const http::HttpRequest& request,
                                     UtcMillis now) {
  const auto body = parse_json_body(request.body);
  // A body that cannot be parsed has no signature either.
  if (!body) return WebhookRefusal{"without a signature"};
  const JsonValue& root = body->root();
  if (auto refusal = check_authenticity(source, root, now)) return *refusal;
  ProviderEvent event(root);
  if (event.text("/event-data/event").empty() && event.fault().empty())
    return WebhookInvalidBody{std::nullopt, "there is no event-data"};
  WebhookEvents message;
  // The signature does not cover the event: a token that was used with one event must not admit another.
  message.message_id = text_at(root, "/signature/token");
  MailEventFields fields{event.text("/event-data/message/headers/message-id"), mailgun_status_of(event),
                         event.text("/event-data/timestamp"), event.text("/event-data/id")};
  fields.is_bad_address = fields.status == "bounced" && is_mailgun_bad_address(root);
  fields.recipient = recipient_at(event, fields, "/event-data/recipient");
  message.events.push_back(mail_event(source, event, fields));
  return message;
}

}  // namespace

namespace {

// Postmark's modular webhooks (delivery, bounce, open): HTTP Basic, giftsync's
// argument in Metadata.

/// Only these bounces are final. A soft bounce may still be delivered, and a complaint comes from a recipient
/// who has the mail. The last two were never sent; SMTPApiError: Postmark no longer mails to the address.
constexpr std::array<std::string_view, 8> kPermanentBounceTypes{
    "HardBounce",       "BadEmailAddress", "ManuallyDeactivated", "Blocked",
    "SpamNotification", "DMARCPolicy",     "SMTPApiError",        "TemplateRenderingFailed"};

/// Its own record, or a type of bounce, as the webhook is set up.
constexpr std::string_view kPostmarkComplaint = "SpamComplaint";

bool is_permanent_bounce(const std::string& type) {
  return std::find(kPermanentBounceTypes.begin(), kPermanentBounceTypes.end(), type) !=
         kPermanentBounceTypes.end();
}

WebhookMessage parse_postmark_message(const CompiledSource& source, const http::HttpRequest& request) {
  const SignatureResult login = check_basic(request, source.settings.secrets);
  if (!login.is_valid) return WebhookRefusal{login.why};
  const auto body = parse_json_body(request.body);
  if (!body) return body.error();
  ProviderEvent event(body->root());
  const std::string type = event.text("/RecordType");
  if (type.empty() && event.fault().empty())
    return WebhookInvalidBody{std::nullopt, "there is no RecordType"};
  MailEventFields fields{event.text(std::string("/Metadata/") + kMessageIdArgument), "other", "", ""};
  if (type == "Delivery") {
    fields.status = "delivered";
    fields.time = event.text("/DeliveredAt");
    fields.event_id = "delivery " + event.text("/MessageID");
  } else if (type == "Bounce") {
    const std::string bounce = event.text("/Type");
    if (is_permanent_bounce(bounce)) fields.status = "bounced";
    fields.is_bad_address = bounce == "HardBounce" || bounce == "BadEmailAddress";
    if (bounce == kPostmarkComplaint) fields.status = sync::kComplaintStatus;
    fields.time = event.text("/BouncedAt");
    fields.event_id = "bounce " + event.text("/ID");
  } else if (type == kPostmarkComplaint) {
    fields.status = sync::kComplaintStatus;
    fields.event_id = "complaint " + event.text("/ID");
  } else if (type == "Open") {
    fields.status = "opened";
    fields.time = event.text("/ReceivedAt");
    fields.event_id = "open " + event.text("/MessageID");
  }
  fields.recipient = recipient_at(event, fields, "/Email");
  WebhookEvents message;
  message.events.push_back(mail_event(source, event, fields));
  return message;
}

}  // namespace

namespace {

// SendGrid's signed event webhook: ECDSA over timestamp and body, a list of events,
// giftsync's argument in each of them or its Message-ID in smtp-id.

/// SendGrid repeats a call for up to a day and does not document that it signs it again.
constexpr std::int64_t kSendgridMaxAgeMillis = 25 * kHourMillis;

std::optional<WebhookRefusal> check_authenticity(const CompiledSource& source,
                                                 const http::HttpRequest& request, UtcMillis now) {
  const auto timestamp = request.header("X-Twilio-Email-Event-Webhook-Timestamp");
  const auto text = request.header("X-Twilio-Email-Event-Webhook-Signature");
  const auto signature = text ? from_base64_text(*text) : std::nullopt;
  const auto signed_at = timestamp ? sync::parse_event_time(*timestamp) : std::nullopt;
  if (!signature || !signed_at) return WebhookRefusal{"without timestamp and signature"};
  if (signed_at->value < now.value - kSendgridMaxAgeMillis ||
      signed_at->value > now.value + 5 * kMinuteMillis)
    return WebhookRefusal{"signed too long ago, or in the future"};
  for (const config::Secret& secret : source.settings.secrets) {
    const auto key = PublicKey::from_base64(secret.reveal());
    if (key && key->verifies(*timestamp + request.body, *signature, SignatureHash::sha256))
      return std::nullopt;
  }
  return WebhookRefusal{"with a wrong signature"};
}

std::string sendgrid_status_of(ProviderEvent& event) {
  std::string name = event.text("/event");
  if (name == "delivered") return name;
  if (name == "spamreport") return std::string(sync::kComplaintStatus);
  // Apple's privacy proxies load a mail's pictures before the recipient opens it (SRC-31).
  if (name == "open") return event.text("/sg_machine_open") == "true" ? "other" : "opened";
  // "blocked" bounces may still be delivered later; a dropped mail was never sent (SRC-30).
  const bool is_final = (name == "bounce" && event.text("/type") != "blocked") || name == "dropped";
  return is_final ? "bounced" : "other";
}

/// A dropped mail was never sent, and its reason may be a former refusal of any kind.
bool is_sendgrid_bad_address(const JsonValue& event) {
  return text_at(event, "/event") == "bounce" &&
         (text_at(event, "/bounce_classification") == "Invalid Address" ||
          sync::is_bad_address_code(text_at(event, "/status")));
}

WebhookMessage parse_sendgrid_message(const CompiledSource& source, const http::HttpRequest& request,
                                      UtcMillis now) {
  if (auto refusal = check_authenticity(source, request, now)) return *refusal;
  const auto body = parse_json_body(request.body);
  if (!body) return body.error();
  const JsonValue& root = body->root();
  if (!root.is_array()) return WebhookInvalidBody{std::nullopt, "the body is not a list of events"};
  if (root.elements().size() > kMaxEvents) return TooManyEvents{root.elements().size()};
  WebhookEvents message;
  for (const JsonValue& element : root.elements()) {
    ProviderEvent event(element);
    std::string id = event.text(std::string("/") + kMessageIdArgument);
    if (id.empty() && event.fault().empty()) id = event.text("/smtp-id");
    MailEventFields fields{id, sendgrid_status_of(event), event.text("/timestamp"),
                           event.text("/sg_event_id")};
    fields.is_bad_address = fields.status == "bounced" && is_sendgrid_bad_address(element);
    fields.recipient = recipient_at(event, fields, "/email");
    message.events.push_back(mail_event(source, event, fields));
  }
  return message;
}

}  // namespace

WebhookMessage parse_provider_message(const CompiledSource& source, const http::HttpRequest& request,
                                      UtcMillis now, const FetchUrl& fetch) {
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

std::optional<GiftMessageId> parse_gift_message_id(std::string_view message_id, std::string_view installation,
                                                   bool or_reminder) {
  std::string_view text = trimmed(message_id);
  if (text.starts_with('<')) text.remove_prefix(1);
  if (text.ends_with('>')) text.remove_suffix(1);
  text = text.substr(0, text.find('@'));
  constexpr std::string_view kBegin = "gift-";
  constexpr std::string_view kBeginOfReminder = "reminder-";
  const bool is_reminder = or_reminder && text.starts_with(kBeginOfReminder);
  if (!is_reminder && !text.starts_with(kBegin)) return std::nullopt;
  text.remove_prefix(is_reminder ? kBeginOfReminder.size() : kBegin.size());
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

}  // namespace giftsync::sources
