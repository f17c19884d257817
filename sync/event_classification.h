// sync: classifies one inbound event by the rules of its source: a status change, perhaps with the external
// gift that it creates; an event to ignore; or an event to quarantine, with the reason (SRC-4, SRC-5, SRC-6).
// Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "schema/store/catalogue.h"
#include "schema/store/sources.h"
#include "sync/inbound_event.h"

namespace giftsync::sync {

/// What a source's settings say about the meaning of its events.
struct EventRules {
  std::string source;       ///< its name
  std::string gift_source;  ///< gift_source of its transactions: empty for giftsync's own, otherwise `source`
  /// The source's ids are texts of its own, for which transaction ids are allotted (SRC-58).
  bool allots_ids = false;
  /// Nullopt: the status is ignored.
  std::map<std::string, std::optional<schema::Status>, std::less<>> status_map;
  std::set<schema::Status> may_set;
  /// Fingerprint of all settings that define an event's meaning; it changes with an edit of them (SRC-26).
  /// Empty for mail providers, since no setting changes the meaning of their events.
  std::string mapping_fingerprint;
};

/// An event as it is kept while it is not applied.
struct KeptEvent {
  std::string text;          ///< from which the caller can read the event again
  std::string digest;        ///< equal for events with equal fields
  std::string whole_digest;  ///< equal for events that are equal with all that their fields do not show
  std::string omission;      ///< what the text lacks of the event; empty: nothing
};

struct ClassifiedEvent {
  bool ignored = false;
  bool unreadable = false;  ///< it has no usable transaction, status or time; it is quarantined as malformed
  std::set<EventField> faulty_fields;  ///< empty also for an event of which no field was read
  schema::store::InboundItem item;
};

/// The event is ignored, for this reason.
void ignore(ClassifiedEvent& result, std::string why);

/// Finds the catalogue's item, for what an external event does not state itself.
using FindItem = std::function<std::optional<schema::store::GiftItem>(schema::GiftId)>;

/// With EventRules::allots_ids changes and gift have no transaction id yet; the event's own id is in
/// `item.event.transaction`.
ClassifiedEvent classify_event(const InboundEvent& event, KeptEvent kept, const EventRules& rules,
                               platform::UtcMillis received_at, const FindItem& find_item);

/// Parses ISO 8601 with a zone, or seconds (up to ten digits, with an optional fraction) or milliseconds
/// since 1970.
std::optional<platform::UtcMillis> parse_event_time(std::string_view text);

}  // namespace giftsync::sync
