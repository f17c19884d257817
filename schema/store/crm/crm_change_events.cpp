#include "schema/store/crm/crm_change_events.h"

#include "schema/sql/bulk_rows.h"
#include "schema/sql/queries.h"
#include "schema/store/statements/bounded_count.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

std::int64_t count_events(soci::session& session) {
  return sql::select_value<std::int64_t>(session,
                                         "SELECT count(*) FROM (SELECT 1 FROM crm_change_event LIMIT " +
                                             std::to_string(kMaxCrmChangeEvents) + ") first_events");
}

bool has_place(soci::session& session, std::span<const std::string> record_ids) {
  const std::string ids = sql::list_of(session, record_ids);
  const auto known = sql::select_value<std::int64_t>(
      session,
      "SELECT count(*) FROM crm_change_event WHERE " + sql::in_list(session, "record_id", "ids", true),
      use(ids));
  const std::int64_t added = static_cast<std::int64_t>(record_ids.size()) - known;
  return added == 0 || count_events(session) + added <= static_cast<std::int64_t>(kMaxCrmChangeEvents);
}

}  // namespace

CrmChangeEvents::CrmChangeEvents(std::shared_ptr<sql::Database> database)
    : database_(std::move(database)), ids_(database_, "crm_change_event") {}

bool CrmChangeEvents::add(std::span<const std::string> record_ids, std::int64_t token_id, UtcMillis now) {
  const std::int64_t first = ids_.allocate(static_cast<std::int64_t>(record_ids.size()));
  return database_->write_urgent([&](soci::session& session) {
    if (!has_place(session, record_ids)) return false;
    using Type = sql::BulkInsert::Type;
    sql::BulkInsert events(
        session, "crm_change_event",
        {{"event_id", Type::integer}, {"record_id", Type::text}, {"received_at", Type::integer}},
        "ON CONFLICT (record_id) DO UPDATE SET event_id = excluded.event_id");
    std::int64_t id = first;
    for (const std::string& record : record_ids) events.add({id++, std::string_view(record), now.value});
    events.run(session);
    session << "UPDATE crm_message_token SET last_used_at = :now WHERE id = :id", use(now), use(token_id);
    return true;
  });
}

std::vector<CrmChangeEvent> CrmChangeEvents::list(std::size_t limit) {
  return database_->read([&](soci::session& session) {
    CrmChangeEvent row;
    return sql::select_rows(row, session,
                            "SELECT event_id, record_id, received_at FROM crm_change_event ORDER BY "
                            "received_at, event_id LIMIT " +
                                std::to_string(limit),
                            into(row.id), into(row.record_id), into(row.received_at));
  });
}

void CrmChangeEvents::acknowledge(std::span<const std::int64_t> ids) {
  if (ids.empty()) return;
  const std::string list = sql::list_of(database_->dialect(), ids);
  database_->write([&](soci::session& session) {
    session << "DELETE FROM crm_change_event WHERE " + sql::in_list(session, "event_id", "ids", false),
        use(list);
  });
}

CrmChangeBacklog CrmChangeEvents::backlog() {
  return database_->read([](soci::session& session) {
    CrmChangeBacklog found;
    std::int64_t oldest = 0;
    session << "SELECT count(*), coalesce(min(received_at), 0) FROM (SELECT received_at FROM "
               "crm_change_event ORDER BY received_at, event_id LIMIT " +
                   std::to_string(kMaxCounted + 1) + ") first_events",
        into(found.count), into(oldest);
    if (found.count > 0) found.oldest = UtcMillis{oldest};
    return found;
  });
}

void CrmChangeEvents::clear() {
  database_->write([](soci::session& session) { session << "DELETE FROM crm_change_event"; });
}

std::int64_t CrmChangeEvents::count() {
  return database_->read([](soci::session& session) { return count_events(session); });
}

}  // namespace giftsync::store
