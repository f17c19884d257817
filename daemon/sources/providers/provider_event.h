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

/// An event about one of giftsync's mails; an event about any other mail gets the ignored status.
inline sync::InboundEvent mail_event(const CompiledSource& source, std::string_view message_id,
                                     std::string_view status, std::string_view time,
                                     std::string_view event_id) {
  sync::InboundEvent event;
  const auto mail = parse_gift_message_id(message_id, source.installation);
  event.set(sync::EventField::transaction_id, mail ? mail->transaction : "");
  event.set(sync::EventField::status, mail ? status : "other");
  if (mail) event.generation = mail->generation;
  event.set(sync::EventField::occurred_at, time);
  event.set(sync::EventField::event_id, event_id);
  return event;
}

/// Parses a body, or returns its error.
inline tl::expected<platform::JsonDocument, WebhookInvalidBody> parse_json_body(const std::string& body) {
  return platform::parse_json(body, {.large_numbers_as_text = true})
      .map_error([](const platform::JsonError& error) {
        return WebhookInvalidBody{error, error.message};
      });
}

}  // namespace giftsync::daemon::sources
