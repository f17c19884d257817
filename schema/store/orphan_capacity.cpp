#include "schema/store/orphan_capacity.h"

#include <algorithm>
#include <cstdlib>

#include "schema/sql/queries.h"
#include "schema/store/change_log.h"

namespace giftsync::schema::store {

bool OrphanCapacity::take(soci::session& session, const std::string& source, std::int64_t pending,
                          platform::UtcMillis now) {
  {
    const std::lock_guard lock(mutex_);
    Source& known = sources_[source];
    if (known.allowance > 0) {
      --known.allowance;
      return true;
    }
    if (known.is_full && std::abs(now.value - known.full_at.value) < kRecountMillis) return false;
  }
  const std::int64_t free = kMaxOrphanedChanges - count_orphaned_changes(session, source) - pending;
  const std::lock_guard lock(mutex_);
  sources_[source] = {std::clamp<std::int64_t>((free - 1) / 2, 0, kMaxAllowance), free <= 0, now};
  return free > 0;
}

void OrphanCapacity::forget() {
  const std::lock_guard lock(mutex_);
  sources_.clear();
}

std::int64_t count_orphaned_changes(soci::session& session, const std::string& source) {
  return sql::select_value<std::int64_t>(
      session, "SELECT count(*) FROM change_log WHERE orphaned = 1 AND source = :source", soci::use(source));
}

}  // namespace giftsync::schema::store
