#include "daemon/sources/inbound_event.h"

#include <nlohmann/json.hpp>

#include "platform/strict_json.h"
#include "platform/text.h"
#include "schema/gift_record.h"

namespace giftsync::daemon::sources {
namespace {

constexpr std::size_t kMaxCodePoints = 500;

/// One more than the gift record's field holds: the code that drafts the record cuts there and warns if there
/// was more.
std::size_t max_message_code_points() {
  return static_cast<std::size_t>(schema::descriptor_of(schema::GiftField::message).length) + 1;
}

constexpr std::array<std::string_view, kEventFieldCount> kFieldNames{
    "transaction_id",  "status",     "occurred_at", "event_id",      "recipient_email",
    "recipient_phone", "first_name", "last_name",   "sender_email",  "gift_id",
    "message",         "sent_at",    "item_cost",   "shipping_cost", "carbon_neutral_cost",
    "transaction_fee"};
constexpr std::string_view kPayload = "payload";
constexpr std::string_view kPayloadTooLong = "payload_too_long";
constexpr std::string_view kUnreadReason = "unread_reason";

using Json = nlohmann::ordered_json;

Json fields_as_json(const InboundEvent& event) {
  Json json = Json::object();
  for (std::size_t i = 0; i < kEventFieldCount; ++i) {
    const std::string& text = event[static_cast<EventField>(i)];
    if (!text.empty()) json[std::string(kFieldNames[i])] = text;
  }
  return json;
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

void InboundEvent::set(EventField field, std::string_view text) {
  const std::size_t max_code_points =
      field == EventField::message ? max_message_code_points() : kMaxCodePoints;
  values_[static_cast<std::size_t>(field)] = platform::truncated(platform::trimmed(text), max_code_points);
}

std::string serialize_fields(const InboundEvent& event) {
  return dump(fields_as_json(event));
}

std::string serialize(const InboundEvent& event) {
  Json json = fields_as_json(event);
  if (!event.payload.empty()) json[std::string(kPayload)] = event.payload;
  if (event.is_payload_too_long) json[std::string(kPayloadTooLong)] = true;
  if (!event.unread_reason.empty()) json[std::string(kUnreadReason)] = event.unread_reason;
  return dump(json);
}

std::optional<InboundEvent> parse_inbound_event(std::string_view text) {
  const auto document = platform::parse_json(text);
  if (!document || !document->root().is_object()) return std::nullopt;
  InboundEvent event;
  for (std::size_t i = 0; i < kEventFieldCount; ++i) {
    const platform::JsonValue* value = document->root().find(kFieldNames[i]);
    if (value != nullptr && value->text()) event.set(static_cast<EventField>(i), *value->text());
  }
  const platform::JsonValue* payload = document->root().find(kPayload);
  if (payload != nullptr && payload->text()) event.payload = *payload->text();
  const platform::JsonValue* too_long = document->root().find(kPayloadTooLong);
  event.is_payload_too_long = too_long != nullptr && too_long->boolean().value_or(false);
  const platform::JsonValue* unread_reason = document->root().find(kUnreadReason);
  if (unread_reason != nullptr && unread_reason->text()) event.unread_reason = *unread_reason->text();
  return event;
}

}  // namespace giftsync::daemon::sources
