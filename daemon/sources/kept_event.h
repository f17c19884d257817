// daemon/sources: the JSON text as which the store keeps an event that is not applied, so that it can be
// classified again later, also after a pointer was corrected. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

#include "daemon/sources/compiled_source.h"
#include "platform/lenient_json.h"
#include "sync/status/event_classification.h"

namespace giftsync::sources {

/// How much of an event's vendor JSON is kept with it. Usual events have less than a kilobyte; of a longer
/// one only the fields are kept (SRC-8).
inline constexpr std::size_t kMaxPayloadBytes = std::size_t{32} << 10;

/// A JSON object with the non-empty fields and the vendor's JSON; always the same for the same event.
std::string serialize(const sync::InboundEvent& event);
/// Nullopt for a text that serialize() did not write.
std::optional<sync::InboundEvent> parse_inbound_event(std::string_view text);

/// The event as it is kept. A long one is shortened; the shortened event is classified the same way (SRC-8).
sync::KeptEvent keep(const sync::InboundEvent& event);

// Extracts inbound events from a vendor's JSON document, by the pointers of the settings.

/// Limit of events in one webhook message or one page of a poll (SRC-2). An event of a single byte ("0")
/// takes some kilobytes once it is classified, so without a limit a message of two megabytes would take
/// gigabytes. The largest batch of a mail provider (SendGrid's, 768 KiB) has some thousand events.
inline constexpr std::size_t kMaxEvents = 10'000;

struct TooManyEvents {
  std::size_t found = 0;
};
/// A sentence: there are no events to find, or a pointer around the events leads to what cannot be read.
using ExtractionError = std::variant<TooManyEvents, std::string>;

/// A number, truth value or text as text; empty for any other kind.
std::string scalar_text(const JsonValue& value);

/// JSON that parses to the same value; empty beyond the size that is kept of an event (SRC-8).
std::string kept_json(const JsonValue& value);

/// The events of a document: one object, or a list of them, at the source's `items`. They are counted before
/// any is processed. What cannot be read leaves only its event unread, and only if a pointer leads to it
/// (SRC-10).
tl::expected<std::vector<sync::InboundEvent>, ExtractionError> extract_events(const JsonValue& root,
                                                                              const CompiledSource& source);

/// A kept event, extracted again with the source's present pointers. Unchanged when the vendor's JSON was not
/// kept.
sync::InboundEvent reextract(sync::InboundEvent kept, const CompiledSource& source);

}  // namespace giftsync::sources
