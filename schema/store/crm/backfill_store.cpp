#include "schema/store/crm/backfill_store.h"

#include <algorithm>
#include <set>

#include "schema/sql/bulk_rows.h"
#include "schema/store/gift/change_rows.h"
#include "schema/store/gift/gift_rows.h"
#include "schema/store/statements/feed_marks.h"
#include "schema/store/statements/rollup_deltas.h"
#include "schema/store/statements/word_conversions.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;
using Type = sql::BulkInsert::Type;

std::vector<TransactionId> to_transaction_ids(const std::vector<std::int64_t>& ids) {
  std::vector<TransactionId> transactions;
  transactions.reserve(ids.size());
  for (const std::int64_t id : ids) transactions.push_back({id});
  return transactions;
}

sql::Cell cell_of_time(const std::optional<UtcMillis>& time) {
  return time ? sql::Cell(time->value) : sql::Cell();
}

/// Returns the ids of the new ones.
std::set<TransactionId> insert_transactions(soci::session& session, std::span<const Adoption> adoptions,
                                            std::int64_t request_id) {
  sql::BulkInsert rows = recipient_transaction_rows(session,
                                                    {{"delivered_at", Type::integer},
                                                     {"undelivered_at", Type::integer},
                                                     {"opened_at", Type::integer},
                                                     {"redeemed_at", Type::integer},
                                                     {"donated_at", Type::integer},
                                                     {"expired_at", Type::integer},
                                                     {"refunded_at", Type::integer},
                                                     {"has_conflict", Type::integer},
                                                     {"phone", Type::text},
                                                     {"gift_source", Type::text},
                                                     {"untimed_status", Type::text}},
                                                    "ON CONFLICT DO NOTHING");
  const std::int64_t zero = 0;
  for (const Adoption& adoption : adoptions) {
    const RecipientTransaction& t = adoption.gift.transaction;
    const auto time = [&](Status status) { return cell_of_time(t.times[status]); };
    rows.add({t.id.value,
              request_id++,
              zero,
              t.email,
              std::string_view(),
              std::string_view(),
              t.message,
              zero,
              to_word(t.status),
              time(Status::sent),
              t.version,
              time(Status::delivered),
              time(Status::undelivered),
              time(Status::opened),
              time(Status::redeemed),
              time(Status::donated),
              time(Status::expired),
              time(Status::refunded),
              std::int64_t{t.has_conflict},
              t.phone,
              kAdoptedGiftSource,
              t.untimed_status ? to_word(*t.untimed_status) : std::string_view()});
  }
  std::set<TransactionId> inserted;
  for (const std::int64_t id : rows.run_returning_keys(session)) inserted.insert({id});
  return inserted;
}

void insert_requests(soci::session& session, std::span<const Adoption> adoptions, std::int64_t request_id,
                     const std::set<TransactionId>& adopted) {
  sql::BulkInsert rows = gift_request_rows(session);
  RollupDeltas deltas;
  for (const Adoption& adoption : adoptions) {
    const std::int64_t id = request_id++;
    if (!adopted.contains(adoption.gift.transaction.id)) continue;
    add_gift_request(rows, {id}, adoption.gift.request);
    RecipientTransaction transaction = adoption.gift.transaction;
    transaction.gift_source = kAdoptedGiftSource;
    if (const auto counted = counted_gift(adoption.gift.request, transaction)) deltas.add(*counted);
  }
  rows.run(session);
  deltas.rows(session).run(session);
}

}  // namespace

BackfillStore::BackfillStore(const std::shared_ptr<sql::Database>& database)
    : database_(database), request_ids_(database, "gift_request"), change_ids_(database, "status_change") {}

BackfillCheckpoint BackfillStore::begin(const std::string& name, const std::string& run, bool restart) {
  return database_->write([&](soci::session& session) {
    BackfillCheckpoint position;
    if (!restart) {
      BackfillCheckpoint row;
      position =
          sql::first_of(
              sql::select_rows(row, session,
                               "SELECT transaction_id, counts FROM backfill_checkpoint WHERE name = :name",
                               use(name), into(row.after), into(row.counts)))
              .value_or(BackfillCheckpoint{});
    }
    session
        << "INSERT INTO backfill_checkpoint (name, run, transaction_id, counts) VALUES (:name, :run, :after, "
           ":counts) "
           "ON CONFLICT (name) DO UPDATE SET run = excluded.run, transaction_id = excluded.transaction_id, "
           "counts = excluded.counts",
        use(name), use(run), use(position.after), use(position.counts);
    return position;
  });
}

bool BackfillStore::save(const std::string& name, const std::string& run,
                         const BackfillCheckpoint& position) {
  return database_->write([&](soci::session& session) {
    const std::int64_t updated = sql::change_rows(
        session,
        "UPDATE backfill_checkpoint SET transaction_id = :after, counts = :counts WHERE name = :name "
        "AND run = :run",
        use(position.after), use(position.counts), use(name), use(run));
    return updated == 1;
  });
}

void BackfillStore::finish(const std::string& name, const std::string& run) {
  database_->write([&](soci::session& session) {
    session << "DELETE FROM backfill_checkpoint WHERE name = :name AND run = :run", use(name), use(run);
  });
}

namespace {

/// A run that goes on says so each minute (cli/resumable_run.h), also while a CRM keeps it waiting.
constexpr std::int64_t kMaxSilenceMillis = 15 * kMinuteMillis;
constexpr const char* kWasKilled = "it was killed, or its computer stopped";

}  // namespace

// Of two runs the one that began last has the row. A run of a clock that was ahead keeps the row from none.
void BackfillStore::record_run(const BackfillRun& run) {
  database_->write([&](soci::session& session) {
    session << "INSERT INTO backfill_run (name, started_at, seen_at, ended_at, examined, repaired, "
               "differing, summary, error) VALUES (:name, :started, " +
                   std::string(sql::database_now(session)) +
                   ", :ended, :examined, :repaired, :differing, :summary, :error) ON CONFLICT (name) DO "
                   "UPDATE SET started_at = excluded.started_at, seen_at = excluded.seen_at, ended_at = "
                   "excluded.ended_at, examined = excluded.examined, repaired "
                   "= excluded.repaired, differing = excluded.differing, summary = excluded.summary, error = "
                   "excluded.error WHERE backfill_run.started_at <= excluded.started_at OR "
                   "backfill_run.started_at > excluded.seen_at",
        use(run.name), use(run.started_at), use(run.ended_at), use(run.examined), use(run.repaired),
        use(run.differing), use(run.summary), use(run.error);
  });
}

std::vector<BackfillRun> BackfillStore::latest_runs() {
  return database_->read([&](soci::session& session) {
    BackfillRun run;
    UtcMillis seen_at;
    std::int64_t silence_millis = 0;
    std::vector<BackfillRun> runs;
    soci::statement statement = sql::bound(
        session,
        "SELECT name, started_at, ended_at, examined, repaired, differing, summary, error, seen_at, " +
            std::string(sql::database_now(session)) + " - seen_at FROM backfill_run ORDER BY name",
        into(run.name), into(run.started_at), into(run.ended_at), into(run.examined), into(run.repaired),
        into(run.differing), into(run.summary), into(run.error), into(seen_at), into(silence_millis));
    sql::each_row(statement, [&] {
      runs.push_back(run);
      if (run.ended_at || silence_millis <= kMaxSilenceMillis) return;
      runs.back().ended_at = seen_at;
      runs.back().error = kWasKilled;
    });
    return runs;
  });
}

std::int64_t BackfillStore::count_transactions() {
  return database_->read([](soci::session& session) {
    // The few test gifts are subtracted: a condition would read each row.
    return sql::select_value<std::int64_t>(
        session,
        "SELECT (SELECT count(*) FROM recipient_transaction) - (SELECT count(*) FROM recipient_transaction "
        "WHERE is_test = 1)");
  });
}

std::vector<TransactionId> BackfillStore::transactions(TransactionId after, std::size_t limit) {
  return database_->read([&](soci::session& session) {
    return sql::select_column<TransactionId>(
        session,
        "SELECT id FROM recipient_transaction WHERE id > :after AND is_test = 0 ORDER BY id LIMIT " +
            std::to_string(limit),
        use(after));
  });
}

std::vector<TransactionState> BackfillStore::find_states(std::span<const TransactionId> transactions) {
  if (transactions.empty()) return {};
  const std::string list = sql::list_of(database_->dialect(), transactions);
  return database_->read([&](soci::session& session) {
    TransactionState row;
    soci::statement statement(session);
    statement.exchange(into(row.transaction));
    statement.exchange(into(row.status));
    statement.exchange(into(row.gift_source));
    for (const Status kAllStatuse : kAllStatuses) statement.exchange(into(row.times[kAllStatuse]));
    statement.exchange(use(list));
    statement.alloc();
    statement.prepare(
        "SELECT id, status, gift_source, sent_at, delivered_at, undelivered_at, opened_at, redeemed_at, "
        "donated_at, "
        "expired_at, refunded_at FROM recipient_transaction WHERE " +
            sql::in_list(session, "id", "ids", false),
        sql::kRunOnce);
    statement.define_and_bind();
    std::vector<TransactionState> states;
    sql::each_row(statement, [&] { states.push_back(row); });
    return states;
  });
}

std::vector<TransactionId> BackfillStore::find_queued(std::span<const TransactionId> transactions) {
  if (transactions.empty()) return {};
  const std::string list = sql::list_of(database_->dialect(), transactions);
  return database_->read([&](soci::session& session) {
    return sql::select_column<TransactionId>(session,
                                             "SELECT transaction_id FROM crm_outbox WHERE " +
                                                 sql::in_list(session, "transaction_id", "ids", false),
                                             use(list));
  });
}

std::vector<TransactionId> BackfillStore::adopt(std::span<const Adoption> adoptions, UtcMillis now) {
  if (adoptions.empty()) return {};
  const std::int64_t request_id = request_ids_.allocate(static_cast<std::int64_t>(adoptions.size()));
  std::size_t facts = 0;
  for (const Adoption& adoption : adoptions) facts += adoption.facts.size();
  const std::int64_t first_change = facts > 0 ? change_ids_.allocate(static_cast<std::int64_t>(facts)) : 0;
  return database_->write([&](soci::session& session) {
    std::vector<std::int64_t> gifts;
    for (const Adoption& one : adoptions) gifts.push_back(one.gift.transaction.id.value);
    lock_new_gifts(session, gifts);
    const std::set<TransactionId> adopted = insert_transactions(session, adoptions, request_id);
    insert_requests(session, adoptions, request_id, adopted);
    std::vector<StatusChange> changes;
    std::vector<CrmSyncState> sync_states;
    std::vector<TransactionId> to_write;
    std::int64_t change_id = first_change;
    for (const Adoption& one : adoptions) {
      if (!adopted.contains(one.gift.transaction.id)) continue;
      for (const StatusChange& fact : one.facts) {
        changes.push_back(fact);
        changes.back().id = {change_id++};
      }
      sync_states.push_back(one.sync_state);
      if (one.write) to_write.push_back(one.gift.transaction.id);
    }
    std::vector<const StatusChange*> rows;
    for (const StatusChange& change : changes) rows.push_back(&change);
    insert_changes(session, rows);
    insert_sync_states(session, sync_states);
    std::vector<TransactionId> made(adopted.begin(), adopted.end());
    mark_for_feed(session, made, feed_reason::kMade, now);
    enqueue_sync(session, to_write, now);
    return made;
  });
}

std::vector<TransactionId> BackfillStore::rewrite(std::span<const RecordRewrite> rewrites, UtcMillis now) {
  if (rewrites.empty()) return {};
  return database_->write([&](soci::session& session) {
    sql::BulkRows rows(session,
                       {{"id", Type::integer}, {"version", Type::integer}, {"next_version", Type::integer}});
    std::vector<std::int64_t> gifts;
    for (const RecordRewrite& record_rewrite : rewrites) {
      rows.add({record_rewrite.transaction.value, record_rewrite.from_version,
                std::max(record_rewrite.from_version, record_rewrite.above) + 1});
      gifts.push_back(record_rewrite.transaction.value);
    }
    lock_gifts(session, gifts);
    std::vector<TransactionId> ids = to_transaction_ids(rows.run_returning_keys(
        session,
        "UPDATE recipient_transaction SET version = :next_version WHERE id = :id AND version = :version",
        "UPDATE recipient_transaction t SET version = input_row.next_version FROM " + rows.as_table() +
            " WHERE t.id = input_row.id AND t.version = input_row.version RETURNING t.id"));
    enqueue_sync(session, ids, now);
    return ids;
  });
}

void BackfillStore::mark_deleted(std::span<const CrmSyncState> sync_states, const std::string& reason) {
  if (sync_states.empty()) return;
  database_->write([&](soci::session& session) {
    for (const CrmSyncState& sync_state : sync_states) {
      const std::string was(to_word(sync_state.state));
      session << "UPDATE crm_sync_state SET state = 'deleted', error = :error WHERE transaction_id = :id AND "
                 "state = "
                 ":was AND decided_at = :decided AND written_version > 0",
          use(reason), use(sync_state.transaction), use(was), use(sync_state.decided_at);
    }
  });
}

void BackfillStore::mark_needs_relink(std::span<const CrmSyncState> sync_states) {
  if (sync_states.empty()) return;
  database_->write([&](soci::session& session) {
    for (const CrmSyncState& sync_state : sync_states) {
      session << "UPDATE crm_sync_state SET needs_relink = 1, warnings = :warnings WHERE transaction_id = "
                 ":id AND "
                 "decided_at = :decided",
          use(sync_state.decision.warnings), use(sync_state.transaction), use(sync_state.decided_at);
    }
  });
}

std::vector<TransactionId> BackfillStore::recreate(std::span<const CrmSyncState> sync_states, UtcMillis now) {
  if (sync_states.empty()) return {};
  return database_->write([&](soci::session& session) {
    std::vector<TransactionId> ids;
    for (const CrmSyncState& sync_state : sync_states) {
      const std::string was(to_word(sync_state.state));
      const std::int64_t updated = sql::change_rows(
          session,
          "UPDATE crm_sync_state SET state = 'decided', written_version = 0, error = '', crm_id = '' WHERE "
          "transaction_id = :id AND state = :was AND decided_at = :decided AND "
          "written_version > 0",
          use(sync_state.transaction), use(was), use(sync_state.decided_at));
      if (updated == 1) ids.push_back(sync_state.transaction);
    }
    enqueue_sync(session, ids, now);
    return ids;
  });
}

}  // namespace giftsync::store
