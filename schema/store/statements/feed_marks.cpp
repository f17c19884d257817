#include "schema/store/statements/feed_marks.h"

#include <set>

#include "schema/sql/session.h"

namespace giftsync::store {

bool keeps_feed(soci::session& session) {
  return sql::Session::of(session).keeps_feed;
}

sql::BulkInsert feed_mark_rows(sql::Dialect dialect) {
  using Type = sql::BulkInsert::Type;
  return {dialect,
          "feed_queue",
          {{"object_id", Type::integer},
           {"kind", Type::integer},
           {"reasons", Type::integer},
           {"marked_at", Type::integer}},
          "ON CONFLICT (kind, object_id) DO UPDATE SET reasons = feed_queue.reasons | excluded.reasons"};
}

void add_feed_mark(sql::BulkInsert& rows, FeedMarkKind kind, std::int64_t object, std::int64_t reasons,
                   UtcMillis now) {
  rows.add({object, static_cast<std::int64_t>(kind), reasons, now.value});
}

void mark_for_feed(soci::session& session, FeedMarkKind kind, std::span<const std::int64_t> objects,
                   std::int64_t reasons, UtcMillis now) {
  if (!keeps_feed(session)) return;
  sql::BulkInsert marks = feed_mark_rows(session);
  for (const std::int64_t object : std::set(objects.begin(), objects.end()))
    add_feed_mark(marks, kind, object, reasons, now);
  marks.run(session);
}

void mark_for_feed(soci::session& session, std::span<const TransactionId> gifts, std::int64_t reasons,
                   UtcMillis now) {
  std::vector<std::int64_t> ids;
  for (const TransactionId gift : gifts) ids.push_back(gift.value);
  mark_for_feed(session, FeedMarkKind::gift, ids, reasons, now);
}

}  // namespace giftsync::store
