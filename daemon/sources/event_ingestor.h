// daemon/sources: the ingest of webhooks and polls (sync/status/event_ingest.h), with warnings for the
// operator and a wake-up for the sync worker; the health of each source. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/sources/compiled_source.h"
#include "schema/store/store.h"
#include "sync/status/event_ingest.h"

namespace giftsync::sources {

// The health of each source. A change is one log line, never one per message: a flooding or
// flapping source costs at most one line a minute (SRC-53). States, counters and refused messages are saved
// together, every two seconds and only when something has changed (SRC-60). Any thread.

enum class SourceState {
  initial,    ///< no message or page yet
  ok,         ///< its last message or page was ingested
  failing,    ///< it, or what is needed to verify its messages, is unreachable or returns an error
  invalid,    ///< its pages cannot be read
  over_limit  ///< too many orphaned changes or quarantined events
};
std::string_view to_word(SourceState state);

class SourceHealthMonitor {
 public:
  explicit SourceHealthMonitor(store::Store& store);

  /// Registers the source in the store.
  void register_source(const std::string& source, const std::string& gift_source, UtcMillis now);
  /// A source that is `ok` may have a reason too: a warning for the operator.
  void set_state(const std::string& source, SourceState state, const std::string& reason, UtcMillis now);
  /// A page was ingested and more follow: ends a failure.
  void record_page(const std::string& source, UtcMillis now);
  /// A message was ingested: ends a failure and keeps a warning.
  void record_message(const std::string& source, UtcMillis now);
  /// Sets the probable reason why all changes of an `ok` source are orphaned; empty: not all are (SRC-17).
  /// Like any reason it is logged once.
  void set_all_orphaned(const std::string& source, const std::string& reason, UtcMillis now);
  /// Events of the source were applied: it is no longer over its limit.
  void clear_over_limit(const std::string& source, UtcMillis now);
  /// A message that got a 4xx response, or that cannot be verified now. It changes no state: one bad message
  /// does not make a source bad, and anyone can send one (SRC-25, SRC-29, SEC-3).
  struct Refusal {
    std::string reason;      ///< for the admin; may quote the message
    std::string log_reason;  ///< the same for the log, without anything of the message's values
    /// To be kept (SRC-61), without source, reason and time; only with a verified sender.
    std::optional<store::RefusedMessage> message = {};
  };
  void record_refused(const std::string& source, Refusal refusal, UtcMillis now);
  /// Logs a warning for the operator, for example a conflict of ids.
  void warn(const std::string& source, const std::string& message, UtcMillis now);
  /// Logs pending lines and saves what has changed; called every two seconds. A failed save is retried.
  void flush(UtcMillis now);
  /// The same at shutdown, without waiting for intervals.
  void close(UtcMillis now);

 private:
  /// Lines of one kind, of which one is logged per interval.
  struct LineThrottle {
    UtcMillis logged_at{INT64_MIN / 2};
    std::int64_t unlogged = 0;
    /// How many lines were left out since the last one; absent: this one is left out too.
    std::optional<std::int64_t> next(UtcMillis now, std::int64_t interval_millis);
  };
  /// What the store does not have yet.
  struct UnsavedRefusals {
    std::int64_t count = 0;
    std::int64_t in_row = 0;
    std::optional<store::SourceHealthUpdate::Refusal> last;
    std::vector<store::RefusedMessage> messages;  ///< at most kMaxUnsavedMessages
  };
  struct Health {
    SourceState state = SourceState::initial;
    std::string reason;
    std::string all_orphaned_reason;  ///< added to the reason of an `ok` source
    bool is_dirty = false;            ///< changed since it was last saved for the command line
    UtcMillis saved_at{INT64_MIN / 2};
    SourceState logged_state = SourceState::initial;  ///< state of the last log line
    std::string logged_warning;                       ///< warning of the last log line, of an `ok` source
    UtcMillis logged_at{INT64_MIN / 2};
    SourceState unlogged_state = SourceState::initial;
    std::string unlogged_trouble;  ///< the last failure that ended before its log line was due
    LineThrottle forged_messages;
    LineThrottle refused_messages;
    UnsavedRefusals unsaved;
    LineThrottle warnings;
    /// True.
    bool enter(SourceState next_state, const std::string& next_reason);
    std::string full_reason() const;
    std::string warning() const { return state == SourceState::ok ? full_reason() : std::string(); }
  };
  using Updates = std::vector<store::SourceHealthUpdate>;
  using StateUpdate = store::SourceHealthUpdate::State;
  /// `apply` returns whether it has changed the source's health.
  void change(const std::string& source, UtcMillis now, const std::function<bool(Health&)>& apply);
  static void log_if_due(const std::string& source, Health& health, UtcMillis now);
  static void log_state(const std::string& source, Health& health, UtcMillis now);
  /// Nullopt: it has not changed since it was saved.
  static std::optional<StateUpdate> take_state(Health& health, UtcMillis now);
  Updates take_all(UtcMillis now);
  /// Saves after the mutex is released, since the database may block. Throws DependencyError; then
  /// the updates are unsaved again.
  void save(Updates updates);
  void put_back(store::SourceHealthUpdate update);

  store::Store& store_;
  std::mutex mutex_;
  std::map<std::string, Health> health_;  // guarded by mutex_
};

class EventIngestor {
 public:
  /// `on_changes` is called after changes became durable; it wakes the sync worker.
  EventIngestor(store::Store& store, SourceHealthMonitor& health_monitor, std::function<void()> on_changes)
      : store_(store), health_monitor_(health_monitor), on_changes_(std::move(on_changes)) {}

  /// Classifies the events of a message or page; writes nothing.
  std::vector<sync::ClassifiedEvent> classify_events(const CompiledSource& source,
                                                     std::span<const sync::InboundEvent> events,
                                                     UtcMillis now);
  /// Stores the events of a page in a transaction of their own.
  sync::IngestSummary ingest(const CompiledSource& source, std::vector<sync::ClassifiedEvent> classified,
                             const sync::IngestContext& context, UtcMillis now);
  /// The events of a message, for a writer; complete() follows when they are durable.
  store::InboundBatch make_batch(const CompiledSource& source, std::vector<sync::ClassifiedEvent> classified,
                                 const sync::IngestContext& context, UtcMillis now);
  /// Warns the operator and wakes the sync worker.
  sync::IngestSummary complete(const CompiledSource& source, sync::IngestSummary summary, UtcMillis now);
  /// Classifies the source's events that are not applied, quarantined ones and those of orphaned changes,
  /// again with the present settings (SRC-9, SRC-13). Calls `keep_going` before each batch; false ends the
  /// work.
  sync::Reprocessing reprocess(const CompiledSource& source, UtcMillis now,
                               const std::function<bool()>& keep_going);

 private:
  store::Store& store_;
  SourceHealthMonitor& health_monitor_;
  const std::function<void()> on_changes_;
};

}  // namespace giftsync::sources
