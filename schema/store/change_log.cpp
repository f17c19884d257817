#include "schema/store/change_log.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "schema/sql/bulk_insert.h"
#include "schema/sql/database.h"
#include "schema/store/change_rows.h"
#include "schema/store/gift_rows.h"

namespace giftsync::schema {
namespace {

using soci::into;
using soci::use;
using sql::BulkInsert;
using Type = BulkInsert::Type;

/// What makes a change the same as another one.
using Identity = std::tuple<TransactionId, Status, UtcMillis, std::string>;
Identity identity_of(const StatusChange& change) {
  return {change.transaction, change.status, change.occurred_at, change.source};
}

std::vector<TransactionId> transactions_in(std::span<const StatusChange> changes) {
  std::set<TransactionId> ids;
  for (const StatusChange& change : changes) ids.insert(change.transaction);
  return {ids.begin(), ids.end()};
}

/// Those that exist, with their origins.
std::map<TransactionId, std::string> known_transactions(soci::session& session, Dialect dialect,
                                                        std::span<const TransactionId> ids) {
  const std::string list = sql::list_of(dialect, sql::values_of(ids));
  TransactionId id;
  std::string origin;
  soci::statement statement = (session.prepare << "SELECT id, origin FROM recipient_transaction WHERE " +
                                                      sql::in_list(dialect, "id", "ids", false),
                               use(list), into(id), into(origin));
  std::map<TransactionId, std::string> known;
  sql::each_row(statement, [&] { known.emplace(id, origin); });
  return known;
}

/// Leaves out what is held for another's transaction of the same id; a held change of its own counts at once.
constexpr std::string_view kOfItsOrigin =
    " AND (held = 0 OR EXISTS (SELECT 1 FROM recipient_transaction t WHERE t.id = change_log.transaction_id "
    "AND "
    "t.origin = change_log.origin))";

std::vector<StatusChange> select_changes(soci::session& session, Dialect dialect,
                                         std::span<const TransactionId> ids, bool others_too) {
  const std::string list = sql::list_of(dialect, sql::values_of(ids));
  StatusChange row;
  std::string status;
  soci::statement statement =
      (session.prepare
           << "SELECT id, source, transaction_id, status, occurred_at, received_at FROM change_log WHERE " +
                  sql::in_list(dialect, "transaction_id", "ids", false) +
                  (others_too ? "" : std::string(kOfItsOrigin)) + " ORDER BY transaction_id, id",
       use(list), into(row.id), into(row.source), into(row.transaction), into(status), into(row.occurred_at),
       into(row.received_at));
  std::vector<StatusChange> changes;
  sql::each_row(statement, [&] {
    row.status = status_from_word(status).value_or(Status::sent);
    changes.push_back(row);
  });
  return changes;
}

std::map<std::string, std::int64_t> held_by_source(soci::session& session) {
  std::string source;
  long long count = 0;
  soci::statement statement =
      (session.prepare << "SELECT source, count(*) FROM change_log WHERE held = 1 GROUP BY source",
       into(source), into(count));
  std::map<std::string, std::int64_t> held;
  sql::each_row(statement, [&] { held[source] = count; });
  return held;
}

void insert_changes(soci::session& session, Dialect dialect, std::span<const StatusChange> changes,
                    const std::vector<AcceptOutcome>& outcomes) {
  BulkInsert rows(dialect, "change_log",
                  {{"id", Type::integer},
                   {"source", Type::text},
                   {"transaction_id", Type::integer},
                   {"status", Type::text},
                   {"occurred_at", Type::integer},
                   {"received_at", Type::integer},
                   {"held", Type::integer},
                   {"origin", Type::text}},
                  "ON CONFLICT DO NOTHING");
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (outcomes[i] != AcceptOutcome::accepted && outcomes[i] != AcceptOutcome::held) continue;
    const StatusChange& change = changes[i];
    const std::int64_t held = outcomes[i] == AcceptOutcome::held ? 1 : 0;
    rows.add({change.id.value, change.source, change.transaction.value, to_word(change.status),
              change.occurred_at.value, change.received_at.value, held, change.origin});
  }
  rows.run(session);
}

/// Event ids go to the change that stands, which may be an older one than the one they came with.
void insert_events(soci::session& session, Dialect dialect, std::span<const StatusChange> changes,
                   const std::map<Identity, ChangeId>& standing) {
  BulkInsert rows(dialect, "change_event", {{"change_id", Type::integer}, {"event_id", Type::text}},
                  "ON CONFLICT DO NOTHING");
  for (const StatusChange& change : changes) {
    const auto found = standing.find(identity_of(change));
    if (found == standing.end()) continue;
    for (const std::string& event_id : change.event_ids) rows.add({found->second.value, event_id});
  }
  rows.run(session);
}

}  // namespace

namespace sql {

std::vector<AcceptOutcome> accept_changes(soci::session& session, Dialect dialect,
                                          std::span<const StatusChange> changes) {
  if (changes.empty()) return {};
  const std::vector<TransactionId> ids = transactions_in(changes);
  const std::map<TransactionId, std::string> known = known_transactions(session, dialect, ids);
  std::set<Identity> seen;
  for (const StatusChange& change : select_changes(session, dialect, ids, true))
    seen.insert(identity_of(change));
  std::map<std::string, std::int64_t> held;
  if (known.size() < ids.size()) held = held_by_source(session);

  std::vector<AcceptOutcome> outcomes;
  outcomes.reserve(changes.size());
  for (const StatusChange& change : changes) {
    if (seen.contains(identity_of(change))) {
      outcomes.push_back(AcceptOutcome::repeated);
    } else if (const auto found = known.find(change.transaction);
               found != known.end() && found->second != change.origin) {
      outcomes.push_back(AcceptOutcome::other_origin);
    } else if (found != known.end()) {
      seen.insert(identity_of(change));
      outcomes.push_back(AcceptOutcome::accepted);
    } else if (held[change.source] < kMaxHeldChanges) {
      seen.insert(identity_of(change));
      ++held[change.source];
      outcomes.push_back(AcceptOutcome::held);
    } else {
      outcomes.push_back(AcceptOutcome::too_many_held);
    }
  }
  insert_changes(session, dialect, changes, outcomes);
  std::map<Identity, ChangeId> standing;
  for (const StatusChange& change : select_changes(session, dialect, ids, true))
    standing[identity_of(change)] = change.id;
  insert_events(session, dialect, changes, standing);

  std::set<TransactionId> changed;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (outcomes[i] == AcceptOutcome::accepted) changed.insert(changes[i].transaction);
  }
  mark_for_sync(session, dialect, {changed.begin(), changed.end()}, changes.front().received_at);
  return outcomes;
}

void mark_for_sync(soci::session& session, Dialect dialect, const std::vector<TransactionId>& transactions,
                   UtcMillis now) {
  BulkInsert marks(
      dialect, "sync_mark",
      {{"transaction_id", Type::integer},
       {"seq", Type::integer},
       {"due_at", Type::integer},
       {"attempts", Type::integer},
       {"lease_owner", Type::text},
       {"lease_until", Type::integer},
       {"last_error", Type::text}},
      "ON CONFLICT (transaction_id) DO UPDATE SET seq = sync_mark.seq + 1, due_at = excluded.due_at, "
      "attempts = 0");
  const std::int64_t zero = 0;
  for (const TransactionId id : transactions) {
    marks.add({id.value, std::int64_t{1}, now.value, zero, std::string_view(), zero, std::string_view()});
  }
  marks.run(session);
}

}  // namespace sql

ChangeLog::ChangeLog(std::shared_ptr<sql::Database> database)
    : database_(database), change_ids_(database, "change") {}

std::vector<StatusChange> ChangeLog::numbered(std::span<const StatusChange> changes) {
  std::vector<StatusChange> result(changes.begin(), changes.end());
  if (result.empty()) return result;
  std::int64_t id = change_ids_.take(static_cast<std::int64_t>(result.size()));
  for (StatusChange& change : result) change.id = {id++};
  return result;
}

std::vector<AcceptOutcome> ChangeLog::accept(std::span<const StatusChange> changes) {
  const std::vector<StatusChange> all = numbered(changes);
  return database_->write(
      [&](soci::session& session) { return sql::accept_changes(session, database_->dialect(), all); });
}

std::vector<StatusChange> ChangeLog::changes_of(std::span<const TransactionId> transactions) {
  return database_->read([&](soci::session& session) {
    return select_changes(session, database_->dialect(), transactions, false);
  });
}

std::vector<StatusChange> ChangeLog::history(TransactionId transaction) {
  return database_->snapshot([&](soci::session& session) {
    std::vector<StatusChange> changes =
        select_changes(session, database_->dialect(), std::span(&transaction, 1), false);
    std::stable_sort(changes.begin(), changes.end(),
                     [](const auto& a, const auto& b) { return a.occurred_at < b.occurred_at; });
    for (StatusChange& change : changes) {
      std::string event_id;
      soci::statement statement =
          (session.prepare << "SELECT event_id FROM change_event WHERE change_id = :id "
                              "ORDER BY event_id",
           use(change.id), into(event_id));
      sql::each_row(statement, [&] { change.event_ids.push_back(event_id); });
    }
    return changes;
  });
}

std::int64_t ChangeLog::release_held(UtcMillis now) {
  constexpr std::string_view kAppeared =
      "held = 1 AND EXISTS (SELECT 1 FROM recipient_transaction t WHERE t.id = change_log.transaction_id "
      "AND t.origin = change_log.origin)";
  const auto appeared = [&](soci::session& session) {
    TransactionId id;
    soci::statement statement =
        (session.prepare << "SELECT DISTINCT transaction_id FROM change_log WHERE " + std::string(kAppeared),
         into(id));
    std::vector<TransactionId> ids;
    sql::each_row(statement, [&] { ids.push_back(id); });
    return ids;
  };
  // The look is cheap and nearly always finds nothing, so the write transaction is begun only when it does
  // not.
  if (database_->read(appeared).empty()) return 0;
  return database_->write([&](soci::session& session) {
    const std::vector<TransactionId> ids = appeared(session);
    const std::string list = sql::list_of(database_->dialect(), sql::values_of(ids));
    soci::statement update =
        (session.prepare << "UPDATE change_log SET held = 0 WHERE " + std::string(kAppeared) + " AND " +
                                sql::in_list(database_->dialect(), "transaction_id", "ids", false),
         use(list));
    update.execute(true);
    sql::mark_for_sync(session, database_->dialect(), ids, now);
    return static_cast<std::int64_t>(update.get_affected_rows());
  });
}

std::int64_t ChangeLog::count_held() {
  return database_->read([](soci::session& session) {
    long long count = 0;
    session << "SELECT count(*) FROM change_log WHERE held = 1", into(count);
    return static_cast<std::int64_t>(count);
  });
}

}  // namespace giftsync::schema
