// daemon/sources: how each source is doing, said in one log line when that changes and never once for each
// message: a source that floods, lies or flaps costs at most a line a minute. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "schema/store/store.h"

namespace giftsync::daemon {

enum class SourceState {
  fresh,    ///< nothing was heard of it yet
  works,    ///< its last message or page was taken
  fails,    ///< it, or what its messages are checked with, cannot be reached or answers with an error
  garbage,  ///< what it says cannot be read
  full      ///< too much of what it said is held or kept aside
};
std::string_view to_word(SourceState state);

class SourceWatch {
 public:
  explicit SourceWatch(schema::Store& store);

  /// Makes the sources known to the store.
  void open(const std::string& source, const std::string& origin, schema::UtcMillis now);
  /// A source that works may have a reason too: what people should look at.
  void note(const std::string& source, SourceState state, const std::string& reason, schema::UtcMillis now);
  /// A page of it was taken, and there are more to come: whatever trouble it was in is over.
  void note_taken(const std::string& source, schema::UtcMillis now);
  /// A message of it was taken, which says nothing of what people should look at: whatever trouble it was in
  /// is over, and a doubt stays.
  void note_message(const std::string& source, schema::UtcMillis now);
  /// Of a source that works, but of which all changes are held: what may be the reason. Empty: not all are.
  /// Like any reason it is told once.
  void note_only_held(const std::string& source, const std::string& why, schema::UtcMillis now);
  /// What was kept of it could be applied: it is not full any more.
  void note_room(const std::string& source, schema::UtcMillis now);
  /// A message that was not let in. It does not change the source's state: anybody can send one.
  void note_refused(const std::string& source, const std::string& why, schema::UtcMillis now);
  /// Any other message of which nothing was taken: counted, and not told of here.
  void count_refused(const std::string& source);
  /// Something the operator must see, such as an id that is another's.
  void warn(const std::string& source, const std::string& what, schema::UtcMillis now);
  /// Says what had to wait and writes the counters down; called every few seconds.
  void catch_up(schema::UtcMillis now);
  /// The same at the end: nothing waits any longer.
  void close(schema::UtcMillis now);

 private:
  struct Standing {
    SourceState now = SourceState::fresh;
    std::string reason;
    std::string only_held;  ///< what is told beside the reason, of a source that works
    bool heard = false;     ///< since it was last written to the store, for the command line
    schema::UtcMillis written_at{INT64_MIN / 2};
    SourceState told = SourceState::fresh;  ///< in the log
    std::string told_doubt;                 ///< with it, of a source that works
    schema::UtcMillis told_at{INT64_MIN / 2};
    SourceState missed_state = SourceState::fresh;
    std::string missed;  ///< the last trouble that came and went before its line was due
    schema::UtcMillis refusal_told_at{INT64_MIN / 2};
    std::int64_t refusals_untold = 0;
    std::int64_t refusals_unwritten = 0;
    schema::UtcMillis warned_at{INT64_MIN / 2};
    std::int64_t warnings_untold = 0;
    std::string whole_reason() const;
    std::string doubt() const { return now == SourceState::works ? whole_reason() : std::string(); }
  };
  /// What is to be written to the store, once the mutex is free: the database may let others wait.
  struct StateNote {
    std::string source;
    SourceState state = SourceState::fresh;
    std::string reason;
    schema::UtcMillis at;
  };
  void take_note(const std::string& source, SourceState state, const std::string& reason,
                 schema::UtcMillis now, std::vector<StateNote>& due);
  void tell_if_due(const std::string& source, Standing& standing, schema::UtcMillis now,
                   std::vector<StateNote>& due);
  /// A fault is not the caller's, whose message may be taken already: it is written the next time.
  void write(const std::vector<StateNote>& due);
  static void tell(const std::string& source, Standing& standing, schema::UtcMillis now);
  void write_counters();

  schema::Store& store_;
  std::mutex mutex_;
  std::map<std::string, Standing> standings_;  // guarded by mutex_
};

}  // namespace giftsync::daemon
