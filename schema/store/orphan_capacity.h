// schema/store: how many more changes of a source may be orphaned (kMaxOrphanedChanges). They are counted in
// an index, which takes 15 ms at the limit, so a count serves many changes: it allows half of what is free,
// at most kMaxAllowance, without another count. A source is over its limit by at most that much for each
// further daemon. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "platform/time.h"
#include "schema/sql/dsn.h"

namespace soci {
class session;
}

namespace giftsync::schema::store {

class OrphanCapacity {
 public:
  static constexpr std::int64_t kMaxAllowance = 1'000;
  /// A full source is counted again after so long.
  static constexpr std::int64_t kRecountMillis = 1'000;

  /// Whether one more change of the source may be orphaned at `now`. `pending`: those of the caller that are
  /// not inserted yet. Counts in the caller's transaction.
  bool take(soci::session& session, const std::string& source, std::int64_t pending, platform::UtcMillis now);
  /// Fewer changes are orphaned now: a full source is counted again.
  void forget();

 private:
  struct Source {
    std::int64_t allowance = 0;
    bool is_full = false;
    platform::UtcMillis full_at;
  };
  std::mutex mutex_;
  std::map<std::string, Source> sources_;  // guarded by mutex_
};

/// Counted in an index alone.
std::int64_t count_orphaned_changes(soci::session& session, const std::string& source);

}  // namespace giftsync::schema::store
