#include "daemon/wiring/source_trial.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/sources/kept_event.h"
#include "daemon/sources/poll_cursor.h"
#include "platform/time.h"

namespace giftsync::wiring {
namespace {
using store::QuarantineReason;
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
std::string refusal_of(const std::vector<sync::EventTrial>& trials, const config::SourceSettings& source) {
  if (trials.empty()) return {};
  const auto is_over_limit = [](const sync::EventTrial& trial) {
    return trial.outcome == TrialOutcome::over_limit;
  };
  if (std::any_of(trials.begin(), trials.end(), is_over_limit))
    return "the source has too many orphaned changes";
  const auto is_unreadable = [](const sync::EventTrial& trial) {
    return trial.reason == QuarantineReason::malformed;
  };
  const bool is_webhook = source.kind == config::SourceKind::webhook;
  return is_webhook && std::all_of(trials.begin(), trials.end(), is_unreadable)
             ? "no event can be read: " + trials.front().detail
             : "";
}

}  // namespace

std::optional<std::string> untriable_source(const config::SourceSettings& source) {
  if (source.preset == config::SourcePreset::none) return std::nullopt;
  return "it has a preset: its messages are read by the mail provider's own rules, not by fields and "
         "status_map";
}

SourceTrial try_source(const config::SourceSettings& source, store::Store& store, std::string_view document,
                       UtcMillis now) {
  SourceTrial result;
  const auto json = parse_lenient_json(document);
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
  auto trials = sync::try_events(
      store, compiled.rules,
      sync::classify_events(store.catalogue, store.gifts, compiled.rules, {sources::keep, {}}, *events, now),
      now);
  result.refusal = refusal_of(trials, source);
  for (std::size_t i = 0; i < trials.size(); ++i)
    result.events.push_back({fields_of((*events)[i]), std::move(trials[i])});
  return result;
}

tl::expected<std::string, std::string> continue_poll_at(const config::SourceSettings& source,
                                                        const std::string& installation,
                                                        const std::string& cursor_state,
                                                        const std::string& value) {
  sources::PollCursor position = sources::parse_poll_cursor(cursor_state);
  sources::apply_config_fingerprint(
      position, sources::config_fingerprint(sources::compile_source(source, installation)));
  sources::restart_run(position);
  position.cached_pages.clear();
  position.consecutive_unreadable_pages = 0;
  position.refusals = 0;  // of the position before
  const auto time = source.since.empty() ? std::nullopt : from_iso8601(value);
  if (time) {
    position.since = time;
    position.since_advanced_at = time;
    position.is_overlap_complete = true;
  } else if (!source.next.empty()) {
    position.next = resolve_url(source.url, value);
    if (!is_same_origin(source.url, position.next))
      return tl::unexpected(std::string("the URL of the next page, on the host of the source's url"));
  } else if (!source.cursor_parameter.empty()) {
    position.cursor = value;
  } else {
    return tl::unexpected(std::string(source.since.empty() ? "nothing, because the source has one page"
                                                           : "a time such as 2026-11-21T12:31:07Z"));
  }
  return sources::serialize(position);
}

}  // namespace giftsync::wiring
