// wiring: what a source's sample document would do under the settings, as giftsyncctl source try shows it
// (SRC-62). Changes nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/config/settings.h"
#include "schema/store/store.h"
#include "sync/event_trial.h"

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
std::optional<std::string> untriable_source(const daemon::config::SourceSettings& source);

/// `document`: the body of a message, or a page of the feed. Throws platform::DependencyError.
SourceTrial try_source(const daemon::config::SourceSettings& source, schema::store::Store& store,
                       std::string_view document, platform::UtcMillis now);

}  // namespace giftsync::wiring
