// schema/store: finds the sources whose changes are all orphaned, as SQL. Its work has a bound however large
// the change log is: it counts by an index of the orphaned changes alone, which are bounded for each source,
// and looks for an applied change of the source among the newest changes of the log only (OPS-33). Included
// by this folder's .cpp files and their tests only.
#pragma once

#include <string>

namespace giftsync::schema::store {

/// Among these an applied change of the source shows that not all are orphaned.
inline constexpr int kNewestChanges = 10'000;

/// With `before`, when the source's first orphaned change was received at the latest: a parameter or a
/// number.
inline std::string all_orphaned_query(const std::string& before) {
  // An event has one or two changes: with fewer changes than events at least one was applied, which usually
  // decides.
  return "SELECT s.name FROM source s WHERE s.gifts = 0 AND s.accepted > 0 AND EXISTS (SELECT 1 FROM "
         "change_log c WHERE c.source = s.name AND c.orphaned = 1 AND c.received_at < " +
         before +
         ") AND s.accepted <= (SELECT count(*) FROM change_log c WHERE c.source = s.name AND c.orphaned = 1) "
         "AND NOT EXISTS (SELECT 1 FROM (SELECT source, orphaned FROM change_log ORDER BY id DESC LIMIT " +
         std::to_string(kNewestChanges) + ") newest WHERE newest.source = s.name AND newest.orphaned = 0)";
}

}  // namespace giftsync::schema::store
