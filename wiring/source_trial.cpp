#include "wiring/source_trial.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/sources/event_extraction.h"
#include "daemon/sources/kept_event.h"
#include "sync/event_ingest.h"

namespace giftsync::wiring {
namespace {

namespace sources = daemon::sources;
using schema::store::QuarantineReason;
using sync::TrialOutcome;

std::vector<std::pair<std::string_view, std::string>> fields_of(const sync::InboundEvent& event) {
  std::vector<std::pair<std::string_view, std::string>> fields;
  for (const sync::EventField field : sync::kEventFields) {
    if (!event[field].empty()) fields.emplace_back(key_of(field), event[field]);
  }
  return fields;
}

std::string describe(const sources::ExtractionError& error) {
  if (const auto* many = std::get_if<sources::TooManyEvents>(&error))
    return fmt::format("it contains {} events; at most {} are accepted", many->found, sources::kMaxEvents);
  return std::get<std::string>(error);
}

/// A message without a readable event is refused whole, and so is one beyond its source's limit.
std::string refusal_of(const std::vector<sync::EventTrial>& trials,
                       const daemon::config::SourceSettings& source) {
  if (trials.empty()) return {};
  const auto is_over_limit = [](const sync::EventTrial& one) {
    return one.outcome == TrialOutcome::over_limit;
  };
  if (std::any_of(trials.begin(), trials.end(), is_over_limit))
    return "the source has too many orphaned changes";
  const auto is_unreadable = [](const sync::EventTrial& one) {
    return one.reason == QuarantineReason::malformed;
  };
  const bool is_webhook = source.kind == daemon::config::SourceKind::webhook;
  return is_webhook && std::all_of(trials.begin(), trials.end(), is_unreadable)
             ? "no event can be read: " + trials.front().detail
             : "";
}

}  // namespace

std::optional<std::string> untriable_source(const daemon::config::SourceSettings& source) {
  if (source.preset == daemon::config::SourcePreset::none) return std::nullopt;
  return "it has a preset: its messages are read by the mail provider's own rules, not by fields and "
         "status_map";
}

SourceTrial try_source(const daemon::config::SourceSettings& source, schema::store::Store& store,
                       std::string_view document, platform::UtcMillis now) {
  SourceTrial result;
  const auto json = platform::parse_lenient_json(document);
  if (!json) {
    result.refusal = json.error().message;
    return result;
  }
  const sources::CompiledSource compiled = sources::compile_source(source, "");
  const auto events = sources::extract_events(json->root(), compiled);
  if (!events) {
    result.refusal = describe(events.error());
    return result;
  }
  auto trials =
      sync::try_events(store, compiled.rules,
                       sync::classify_events(store, compiled.rules, {sources::keep, {}}, *events, now), now);
  result.refusal = refusal_of(trials, source);
  for (std::size_t i = 0; i < trials.size(); ++i)
    result.events.push_back({fields_of((*events)[i]), std::move(trials[i])});
  return result;
}

}  // namespace giftsync::wiring
