#include "daemon/sources/kept_event.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "platform/digest.h"
#include "platform/strict_json.h"
#include "platform/text.h"

namespace giftsync::daemon::sources {
namespace {

using sync::EventField;
using sync::InboundEvent;
using Json = nlohmann::ordered_json;

/// Limit of a kept event, since a source may have 100,000 of them. Only a message or the vendor's JSON can
/// exceed it.
constexpr std::size_t kMaxKeptBytes = std::size_t{64} << 10;
constexpr std::size_t kMaxKeptMessageCodePoints = 4'000;

constexpr std::array<const char*, sync::kEventFields.size()> kFieldNames{
    "transaction_id",  "status",     "occurred_at", "event_id",      "recipient_email",
    "recipient_phone", "first_name", "last_name",   "sender_email",  "gift_id",
    "message",         "sent_at",    "item_cost",   "shipping_cost", "carbon_neutral_cost",
    "transaction_fee"};
constexpr const char* kPayload = "payload";
constexpr const char* kPayloadTooLong = "payload_too_long";
constexpr const char* kUnreadReason = "unread_reason";

const char* name_of(EventField field) {
  return kFieldNames[static_cast<std::size_t>(field)];
}

Json fields_as_json(const InboundEvent& event) {
  Json json = Json::object();
  for (const EventField field : sync::kEventFields) {
    if (!event[field].empty()) json[name_of(field)] = event[field];
  }
  return json;
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string digest_of(const std::string& text) {
  return platform::sha256_hex(text);
}

}  // namespace

std::string serialize(const InboundEvent& event) {
  Json json = fields_as_json(event);
  if (!event.payload.empty()) json[kPayload] = event.payload;
  if (event.is_payload_too_long) json[kPayloadTooLong] = true;
  if (!event.unread_reason.empty()) json[kUnreadReason] = event.unread_reason;
  return dump(json);
}

std::optional<InboundEvent> parse_inbound_event(std::string_view text) {
  const auto document = platform::parse_json(text);
  if (!document || !document->root().is_object()) return std::nullopt;
  const auto text_of = [&](const char* name) {
    const platform::JsonValue* value = document->root().find(name);
    return std::string(value != nullptr ? value->text().value_or("") : "");
  };
  InboundEvent event;
  for (const EventField field : sync::kEventFields) event.set(field, text_of(name_of(field)));
  event.payload = text_of(kPayload);
  const platform::JsonValue* too_long = document->root().find(kPayloadTooLong);
  event.is_payload_too_long = too_long != nullptr && too_long->boolean().value_or(false);
  event.unread_reason = text_of(kUnreadReason);
  return event;
}

sync::KeptEvent keep(const InboundEvent& event) {
  sync::KeptEvent kept;
  kept.text = serialize(event);
  kept.digest = digest_of(dump(fields_as_json(event)));
  kept.whole_digest = digest_of(kept.text);
  if (kept.text.size() <= kMaxKeptBytes && !event.is_payload_too_long) return kept;
  InboundEvent shortened = event;
  if (kept.text.size() > kMaxKeptBytes && !shortened.payload.empty()) {
    shortened.payload.clear();
    shortened.is_payload_too_long = true;
    kept.text = serialize(shortened);
  }
  if (kept.text.size() > kMaxKeptBytes) {
    shortened.set(EventField::message,
                  platform::truncated(event[EventField::message], kMaxKeptMessageCodePoints));
    kept.text = serialize(shortened);
  }
  if (!shortened.is_payload_too_long) return kept;
  kept.omission =
      "it is too long to be kept whole, so pointers that are corrected later cannot be applied to it";
  // Also for an event that was shortened before and is classified again.
  if (platform::count_code_points(shortened[EventField::message]) == kMaxKeptMessageCodePoints)
    kept.omission += fmt::format("; its message is kept up to {} characters", kMaxKeptMessageCodePoints);
  return kept;
}

}  // namespace giftsync::daemon::sources
