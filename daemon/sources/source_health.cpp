#include "daemon/sources/source_health.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "platform/dependency_error.h"
#include "schema/enum_words.h"

namespace giftsync::daemon::sources {
namespace {

constexpr std::int64_t kSaveIntervalMillis = 5 * platform::kSecondMillis;
constexpr std::int64_t kLogIntervalMillis = platform::kMinuteMillis;
constexpr std::int64_t kRefusalLogIntervalMillis = platform::kHourMillis;

constexpr auto kStateNames = schema::enum_words<SourceState>({{SourceState::initial, "new"},
                                                              {SourceState::ok, "ok"},
                                                              {SourceState::failing, "failing"},
                                                              {SourceState::invalid, "invalid"},
                                                              {SourceState::over_limit, "over_limit"}});

/// Prefix of the reason of a source whose changes are all orphaned; other reasons come before it.
constexpr std::string_view kAllOrphanedPrefix = "all its changes are orphaned so far: ";
constexpr std::string_view kReasonSeparator = "; ";

}  // namespace

std::string_view to_word(SourceState state) {
  return kStateNames.word_of(state);
}

SourceHealthMonitor::SourceHealthMonitor(schema::store::Store& store) : store_(store) {
  for (const schema::store::SourceSummary& row : store_.sources.list()) {
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

std::optional<std::int64_t> SourceHealthMonitor::LineThrottle::next(platform::UtcMillis now,
                                                                    std::int64_t interval_millis) {
  if (!platform::has_elapsed(logged_at, interval_millis, now)) {
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
                                          platform::UtcMillis now) {
  store_.sources.open(source, gift_source, now);
  const std::lock_guard lock(mutex_);
  health_[source];
}

void SourceHealthMonitor::log_if_due(const std::string& source, Health& health, platform::UtcMillis now,
                                     std::vector<StateUpdate>& due) {
  // Also without a change here: another daemon may have written another state meanwhile.
  if (health.is_dirty && platform::has_elapsed(health.saved_at, kSaveIntervalMillis, now)) {
    due.push_back({source, health.state, health.full_reason(), now});
    health.is_dirty = false;
    health.saved_at = now;
  }
  if (health.unlogged_state == health.state) health.unlogged_trouble.clear();
  const bool is_changed = health.state != health.logged_state || health.warning() != health.logged_warning ||
                          !health.unlogged_trouble.empty();
  if (is_changed && platform::has_elapsed(health.logged_at, kLogIntervalMillis, now))
    log_state(source, health, now);
}

void SourceHealthMonitor::save(const std::vector<StateUpdate>& due) {
  std::size_t written = 0;
  try {
    for (; written < due.size(); ++written) {
      const StateUpdate& update = due[written];
      store_.sources.set_state(update.source, std::string(to_word(update.state)), update.reason, update.at);
    }
  } catch (const platform::DependencyError&) {
    // The remaining updates would fail as well and wait as long.
    const std::lock_guard lock(mutex_);
    for (; written < due.size(); ++written) health_[due[written].source].is_dirty = true;
  }
}

void SourceHealthMonitor::log_state(const std::string& source, Health& health, platform::UtcMillis now) {
  const std::string warning = health.warning();
  if (health.state == SourceState::ok) {
    const std::string recovery =
        health.logged_state != SourceState::initial && health.logged_state != SourceState::ok
            ? " again, was: " + std::string(to_word(health.logged_state))
        : health.unlogged_trouble.empty() ? ""
                                          : " again";
    spdlog::log(warning.empty() ? spdlog::level::info : spdlog::level::warn, "source {}: ok{}{}{}", source,
                recovery, warning.empty() ? "" : ", but " + warning, health.unlogged_trouble);
  } else {
    spdlog::warn("source {}: {}: {}{}", source, to_word(health.state), health.reason,
                 health.unlogged_trouble);
  }
  health.unlogged_trouble.clear();
  health.logged_state = health.state;
  health.logged_warning = warning;
  health.logged_at = now;
}

void SourceHealthMonitor::change(const std::string& source, platform::UtcMillis now,
                                 const std::function<bool(Health&)>& apply) {
  std::vector<StateUpdate> due;
  {
    const std::lock_guard lock(mutex_);
    Health& health = health_[source];
    if (!apply(health)) return;
    log_if_due(source, health, now, due);
  }
  save(due);
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
  return true;
}

void SourceHealthMonitor::set_state(const std::string& source, SourceState state, const std::string& reason,
                                    platform::UtcMillis now) {
  change(source, now, [&](Health& health) { return health.enter(state, reason); });
}

void SourceHealthMonitor::record_page(const std::string& source, platform::UtcMillis now) {
  change(source, now,
         [](Health& health) { return health.state != SourceState::ok && health.enter(SourceState::ok, ""); });
}

void SourceHealthMonitor::record_message(const std::string& source, platform::UtcMillis now) {
  change(source, now, [](Health& health) {
    return health.enter(SourceState::ok, health.state == SourceState::ok ? health.reason : "");
  });
}

void SourceHealthMonitor::set_all_orphaned(const std::string& source, const std::string& reason,
                                           platform::UtcMillis now) {
  const std::string all_orphaned_reason = reason.empty() ? "" : std::string(kAllOrphanedPrefix) + reason;
  change(source, now, [&](Health& health) {
    if (health.all_orphaned_reason == all_orphaned_reason) return false;
    health.all_orphaned_reason = all_orphaned_reason;
    if (health.state == SourceState::ok) health.is_dirty = true;
    return true;
  });
}

void SourceHealthMonitor::clear_over_limit(const std::string& source, platform::UtcMillis now) {
  change(source, now, [](Health& health) {
    return health.state == SourceState::over_limit && health.enter(SourceState::ok, "");
  });
}

void SourceHealthMonitor::record_refused(const std::string& source, const std::string& reason,
                                         platform::UtcMillis now) {
  const std::lock_guard lock(mutex_);
  Health& health = health_[source];
  ++health.unsaved_refusals;
  if (const auto others = health.refusals.next(now, kRefusalLogIntervalMillis))
    spdlog::warn("source {}: a message {} was refused{}", source, reason,
                 *others > 0 ? fmt::format(", and {} others since the last such line", *others) : "");
}

void SourceHealthMonitor::count_refused(const std::string& source) {
  const std::lock_guard lock(mutex_);
  ++health_[source].unsaved_refusals;
}

void SourceHealthMonitor::warn(const std::string& source, const std::string& message,
                               platform::UtcMillis now) {
  const std::lock_guard lock(mutex_);
  if (const auto others = health_[source].warnings.next(now, kLogIntervalMillis))
    spdlog::warn("source {}: {}{}; \"giftsyncctl source quarantine\" lists it", source, message,
                 *others > 0 ? fmt::format(" (and {} similar ones)", *others) : "");
}

void SourceHealthMonitor::flush(platform::UtcMillis now) {
  std::vector<StateUpdate> due;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [source, health] : health_) log_if_due(source, health, now, due);
  }
  save(due);
  save_counters();
}

void SourceHealthMonitor::close(platform::UtcMillis now) {
  {
    const std::lock_guard lock(mutex_);
    for (auto& [source, health] : health_) health.logged_at = health.saved_at = {INT64_MIN / 2};
  }
  flush(now);
}

void SourceHealthMonitor::save_counters() {
  std::map<std::string, std::int64_t> refused;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [source, health] : health_) {
      if (health.unsaved_refusals > 0) refused[source] = std::exchange(health.unsaved_refusals, 0);
    }
  }
  try {
    while (!refused.empty()) {
      store_.sources.add_rejected(refused.begin()->first, refused.begin()->second);
      refused.erase(refused.begin());
    }
  } catch (const platform::DependencyError&) {
    const std::lock_guard lock(mutex_);
    for (const auto& [source, count] : refused) health_[source].unsaved_refusals += count;
    throw;
  }
}

}  // namespace giftsync::daemon::sources
