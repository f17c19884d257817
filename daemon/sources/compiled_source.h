// daemon/sources: a source's settings, compiled: pointers parsed, statuses looked up, presets expanded.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/config/settings.h"
#include "platform/lenient_json.h"
#include "sync/status/event_classification.h"

namespace giftsync::sources {

struct CompiledSource {
  config::SourceSettings settings;
  sync::EventRules rules;
  std::optional<JsonPointer> items;
  std::vector<std::pair<sync::EventField, JsonPointer>> pointers;
  std::string installation;  ///< installation part of giftsync's Message-IDs, for presets
};

/// `settings` are validated. `installation` identifies giftsync's own mails; `listing` says which reports are
/// for the do-not-send list.
CompiledSource compile_source(const config::SourceSettings& settings, const std::string& installation,
                              const config::DoNotSendSettings& listing = {});

/// The JSON pointer of a field; empty: the source does not report it.
const std::string& pointer_of(const config::SourceFieldSettings& fields, sync::EventField field);

/// All texts as one, to be hashed: other texts give another one.
std::string joined_with_lengths(const std::vector<std::string>& texts);

}  // namespace giftsync::sources
