// daemon/sources: extracts inbound events from a vendor's JSON document, by the pointers of the settings.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

#include "daemon/sources/compiled_source.h"
#include "platform/strict_json.h"

namespace giftsync::daemon::sources {

/// Limit of events in one webhook message or one page of a poll (SRC-2). An event of a single byte ("0")
/// takes some kilobytes once it is classified, so without a limit a message of two megabytes would take
/// gigabytes. The largest batch of a mail provider (SendGrid's, 768 KiB) has some thousand events.
inline constexpr std::size_t kMaxEvents = 10'000;
/// How documents of sources are parsed: one ambiguous event leaves the others readable (SRC-10).
inline constexpr platform::JsonOptions kSourceJson{.may_be_ambiguous = true, .large_numbers_as_text = true};

struct TooManyEvents {
  std::size_t found = 0;
};
/// A sentence: there are no events to find, or an ambiguity is outside the events.
using ExtractionError = std::variant<TooManyEvents, std::string>;

/// A number, truth value or text as text; empty for any other kind.
std::string scalar_text(const platform::JsonValue& value);

/// The events of a document: one object, or a list of them, at the source's `items`. They are counted before
/// any is processed. An ambiguity inside one event leaves only that event unread (SRC-10).
tl::expected<std::vector<sync::InboundEvent>, ExtractionError> extract_events(const platform::JsonValue& root,
                                                                              const CompiledSource& source);

/// A kept event, extracted again with the source's present pointers. Unchanged when the vendor's JSON was not
/// kept.
sync::InboundEvent reextract(sync::InboundEvent kept, const CompiledSource& source);

}  // namespace giftsync::daemon::sources
