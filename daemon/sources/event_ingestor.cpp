#include "daemon/sources/event_ingestor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/sources/kept_event.h"
#include "platform/dependency_error.h"
#include "platform/logging.h"
#include "schema/enums.h"

namespace giftsync::sources {

namespace {

using store::RefusedMessage;

/// Between two saves of a state in the thread that changes it; flush() saves more often.
constexpr std::int64_t kSaveIntervalMillis = 5 * kSecondMillis;
/// Between two calls of flush(), per source; of more messages the newest are kept.
constexpr std::size_t kMaxUnsavedMessages = 20;
constexpr std::int64_t kLogIntervalMillis = kMinuteMillis;
constexpr std::int64_t kRefusalLogIntervalMillis = kHourMillis;

constexpr auto kStateNames = enum_words<SourceState>({{SourceState::initial, "new"},
                                                      {SourceState::ok, "ok"},
                                                      {SourceState::failing, "failing"},
                                                      {SourceState::invalid, "invalid"},
                                                      {SourceState::over_limit, "over_limit"}});

/// Prefix of the reason of a source whose changes are all orphaned; other reasons come before it.
constexpr std::string_view kAllOrphanedPrefix = "all its changes are orphaned so far: ";
constexpr std::string_view kReasonSeparator = "; ";

void keep_newest(std::vector<RefusedMessage>& messages) {
  if (messages.size() <= kMaxUnsavedMessages) return;
  messages.erase(messages.begin(), messages.end() - static_cast<std::ptrdiff_t>(kMaxUnsavedMessages));
}

}  // namespace

std::string_view to_word(SourceState state) {
  return kStateNames.word_of(state);
}

SourceHealthMonitor::SourceHealthMonitor(store::Store& store) : store_(store) {
  for (const store::SourceSummary& row : store_.sources.list()) {
    Health& health = health_[row.name];
    health.state = health.logged_state = kStateNames.parse(row.state).value_or(SourceState::initial);
    const std::size_t at = std::min(row.reason.find(kAllOrphanedPrefix), row.reason.size());
    health.all_orphaned_reason = row.reason.substr(at);
    health.reason = row.reason.substr(0, at);
    if (health.reason.ends_with(kReasonSeparator))
      health.reason.resize(health.reason.size() - kReasonSeparator.size());
    health.logged_warning = health.warning();
  }
}

std::optional<std::int64_t> SourceHealthMonitor::LineThrottle::next(UtcMillis now,
                                                                    std::int64_t interval_millis) {
  if (!has_elapsed(logged_at, interval_millis, now)) {
    ++unlogged;
    return std::nullopt;
  }
  logged_at = now;
  return std::exchange(unlogged, 0);
}

std::string SourceHealthMonitor::Health::full_reason() const {
  if (state != SourceState::ok || all_orphaned_reason.empty()) return reason;
  return reason.empty() ? all_orphaned_reason : reason + std::string(kReasonSeparator) + all_orphaned_reason;
}

void SourceHealthMonitor::register_source(const std::string& source, const std::string& gift_source,
                                          UtcMillis now) {
  store_.sources.open(source, gift_source, now);
  const std::lock_guard lock(mutex_);
  health_[source];
}

void SourceHealthMonitor::log_if_due(const std::string& source, Health& health, UtcMillis now) {
  if (health.unlogged_state == health.state) health.unlogged_trouble.clear();
  const bool is_changed = health.state != health.logged_state || health.warning() != health.logged_warning ||
                          !health.unlogged_trouble.empty();
  if (is_changed && has_elapsed(health.logged_at, kLogIntervalMillis, now)) log_state(source, health, now);
}

/// Also without a change here: another daemon may have written another state meanwhile.
std::optional<SourceHealthMonitor::StateUpdate> SourceHealthMonitor::take_state(Health& health,
                                                                                UtcMillis now) {
  if (!std::exchange(health.is_dirty, false)) return std::nullopt;
  health.saved_at = now;
  return StateUpdate{std::string(to_word(health.state)), health.full_reason(), now};
}

SourceHealthMonitor::Updates SourceHealthMonitor::take_all(UtcMillis now) {
  Updates updates;
  const std::lock_guard lock(mutex_);
  for (auto& [source, health] : health_) {
    log_if_due(source, health, now);
    UnsavedRefusals refused = std::exchange(health.unsaved, {});
    auto state = take_state(health, now);
    if (!state && refused.count == 0) continue;
    updates.push_back({source, std::move(state), refused.count, refused.in_row, std::move(refused.last),
                       std::move(refused.messages)});
  }
  return updates;
}

void SourceHealthMonitor::save(Updates updates) {
  try {
    store_.sources.save_health(updates);
  } catch (const DependencyError&) {
    const std::lock_guard lock(mutex_);
    for (store::SourceHealthUpdate& update : updates) put_back(std::move(update));
    throw;
  }
}

/// More may have been observed meanwhile.
void SourceHealthMonitor::put_back(store::SourceHealthUpdate update) {
  Health& health = health_[update.source];
  const bool has_accepted_since = health.is_dirty && health.state == SourceState::ok;
  if (update.state) health.is_dirty = true;
  UnsavedRefusals& unsaved = health.unsaved;
  unsaved.count += update.refused;
  if (!has_accepted_since) unsaved.in_row += update.refused_in_row;
  if (!unsaved.last) unsaved.last = std::move(update.last_refusal);
  for (RefusedMessage& newer : unsaved.messages) update.messages.push_back(std::move(newer));
  unsaved.messages = std::move(update.messages);
  keep_newest(unsaved.messages);
}

void SourceHealthMonitor::log_state(const std::string& source, Health& health, UtcMillis now) {
  const std::string warning = health.warning();
  if (health.state == SourceState::ok) {
    const std::string recovery =
        health.logged_state != SourceState::initial && health.logged_state != SourceState::ok
            ? " again, was: " + std::string(to_word(health.logged_state))
        : health.unlogged_trouble.empty() ? ""
                                          : " again";
    log_event(source_line(warning.empty() ? LogEvent::source_works : LogEvent::source_incomplete, source,
                          fmt::format(": ok{}{}{}", recovery, warning.empty() ? "" : ", but " + warning,
                                      health.unlogged_trouble)));
  } else {
    log_event(source_line(
        LogEvent::source_failing, source,
        fmt::format(": {}: {}{}", to_word(health.state), health.reason, health.unlogged_trouble)));
  }
  health.unlogged_trouble.clear();
  health.logged_state = health.state;
  health.logged_warning = warning;
  health.logged_at = now;
}

void SourceHealthMonitor::change(const std::string& source, UtcMillis now,
                                 const std::function<bool(Health&)>& apply) {
  std::optional<StateUpdate> due;
  {
    const std::lock_guard lock(mutex_);
    Health& health = health_[source];
    if (!apply(health)) return;
    log_if_due(source, health, now);
    if (has_elapsed(health.saved_at, kSaveIntervalMillis, now)) due = take_state(health, now);
  }
  if (!due) return;
  Updates updates(1);
  updates.front().source = source;
  updates.front().state = std::move(due);
  try {
    save(std::move(updates));
  } catch (const DependencyError&) {
    // The caller's message may be stored already; flush() saves it and reports a failure.
  }
}

bool SourceHealthMonitor::Health::enter(SourceState next_state, const std::string& next_reason) {
  const bool is_trouble = state != SourceState::ok && state != SourceState::initial;
  if (is_trouble && state != logged_state && state != next_state) {
    unlogged_state = state;
    unlogged_trouble = fmt::format("; in between: {}: {}", to_word(state), reason);
  }
  state = next_state;
  reason = next_reason;
  is_dirty = true;
  if (state == SourceState::ok) unsaved.in_row = 0;  // something was accepted
  return true;
}

void SourceHealthMonitor::set_state(const std::string& source, SourceState state, const std::string& reason,
                                    UtcMillis now) {
  change(source, now, [&](Health& health) { return health.enter(state, reason); });
}

void SourceHealthMonitor::record_page(const std::string& source, UtcMillis now) {
  change(source, now,
         [](Health& health) { return health.state != SourceState::ok && health.enter(SourceState::ok, ""); });
}

void SourceHealthMonitor::record_message(const std::string& source, UtcMillis now) {
  change(source, now, [](Health& health) {
    return health.enter(SourceState::ok, health.state == SourceState::ok ? health.reason : "");
  });
}

void SourceHealthMonitor::set_all_orphaned(const std::string& source, const std::string& reason,
                                           UtcMillis now) {
  const std::string all_orphaned_reason = reason.empty() ? "" : std::string(kAllOrphanedPrefix) + reason;
  change(source, now, [&](Health& health) {
    if (health.all_orphaned_reason == all_orphaned_reason) return false;
    health.all_orphaned_reason = all_orphaned_reason;
    if (health.state == SourceState::ok) health.is_dirty = true;
    return true;
  });
}

void SourceHealthMonitor::clear_over_limit(const std::string& source, UtcMillis now) {
  change(source, now, [](Health& health) {
    return health.state == SourceState::over_limit && health.enter(SourceState::ok, "");
  });
}

void SourceHealthMonitor::record_refused(const std::string& source, Refusal refusal, UtcMillis now) {
  const std::lock_guard lock(mutex_);
  Health& health = health_[source];
  UnsavedRefusals& unsaved = health.unsaved;
  ++unsaved.count;
  unsaved.last = {std::move(refusal.reason), now};
  LineThrottle& lines = refusal.message ? health.refused_messages : health.forged_messages;
  if (const auto others = lines.next(now, kRefusalLogIntervalMillis))
    log_event(source_line(
        LogEvent::source_message_refused, source,
        fmt::format(": a message was refused: {}{}", refusal.log_reason,
                    *others > 0 ? fmt::format(", and {} others since the last such line", *others) : "")));
  if (!refusal.message) return;
  ++unsaved.in_row;
  refusal.message->source = source;
  refusal.message->reason = unsaved.last->reason;
  refusal.message->received_at = now;
  unsaved.messages.push_back(std::move(*refusal.message));
  keep_newest(unsaved.messages);
}

void SourceHealthMonitor::warn(const std::string& source, const std::string& message, UtcMillis now) {
  const std::lock_guard lock(mutex_);
  if (const auto others = health_[source].warnings.next(now, kLogIntervalMillis))
    log_event(source_line(LogEvent::source_event_quarantined, source,
                          fmt::format(": {}{}; \"giftsyncctl source quarantine\" lists it", message,
                                      *others > 0 ? fmt::format(" (and {} similar ones)", *others) : "")));
}

void SourceHealthMonitor::flush(UtcMillis now) {
  save(take_all(now));
}

void SourceHealthMonitor::close(UtcMillis now) {
  {
    const std::lock_guard lock(mutex_);
    for (auto& [source, health] : health_) health.logged_at = {INT64_MIN / 2};
  }
  flush(now);
}

namespace {

/// Keeps a reference to `source`.
sync::EventTexts texts_of(const CompiledSource& source) {
  return {keep, [&source](const std::string& text) {
            auto event = parse_inbound_event(text);
            if (event) event = reextract(std::move(*event), source);
            return event;
          }};
}

}  // namespace

std::vector<sync::ClassifiedEvent> EventIngestor::classify_events(const CompiledSource& source,
                                                                  std::span<const sync::InboundEvent> events,
                                                                  UtcMillis now) {
  return sync::classify_events(store_.catalogue, store_.gifts, source.rules, texts_of(source), events, now);
}

sync::IngestSummary EventIngestor::ingest(const CompiledSource& source,
                                          std::vector<sync::ClassifiedEvent> classified,
                                          const sync::IngestContext& context, UtcMillis now) {
  return complete(source,
                  sync::ingest_events(store_.sources, store_.external_ids, source.rules,
                                      std::move(classified), context, now),
                  now);
}

store::InboundBatch EventIngestor::make_batch(const CompiledSource& source,
                                              std::vector<sync::ClassifiedEvent> classified,
                                              const sync::IngestContext& context, UtcMillis now) {
  return sync::make_batch(store_.external_ids, source.rules, std::move(classified), context, now);
}

sync::IngestSummary EventIngestor::complete(const CompiledSource& source, sync::IngestSummary summary,
                                            UtcMillis now) {
  for (const std::string& warning : summary.warnings)
    health_monitor_.warn(source.settings.name, warning, now);
  if (summary.has_changes()) on_changes_();
  return summary;
}

sync::Reprocessing EventIngestor::reprocess(const CompiledSource& source, UtcMillis now,
                                            const std::function<bool()>& keep_going) {
  const sync::EventTexts texts = texts_of(source);
  sync::Reprocessing progress;
  while (keep_going() && sync::reprocess_batch(store_, source.rules, texts, now, progress)) {
    if (progress.has_changes) on_changes_();
  }
  for (const std::string& warning : describe(progress, source.rules))
    health_monitor_.warn(source.settings.name, warning, now);
  return progress;
}

}  // namespace giftsync::sources
