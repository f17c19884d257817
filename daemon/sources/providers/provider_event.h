// daemon/sources/providers: shared by the presets.
#pragma once

#include <string>
#include <string_view>

#include "daemon/sources/event_extraction.h"
#include "daemon/sources/providers/provider_webhook.h"
#include "platform/json_pointer.h"
#include "sync/event_classification.h"

namespace giftsync::daemon::sources {

/// Key under which the Message-ID travels with a mail where the provider does not return it itself.
inline constexpr const char* kMessageIdArgument = "giftsync";

/// The text at a constant pointer; empty when there is none.
inline std::string text_at(const platform::JsonValue& root, std::string_view pointer) {
  const platform::JsonValue* value = platform::JsonPointer::parse(pointer)->resolve(root);
  return value ? scalar_text(*value) : std::string();
}

/// The values of one provider event, at constant pointers, and the first of them that cannot be read.
class ProviderEvent {
 public:
  explicit ProviderEvent(const platform::JsonValue& root) : root_(root) {}

  /// Empty also for a value that cannot be read.
  std::string text(std::string_view pointer) {
    const auto parsed = *platform::JsonPointer::parse(pointer);
    std::string fault = platform::describe_unreadable_value(parsed, root_, platform::ValueUse::exact);
    if (fault_.empty()) fault_ = fault;
    const platform::JsonValue* value = fault.empty() ? parsed.resolve(root_) : nullptr;
    return value ? scalar_text(*value) : std::string();
  }
  const platform::JsonValue& root() const { return root_; }
  const std::string& fault() const { return fault_; }

 private:
  const platform::JsonValue& root_;
  std::string fault_;
};

/// What a provider's event says; each empty for nothing.
struct MailEventFields {
  std::string message_id;
  std::string status;
  std::string time;
  std::string event_id;
};

/// An event about one of giftsync's mails; an event about any other mail gets the ignored status. Where
/// `read` has a fault, the event is quarantined, unless it is about another mail.
inline sync::InboundEvent mail_event(const CompiledSource& source, const ProviderEvent& read,
                                     const MailEventFields& fields) {
  sync::InboundEvent event;
  const auto mail = parse_gift_message_id(fields.message_id, source.installation);
  if (!read.fault().empty() && (mail || fields.message_id.empty())) {
    event.unread_reason = read.fault();
    event.payload = kept_json(read.root());
    event.is_payload_too_long = event.payload.empty();
    return event;
  }
  event.set(sync::EventField::transaction_id, mail ? mail->transaction : "");
  event.set(sync::EventField::status, mail ? fields.status : "other");
  if (mail) event.generation = mail->generation;
  event.set(sync::EventField::occurred_at, fields.time);
  event.set(sync::EventField::event_id, fields.event_id);
  return event;
}

/// Parses a body, or returns its error.
inline tl::expected<platform::JsonDocument, WebhookInvalidBody> parse_json_body(const std::string& body) {
  return platform::parse_lenient_json(body).map_error([](const platform::JsonError& error) {
    return WebhookInvalidBody{error, error.message};
  });
}

}  // namespace giftsync::daemon::sources
