#include "daemon/sources/event_extraction.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/sources/kept_event.h"

namespace giftsync::daemon::sources {
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
void write_json(const platform::JsonValue& value, std::string& out) {
  if (out.size() > kMaxPayloadBytes) return;
  if (value.is_array()) {
    out += '[';
    for (const platform::JsonValue& element : value.elements()) {
      if (out.back() != '[') out += ',';
      write_json(element, out);
      if (out.size() > kMaxPayloadBytes) return;
    }
    out += ']';
  } else if (value.is_object()) {
    out += '{';
    for (const platform::JsonMember& member : value.members()) {
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

platform::ValueUse use_of(sync::EventField field) {
  const bool is_free_text = field == sync::EventField::first_name || field == sync::EventField::last_name ||
                            field == sync::EventField::message;
  return is_free_text ? platform::ValueUse::free_text : platform::ValueUse::exact;
}

InboundEvent extract_event(const platform::JsonValue& item, const CompiledSource& source) {
  InboundEvent event;
  for (const auto& [field, pointer] : source.pointers) {
    if (std::string fault = platform::describe_unreadable_value(pointer, item, use_of(field));
        !fault.empty()) {
      event = {};
      event.unread_reason = std::move(fault);
      break;
    }
    if (const platform::JsonValue* value = pointer.resolve(item)) event.set(field, scalar_text(*value));
  }
  event.payload = kept_json(item);
  event.is_payload_too_long = event.payload.empty();
  return event;
}

/// Why a pointer around the events leads to what cannot be read; empty: none does.
std::string describe_unreadable_frame(const platform::JsonValue& root, const CompiledSource& source) {
  std::string fault = source.items->describe_ambiguity(root);
  for (const std::string& text : {source.settings.cursor_pointer, source.settings.next}) {
    const auto pointer = fault.empty() ? platform::JsonPointer::parse(text) : std::nullopt;
    if (pointer) fault = platform::describe_unreadable_value(*pointer, root, platform::ValueUse::exact);
  }
  return fault;
}

}  // namespace

std::string scalar_text(const platform::JsonValue& value) {
  if (const auto text = value.text()) return std::string(*text);
  if (const auto number = value.integer()) return std::to_string(*number);
  if (const auto number = value.real()) return fmt::format("{}", *number);
  if (const auto truth = value.boolean()) return *truth ? "true" : "false";
  return {};
}

std::string kept_json(const platform::JsonValue& value) {
  std::string json;
  write_json(value, json);
  return json.size() > kMaxPayloadBytes ? std::string() : json;
}

tl::expected<std::vector<InboundEvent>, ExtractionError> extract_events(const platform::JsonValue& root,
                                                                        const CompiledSource& source) {
  if (std::string fault = describe_unreadable_frame(root, source); !fault.empty())
    return tl::make_unexpected(std::move(fault));
  const platform::JsonValue* items = source.items->resolve(root);
  if (items == nullptr)
    return tl::make_unexpected(fmt::format("there is nothing at {}", source.settings.items));
  std::vector<InboundEvent> events;
  if (items->is_object()) {
    events.push_back(extract_event(*items, source));
  } else if (items->is_array()) {
    const std::span<const platform::JsonValue> elements = items->elements();
    if (elements.size() > kMaxEvents) return tl::make_unexpected(TooManyEvents{elements.size()});
    events.reserve(elements.size());
    for (const platform::JsonValue& item : elements) events.push_back(extract_event(item, source));
  } else if (!items->is_null() || source.settings.items.empty()) {
    return tl::make_unexpected(fmt::format(
        "{} is {}, neither an object nor a list of objects",
        source.settings.items.empty() ? "the document" : source.settings.items, items->kind_name()));
  }
  return events;
}

InboundEvent reextract(InboundEvent kept, const CompiledSource& source) {
  if (kept.payload.empty() || source.pointers.empty()) return kept;
  const auto document = platform::parse_lenient_json(kept.payload);
  return document ? extract_event(document->root(), source) : kept;
}

}  // namespace giftsync::daemon::sources
