#include "daemon/sources/event_extraction.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/sources/kept_event.h"
#include "platform/json_uniqueness.h"

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

/// The first ambiguity (equal names and the like) without its final full stop, to be continued; empty for
/// none.
std::string describe_ambiguity(const platform::JsonValue& value,
                               const platform::JsonValue* except = nullptr) {
  const auto fault = platform::find_ambiguity(value, except);
  return fault ? fault->message.substr(0, fault->message.find_last_not_of('.') + 1) : std::string();
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

InboundEvent extract_event(const platform::JsonValue& item, const CompiledSource& source) {
  InboundEvent event;
  event.unread_reason = describe_ambiguity(item);
  for (const auto& [field, pointer] : source.pointers) {
    if (!event.unread_reason.empty()) break;
    if (const platform::JsonValue* value = pointer.resolve(item)) event.set(field, scalar_text(*value));
  }
  write_json(item, event.payload);
  event.is_payload_too_long = event.payload.size() > kMaxPayloadBytes;
  if (event.is_payload_too_long) event.payload = {};
  return event;
}

}  // namespace

std::string scalar_text(const platform::JsonValue& value) {
  if (const auto text = value.text()) return std::string(*text);
  if (const auto number = value.integer()) return std::to_string(*number);
  if (const auto number = value.real()) return fmt::format("{}", *number);
  if (const auto truth = value.boolean()) return *truth ? "true" : "false";
  return {};
}

tl::expected<std::vector<InboundEvent>, ExtractionError> extract_events(const platform::JsonValue& root,
                                                                        const CompiledSource& source) {
  const platform::JsonValue* items = source.items->resolve(root);
  if (std::string ambiguity = describe_ambiguity(root, items); !ambiguity.empty())
    return tl::make_unexpected(std::move(ambiguity));
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
  const auto document = platform::parse_json(kept.payload, kSourceJson);
  return document ? extract_event(document->root(), source) : kept;
}

}  // namespace giftsync::daemon::sources
