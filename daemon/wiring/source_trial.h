// wiring: what a source's sample document would do under the settings, as giftsyncctl source try shows it
// (SRC-62). Changes nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "daemon/config/settings.h"
#include "schema/store/store.h"
#include "sync/status/event_ingest.h"

namespace giftsync::wiring {

struct SourceTrial {
  struct Event {
    /// Keys of `fields` and what was found there; without those that the event lacks.
    std::vector<std::pair<std::string_view, std::string>> fields;
    sync::EventTrial trial;
  };
  std::vector<Event> events;
  /// Why a daemon would refuse the whole document; empty: it would not.
  std::string refusal;
};

/// Why samples of this source cannot be tried; nullopt: they can.
std::optional<std::string> untriable_source(const config::SourceSettings& source);

/// `document`: the body of a message, or a page of the feed. Throws DependencyError.
SourceTrial try_source(const config::SourceSettings& source, store::Store& store, std::string_view document,
                       UtcMillis now);

// Where a poll continues after an admin has looked at a page that cannot be read, as giftsyncctl
// source set-cursor sets it (SRC-11).

/// The poll's `cursor_state` with `value` as its next position: by the source's settings the URL of a page
/// (next), a cursor (cursor), or a time (since). A clause says what is allowed instead. `installation` is the
/// store's.
tl::expected<std::string, std::string> continue_poll_at(const config::SourceSettings& source,
                                                        const std::string& installation,
                                                        const std::string& cursor_state,
                                                        const std::string& value);

}  // namespace giftsync::wiring
