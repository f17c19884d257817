#include "daemon/sources/source_workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>

#include "daemon/sources/poll_step.h"
#include "platform/dependency_error.h"
#include "platform/logging.h"
#include "platform/text.h"

namespace giftsync::sources {
namespace {

constexpr std::int64_t kPollTickMillis = 500;
/// Longer than any sender repeats a message under the same id (SRC-26).
constexpr std::int64_t kMessageIdRetentionMillis = 30 * kDayMillis;
constexpr std::int64_t kRefusedMessageLifeMillis = 30 * kDayMillis;

/// A change may arrive before the event that creates its gift; that is no reason for a warning.
constexpr std::int64_t kOrphanGraceMillis = kMinuteMillis;

/// The probable cause and where to look.
std::string describe_all_orphaned(const CompiledSource& source) {
  const std::string& name = source.settings.name;
  if (!source.rules.gift_source.empty())
    return "no event has a recipient and a sending time, so no gift was created; see \"giftsyncctl source "
           "quarantine " +
           name +
           " --orphaned\", correct fields.recipient_email, fields.recipient_phone or fields.sent_at, and "
           "reload";
  return "there are no such gifts; see \"giftsyncctl change list --orphaned --source " + name + "\"" +
         (source.settings.preset == config::SourcePreset::none
              ? "; if its gifts are sent elsewhere, set transactions: external and reload"
              : "");
}

std::vector<CompiledSource> compile_sources(const std::vector<config::SourceSettings>& sources,
                                            const std::string& installation,
                                            const config::DoNotSendSettings& listing) {
  std::vector<CompiledSource> compiled_sources;
  for (const config::SourceSettings& source : sources)
    compiled_sources.push_back(compile_source(source, installation, listing));
  return compiled_sources;
}

double random_unit() {
  thread_local std::minstd_rand generator{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

}  // namespace

SourceWorkers::SourceWorkers(const std::vector<config::SourceSettings>& sources,
                             const std::string& installation, const config::DoNotSendSettings& listing,
                             store::Store& store, std::function<void()> on_changes)
    : store_(store),
      sources_(compile_sources(sources, installation, listing)),
      health_monitor_(store),
      ingestor_(store, health_monitor_, std::move(on_changes)) {
  for (const CompiledSource& source : sources_) {
    // First: with a new gift_source orphaned changes may find their gift.
    store_.sources.begin_reprocessing(source.settings.name, source.rules.mapping_fingerprint);
    health_monitor_.register_source(source.settings.name, source.rules.gift_source, system_now());
  }
}

void SourceWorkers::warn_of_removed_sources() {
  for (const store::SourceSummary& row : store_.sources.list()) {
    const bool is_here = std::any_of(sources_.begin(), sources_.end(), [&](const CompiledSource& source) {
      return source.settings.name == row.name;
    });
    if (is_here) continue;
    store_.sources.begin_reprocessing(row.name, "");  // no settings to reprocess with: the reading stays
    if (row.gifts > 0)
      log_event(source_line(LogEvent::source_removed, row.name,
                            fmt::format(" was removed from the settings: its {} gifts no longer receive "
                                        "updates; a renamed source must keep its old name",
                                        row.gifts)));
    else if (row.orphaned + row.quarantined > 0)
      log_event(source_line(
          LogEvent::source_removed, row.name,
          fmt::format(" was removed from the settings: {} orphaned changes and {} quarantined events of it "
                      "are kept; \"giftsyncctl source purge {}\" deletes them",
                      row.orphaned, row.quarantined, row.name)));
  }
}

void SourceWorkers::start_polls(const std::string& owner) {
  warn_of_removed_sources();
  store_.sources.cap_leases(kPollLeaseMillis);
  for (const CompiledSource& source : sources_) {
    if (source.settings.kind != config::SourceKind::poll) continue;
    PollContext context{store_, ingestor_, health_monitor_, http_get, system_now, random_unit, owner};
    poll_workers_.push_back(std::make_unique<PeriodicWorker>(PeriodicWorker::Options{
        "source " + source.settings.name, kPollTickMillis,
        [&source, context, is_scheduled = false](PeriodicWorker& worker) mutable {
          if (!is_scheduled)
            is_scheduled = reschedule_if_reconfigured(source, context.store, context.owner, system_now());
          const PollStats stats =
              poll_step(source, context, [&worker] { return worker.heartbeat_and_should_run(); });
          if (stats.pages > 0) {
            log_debug(
                fmt::format("source {}: {} pages: {} accepted, {} duplicates, {} orphaned, {} quarantined",
                            source.settings.name, stats.pages, stats.accepted, stats.duplicates,
                            stats.orphaned, stats.quarantined),
                {LogField("source", source.settings.name).not_in_text()});
          }
          return stats.has_more;
        },
        [this, &source, owner] { store_.sources.release_lease(source.settings.name, owner); }}));
  }
}

void SourceWorkers::request_stop() {
  for (const auto& poll : poll_workers_) poll->request_stop();
}

void SourceWorkers::finish() {
  for (const auto& poll : poll_workers_) poll->finish();
}

void SourceWorkers::stop() {
  poll_workers_.clear();
  try {
    health_monitor_.close(system_now());
  } catch (const DependencyError& fault) {
    log_event(LogEvent::source_health_not_saved,
              fmt::format("could not save source health: {}", fault.what()));
  }
}

std::int64_t SourceWorkers::millis_since_heartbeat() const {
  return longest_since_heartbeat(poll_workers_);
}

std::vector<std::string> SourceWorkers::release_implausible_waits(UtcMillis now) {
  return release_implausible_poll_waits(sources_, store_, now);
}

void SourceWorkers::run_maintenance(UtcMillis now, const std::function<bool()>& keep_going) {
  if (sources_.empty()) return;
  const std::set<std::string> sources_to_reprocess = store_.sources.sources_to_reprocess();
  for (const CompiledSource& source : sources_) {
    const bool needs_reprocessing = sources_to_reprocess.contains(source.settings.name);
    // Also when another daemon began reprocessing and did not finish.
    if (needs_reprocessing)
      store_.sources.begin_reprocessing(source.settings.name, source.rules.mapping_fingerprint);
    if (needs_reprocessing || !has_reprocessed_) reprocess(source, now, keep_going);
  }
  has_reprocessed_ = true;
  report_all_orphaned(now);
}

void SourceWorkers::prune(UtcMillis trusted_now) {
  store_.refused_messages.prune(trusted_now - kRefusedMessageLifeMillis);
  if (!sources_.empty()) store_.sources.prune_messages(trusted_now - kMessageIdRetentionMillis);
}

void SourceWorkers::reprocess(const CompiledSource& source, UtcMillis now,
                              const std::function<bool()>& keep_going) {
  const std::string& name = source.settings.name;
  const sync::Reprocessing done = ingestor_.reprocess(source, now, keep_going);
  if (done.applied > 0)
    log_event(source_line(
        LogEvent::source_reprocessed, name,
        fmt::format(": {} quarantined events processed after the settings change", done.applied)));
  if (done.gifts > 0)
    log_event(source_line(LogEvent::source_reprocessed, name,
                          fmt::format(": {} {} created from orphaned events", pluralize(done.gifts, "gift"),
                                      plural_verb(done.gifts, "was", "were"))));
  if (done.applied + done.gifts > 0) health_monitor_.clear_over_limit(name, now);
}

void SourceWorkers::report_all_orphaned(UtcMillis now) {
  if (!has_elapsed(orphan_check_at_, kMinuteMillis, now)) return;
  orphan_check_at_ = now;
  const std::set<std::string> all_orphaned = store_.sources.all_orphaned(now - kOrphanGraceMillis);
  for (const CompiledSource& source : sources_) {
    const std::string& name = source.settings.name;
    health_monitor_.set_all_orphaned(name, all_orphaned.contains(name) ? describe_all_orphaned(source) : "",
                                     now);
  }
}

}  // namespace giftsync::sources
