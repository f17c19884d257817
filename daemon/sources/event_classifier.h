// daemon/sources: classifies one inbound event: a status change, perhaps with the external gift that it
// creates; an event to ignore; or an event to quarantine, with the reason. Pure.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string_view>

#include "daemon/sources/compiled_source.h"
#include "schema/store/catalogue.h"
#include "schema/store/sources.h"

namespace giftsync::daemon::sources {

struct ClassifiedEvent {
  bool ignored = false;
  bool unreadable = false;  ///< it has no usable transaction, status or time; it is quarantined as malformed
  std::set<EventField> faulty_fields;  ///< empty also for an event of which no field was read
  schema::store::InboundItem item;
};

/// Finds the catalogue's item, for what an external event does not state itself.
using FindItem = std::function<std::optional<schema::store::GiftItem>(schema::GiftId)>;

ClassifiedEvent classify(const InboundEvent& event, const CompiledSource& source,
                         platform::UtcMillis received_at, const FindItem& find_item);

/// Parses RFC 3339, or seconds (up to ten digits, with an optional fraction) or milliseconds since 1970.
std::optional<platform::UtcMillis> parse_event_time(std::string_view text);

}  // namespace giftsync::daemon::sources
