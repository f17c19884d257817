// daemon/sources: the health of each source. A change is one log line, never one per message: a flooding or
// flapping source costs at most one line a minute (SRC-53). Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "schema/store/store.h"

namespace giftsync::daemon::sources {

enum class SourceState {
  initial,    ///< no message or page yet
  ok,         ///< its last message or page was ingested
  failing,    ///< it, or what is needed to verify its messages, is unreachable or returns an error
  invalid,    ///< its messages or pages cannot be read
  over_limit  ///< too many orphaned changes or quarantined events
};
std::string_view to_word(SourceState state);

class SourceHealthMonitor {
 public:
  explicit SourceHealthMonitor(schema::store::Store& store);

  /// Registers the source in the store.
  void register_source(const std::string& source, const std::string& gift_source, platform::UtcMillis now);
  /// A source that is `ok` may have a reason too: a warning for the operator.
  void set_state(const std::string& source, SourceState state, const std::string& reason,
                 platform::UtcMillis now);
  /// A page was ingested and more follow: ends a failure.
  void record_page(const std::string& source, platform::UtcMillis now);
  /// A message was ingested: ends a failure and keeps a warning.
  void record_message(const std::string& source, platform::UtcMillis now);
  /// Sets the probable reason why all changes of an `ok` source are orphaned; empty: not all are (SRC-17).
  /// Like any reason it is logged once.
  void set_all_orphaned(const std::string& source, const std::string& reason, platform::UtcMillis now);
  /// Events of the source were applied: it is no longer over its limit.
  void clear_over_limit(const std::string& source, platform::UtcMillis now);
  /// Records a message without a valid signature. It does not change the source's state, since anyone can
  /// send one (SRC-25).
  void record_refused(const std::string& source, const std::string& reason, platform::UtcMillis now);
  /// Counts any other refused message without a log line.
  void count_refused(const std::string& source);
  /// Logs a warning for the operator, for example a conflict of ids.
  void warn(const std::string& source, const std::string& message, platform::UtcMillis now);
  /// Logs pending lines and saves the counters; called every few seconds.
  void flush(platform::UtcMillis now);
  /// The same at shutdown, without waiting for intervals.
  void close(platform::UtcMillis now);

 private:
  /// Lines of one kind, of which one is logged per interval.
  struct LineThrottle {
    platform::UtcMillis logged_at{INT64_MIN / 2};
    std::int64_t unlogged = 0;
    /// How many lines were left out since the last one; absent: this one is left out too.
    std::optional<std::int64_t> next(platform::UtcMillis now, std::int64_t interval_millis);
  };
  struct Health {
    SourceState state = SourceState::initial;
    std::string reason;
    std::string all_orphaned_reason;  ///< added to the reason of an `ok` source
    bool is_dirty = false;            ///< changed since it was last saved for the command line
    platform::UtcMillis saved_at{INT64_MIN / 2};
    SourceState logged_state = SourceState::initial;  ///< state of the last log line
    std::string logged_warning;                       ///< warning of the last log line, of an `ok` source
    platform::UtcMillis logged_at{INT64_MIN / 2};
    SourceState unlogged_state = SourceState::initial;
    std::string unlogged_trouble;  ///< the last failure that ended before its log line was due
    LineThrottle refusals;
    std::int64_t unsaved_refusals = 0;
    LineThrottle warnings;
    /// True.
    bool enter(SourceState next_state, const std::string& next_reason);
    std::string full_reason() const;
    std::string warning() const { return state == SourceState::ok ? full_reason() : std::string(); }
  };
  /// Saved after the mutex is released: the database may block.
  struct StateUpdate {
    std::string source;
    SourceState state = SourceState::initial;
    std::string reason;
    platform::UtcMillis at;
  };
  /// `apply` returns whether it has changed the source's health.
  void change(const std::string& source, platform::UtcMillis now, const std::function<bool(Health&)>& apply);
  void log_if_due(const std::string& source, Health& health, platform::UtcMillis now,
                  std::vector<StateUpdate>& due);
  /// Does not throw: the caller's message may be stored already. A failed save is retried.
  void save(const std::vector<StateUpdate>& due);
  static void log_state(const std::string& source, Health& health, platform::UtcMillis now);
  void save_counters();

  schema::store::Store& store_;
  std::mutex mutex_;
  std::map<std::string, Health> health_;  // guarded by mutex_
};

}  // namespace giftsync::daemon::sources
