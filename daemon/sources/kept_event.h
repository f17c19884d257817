// daemon/sources: the JSON text as which the store keeps an event that is not applied, so that it can be
// classified again later, also after a pointer was corrected. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sync/event_classification.h"

namespace giftsync::daemon::sources {

/// How much of an event's vendor JSON is kept with it. Usual events have less than a kilobyte; of a longer
/// one only the fields are kept (SRC-8).
inline constexpr std::size_t kMaxPayloadBytes = std::size_t{32} << 10;

/// A JSON object with the non-empty fields and the vendor's JSON; always the same for the same event.
std::string serialize(const sync::InboundEvent& event);
/// Nullopt for a text that serialize() did not write.
std::optional<sync::InboundEvent> parse_inbound_event(std::string_view text);

/// The event as it is kept. A long one is shortened; the shortened event is classified the same way (SRC-8).
sync::KeptEvent keep(const sync::InboundEvent& event);

}  // namespace giftsync::daemon::sources
