// daemon/sources/providers: the webhooks of mail providers (SES through SNS, Postmark, Mailgun, SendGrid) as
// documented by them: each with its own signature, each matched to a gift by giftsync's Message-ID or by the
// argument sent with the mail (SRC-32). Events about other mails are ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/sources/kept_event.h"
#include "daemon/sources/webhook_message.h"
#include "platform/lenient_json.h"
#include "sync/status/event_classification.h"

namespace giftsync::sources {

WebhookMessage parse_provider_message(const CompiledSource& source, const http::HttpRequest& request,
                                      UtcMillis now, const FetchUrl& fetch);

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
/// a further mail has its number after the generation. Nullopt for anything else, also for other
/// installations, and for reminders unless `or_reminder`.
std::optional<GiftMessageId> parse_gift_message_id(std::string_view message_id, std::string_view installation,
                                                   bool or_reminder = false);

// Shared by the presets.

/// Key under which the Message-ID travels with a mail where the provider does not return it itself.
inline constexpr const char* kMessageIdArgument = "giftsync";

/// The text at a constant pointer; empty when there is none.
inline std::string text_at(const JsonValue& root, std::string_view pointer) {
  const JsonValue* value = JsonPointer::parse(pointer)->resolve(root);
  return value ? scalar_text(*value) : std::string();
}

/// The values of one provider event, at constant pointers, and the first of them that cannot be read.
class ProviderEvent {
 public:
  explicit ProviderEvent(const JsonValue& root) : root_(root) {}

  /// Empty also for a value that cannot be read.
  std::string text(std::string_view pointer) {
    const auto parsed = *JsonPointer::parse(pointer);
    std::string fault = describe_unreadable_value(parsed, root_, ValueUse::exact);
    if (fault_.empty()) fault_ = fault;
    const JsonValue* value = fault.empty() ? parsed.resolve(root_) : nullptr;
    return value ? scalar_text(*value) : std::string();
  }
  const JsonValue& root() const { return root_; }
  const std::string& fault() const { return fault_; }

 private:
  const JsonValue& root_;
  std::string fault_;
};

/// What a provider's event says; each empty for nothing.
struct MailEventFields {
  std::string message_id;
  std::string status;
  std::string time;
  std::string event_id;
  std::string recipient = {};   ///< of a complaint or a bad address
  bool is_bad_address = false;  ///< the provider says that the recipient's address does not exist
};

/// The address that a complaint or a bad address is about. What only GUARD-22 needs sets no fault, since a
/// bounce must not be quarantined for it.
inline std::string recipient_at(ProviderEvent& event, const MailEventFields& fields,
                                std::string_view pointer) {
  if (fields.status == sync::kComplaintStatus) return event.text(pointer);
  return fields.is_bad_address ? ProviderEvent(event.root()).text(pointer) : std::string();
}

/// An event about one of giftsync's mails; an event about any other mail gets the ignored status. Where
/// `read` has a fault, the event is quarantined, unless it is about another mail.
inline sync::InboundEvent mail_event(const CompiledSource& source, const ProviderEvent& read,
                                     const MailEventFields& fields) {
  sync::InboundEvent event;
  // A reminder's delivery says nothing about the gift's mail, a complaint about it does about the recipient.
  const bool is_complaint = fields.status == sync::kComplaintStatus;
  const auto mail = parse_gift_message_id(fields.message_id, source.installation, is_complaint);
  if (!read.fault().empty() && (mail || fields.message_id.empty())) {
    event.unread_reason = read.fault();
    event.payload = kept_json(read.root());
    event.is_payload_too_long = event.payload.empty();
    return event;
  }
  // A bounce of a reminder says nothing about the gift's mail, but the address is bad.
  const auto bounced = fields.is_bad_address
                           ? parse_gift_message_id(fields.message_id, source.installation, true)
                           : std::nullopt;
  if (bounced) {
    event.bounced_address = fields.recipient;
    event.bounced_gift = bounced->transaction;
  }
  event.set(sync::EventField::transaction_id, mail ? mail->transaction : "");
  event.set(sync::EventField::status, mail ? fields.status : "other");
  if (mail) event.generation = mail->generation;
  event.set(sync::EventField::occurred_at, fields.time);
  event.set(sync::EventField::event_id, fields.event_id);
  if (is_complaint) event.set(sync::EventField::recipient_email, fields.recipient);
  return event;
}

/// Parses a body, or returns its error.
inline tl::expected<JsonDocument, WebhookInvalidBody> parse_json_body(const std::string& body) {
  return parse_lenient_json(body).map_error([](const JsonError& error) {
    return WebhookInvalidBody{error, error.message};
  });
}

}  // namespace giftsync::sources
