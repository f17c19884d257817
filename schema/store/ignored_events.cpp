#include "schema/store/ignored_events.h"

#include <algorithm>
#include <map>

#include "schema/sql/queries.h"
#include "schema/store/inbound_event_rows.h"

namespace giftsync::schema::store {
namespace {

using soci::use;

using IgnoredBySource = std::map<std::string, std::vector<IgnoredEvent>>;

/// In the order of sources and digests everywhere, so that no two transactions wait for each other (ARCH-40).
/// Of each source only as many as are kept, the last ones.
IgnoredBySource in_insert_order(const std::vector<IgnoredEvent>& events) {
  IgnoredBySource by_source;
  for (const IgnoredEvent& one : events) by_source[*one.source].push_back(one);
  for (auto& [source, own] : by_source) {
    const auto excess = static_cast<std::int64_t>(own.size()) - kMaxIgnored;
    if (excess > 0) own.erase(own.begin(), own.begin() + excess);
    std::stable_sort(own.begin(), own.end(), [](const IgnoredEvent& a, const IgnoredEvent& b) {
      return a.event->digest < b.event->digest;
    });
  }
  return by_source;
}

void delete_oldest(soci::session& session, const std::string& source) {
  session
      << "DELETE FROM inbound_event WHERE source = :source AND state = 'ignored' AND (received_at, id) <= "
         "(SELECT received_at, id FROM inbound_event WHERE source = :same AND state = 'ignored' ORDER BY "
         "received_at DESC, id DESC LIMIT 1 OFFSET " +
             std::to_string(kMaxIgnored) + ")",
      use(source), use(source);
}

}  // namespace

void insert_ignored_events(soci::session& session, sql::Dialect dialect,
                           const std::vector<IgnoredEvent>& events) {
  if (events.empty()) return;
  const IgnoredBySource by_source = in_insert_order(events);
  sql::BulkInsert rows = inbound_event_rows(dialect);
  for (const auto& [source, own] : by_source) {
    for (const IgnoredEvent& one : own) add_inbound_event(rows, one.id, source, *one.event);
  }
  if (rows.run(session) == 0) return;
  for (const auto& [source, own] : by_source) delete_oldest(session, source);
}

}  // namespace giftsync::schema::store
