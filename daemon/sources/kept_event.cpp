#include "daemon/sources/kept_event.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/digest.h"
#include "platform/json.h"
#include "platform/strict_json.h"
#include "platform/text.h"

namespace giftsync::sources {
namespace {

using sync::EventField;
using sync::InboundEvent;

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
  return sha256_hex(text);
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
  const auto document = parse_json(text);
  if (!document || !document->root().is_object()) return std::nullopt;
  const auto text_of = [&](const char* name) {
    const JsonValue* value = document->root().find(name);
    return std::string(value != nullptr ? value->text().value_or("") : "");
  };
  InboundEvent event;
  for (const EventField field : sync::kEventFields) event.set(field, text_of(name_of(field)));
  event.payload = text_of(kPayload);
  const JsonValue* too_long = document->root().find(kPayloadTooLong);
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
    shortened.set(EventField::message, truncated(event[EventField::message], kMaxKeptMessageCodePoints));
    kept.text = serialize(shortened);
  }
  if (!shortened.is_payload_too_long) return kept;
  kept.omission =
      "it is too long to be kept whole, so pointers that are corrected later cannot be applied to it";
  // Also for an event that was shortened before and is classified again.
  if (count_code_points(shortened[EventField::message]) == kMaxKeptMessageCodePoints)
    kept.omission += fmt::format("; its message is kept up to {} characters", kMaxKeptMessageCodePoints);
  return kept;
}

namespace {

using sync::InboundEvent;

bool needs_escape(char c) {
  return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
}

void write_quoted(std::string_view text, std::string& out) {
  if (std::none_of(text.begin(), text.end(), needs_escape)) {
    out.append("\"").append(text).append("\"");
  } else {
    out += nlohmann::json(text).dump();
  }
}

/// Writes JSON that parses to the same value. Stops once it exceeds kMaxPayloadBytes.
void write_json(const JsonValue& value, std::string& out) {
  if (out.size() > kMaxPayloadBytes) return;
  if (value.is_array()) {
    out += '[';
    for (const JsonValue& element : value.elements()) {
      if (out.back() != '[') out += ',';
      write_json(element, out);
      if (out.size() > kMaxPayloadBytes) return;
    }
    out += ']';
  } else if (value.is_object()) {
    out += '{';
    for (const JsonMember& member : value.members()) {
      if (out.back() != '{') out += ',';
      write_quoted(member.name, out);
      out += ':';
      write_json(member.value, out);
      if (out.size() > kMaxPayloadBytes) return;
    }
    out += '}';
  } else if (const auto text = value.text()) {
    write_quoted(*text, out);
  } else {
    out += value.is_null() ? "null" : scalar_text(value);
  }
}

ValueUse use_of(sync::EventField field) {
  const bool is_free_text = field == sync::EventField::first_name || field == sync::EventField::last_name ||
                            field == sync::EventField::message;
  return is_free_text ? ValueUse::free_text : ValueUse::exact;
}

InboundEvent extract_event(const JsonValue& item, const CompiledSource& source) {
  InboundEvent event;
  for (const auto& [field, pointer] : source.pointers) {
    if (std::string fault = describe_unreadable_value(pointer, item, use_of(field)); !fault.empty()) {
      event = {};
      event.unread_reason = std::move(fault);
      break;
    }
    if (const JsonValue* value = pointer.resolve(item)) event.set(field, scalar_text(*value));
  }
  event.payload = kept_json(item);
  event.is_payload_too_long = event.payload.empty();
  return event;
}

/// Why a pointer around the events leads to what cannot be read; empty: none does.
std::string describe_unreadable_frame(const JsonValue& root, const CompiledSource& source) {
  std::string fault = source.items->describe_ambiguity(root);
  for (const std::string& text : {source.settings.cursor_pointer, source.settings.next}) {
    const auto pointer = fault.empty() ? JsonPointer::parse(text) : std::nullopt;
    if (pointer) fault = describe_unreadable_value(*pointer, root, ValueUse::exact);
  }
  return fault;
}

}  // namespace

std::string scalar_text(const JsonValue& value) {
  if (const auto text = value.text()) return std::string(*text);
  if (const auto number = value.integer()) return std::to_string(*number);
  if (const auto number = value.real()) return fmt::format("{}", *number);
  if (const auto truth = value.boolean()) return *truth ? "true" : "false";
  return {};
}

std::string kept_json(const JsonValue& value) {
  std::string json;
  write_json(value, json);
  return json.size() > kMaxPayloadBytes ? std::string() : json;
}

tl::expected<std::vector<InboundEvent>, ExtractionError> extract_events(const JsonValue& root,
                                                                        const CompiledSource& source) {
  if (std::string fault = describe_unreadable_frame(root, source); !fault.empty())
    return tl::make_unexpected(std::move(fault));
  const JsonValue* items = source.items->resolve(root);
  if (items == nullptr)
    return tl::make_unexpected(fmt::format("there is nothing at {}", source.settings.items));
  std::vector<InboundEvent> events;
  if (items->is_object()) {
    events.push_back(extract_event(*items, source));
  } else if (items->is_array()) {
    const std::span<const JsonValue> elements = items->elements();
    if (elements.size() > kMaxEvents) return tl::make_unexpected(TooManyEvents{elements.size()});
    events.reserve(elements.size());
    for (const JsonValue& item : elements) events.push_back(extract_event(item, source));
  } else if (!items->is_null() || source.settings.items.empty()) {
    return tl::make_unexpected(fmt::format(
        "{} is {}, neither an object nor a list of objects",
        source.settings.items.empty() ? "the document" : source.settings.items, items->kind_name()));
  }
  return events;
}

InboundEvent reextract(InboundEvent kept, const CompiledSource& source) {
  if (kept.payload.empty() || source.pointers.empty()) return kept;
  const auto document = parse_lenient_json(kept.payload);
  return document ? extract_event(document->root(), source) : kept;
}

}  // namespace giftsync::sources
