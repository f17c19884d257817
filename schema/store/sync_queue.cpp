#include "schema/store/sync_queue.h"

#include "schema/sql/bulk_rows.h"
#include "schema/sql/database.h"
#include "schema/store/waiting_rows.h"

namespace giftsync::schema {
namespace {

using soci::into;
using soci::use;
using sql::BulkRows;
using Type = BulkRows::Type;

/// The marks that are due after `latest`, in the words of the index sync_mark_due.
sql::WaitingRows marks_due_after(UtcMillis latest) {
  return {.table = "sync_mark",
          .key = "transaction_id",
          .beyond = "(due_at / 10000) >= " + std::to_string(latest.value / 10000) + " AND due_at > :latest",
          .order = "(due_at / 10000), transaction_id",
          .ended = "due_at = :now"};
}

}  // namespace

SyncQueue::SyncQueue(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

std::vector<SyncClaim> SyncQueue::claim(const std::string& owner, std::int64_t lease_millis,
                                        std::size_t limit, UtcMillis now) {
  const Dialect dialect = database_->dialect();
  const std::string clock(sql::database_now(dialect));
  // What the index sync_mark_due is over, so that neither look goes through the marks that are not due yet.
  const std::string is_due = "(due_at / 10000) <= " + std::to_string(now.value / 10000) +
                             " AND due_at <= :now AND lease_until < " + clock;
  const std::string due = "SELECT transaction_id FROM sync_mark WHERE " + is_due +
                          " ORDER BY (due_at / 10000), transaction_id LIMIT " + std::to_string(limit) +
                          (dialect == Dialect::postgresql ? " FOR UPDATE SKIP LOCKED" : "");
  const auto nothing_due = [&](soci::session& session) {
    long long found = 0;
    session << "SELECT count(*) FROM (SELECT 1 FROM sync_mark WHERE " + is_due + " LIMIT 1) due", use(now),
        into(found);
    return found == 0;
  };
  if (database_->read(nothing_due)) return {};  // at rest no write lock is taken
  return database_->write([&](soci::session& session) {
    const long long lease = lease_millis;
    SyncClaim row;
    long long seq = 0;
    long long attempts = 0;
    soci::statement statement =
        sql::bound(session,
                   "UPDATE sync_mark SET lease_owner = :owner, lease_until = " + clock +
                       " + :lease WHERE transaction_id " + sql::is_one_of(dialect, due) +
                       " RETURNING transaction_id, seq, attempts",
                   use(owner), use(lease), use(now), into(row.transaction), into(seq), into(attempts));
    std::vector<SyncClaim> claims;
    sql::each_row(statement, [&] {
      row.seq = seq;
      row.attempts = attempts;
      claims.push_back(row);
    });
    return claims;
  });
}

std::vector<TransactionId> SyncQueue::save(std::span<const FoldedState> folded) {
  if (folded.empty()) return {};
  const Dialect dialect = database_->dialect();
  return database_->write([&](soci::session& session) {
    BulkRows rows(dialect, {{"id", Type::integer},
                            {"version", Type::integer},
                            {"status", Type::text},
                            {"sent_at", Type::integer},
                            {"delivered_at", Type::integer},
                            {"undelivered_at", Type::integer},
                            {"opened_at", Type::integer},
                            {"redeemed_at", Type::integer},
                            {"donated_at", Type::integer},
                            {"expired_at", Type::integer},
                            {"refunded_at", Type::integer},
                            {"contradictory", Type::integer},
                            {"due_at", Type::integer}});
    for (const FoldedState& one : folded) {
      const auto time = [&](Status status) {
        const auto& found = one.times[status];
        return found ? sql::Cell(found->value) : sql::Cell();
      };
      rows.add({one.transaction.value, one.from_version, to_word(one.status), time(Status::sent),
                time(Status::delivered), time(Status::undelivered), time(Status::opened),
                time(Status::redeemed), time(Status::donated), time(Status::expired), time(Status::refunded),
                std::int64_t{one.contradictory}, one.due_at ? sql::Cell(one.due_at->value) : sql::Cell()});
    }
    const auto assignments = [](const std::string& given) {
      std::string text = "version = t.version + 1";
      for (const char* column :
           {"status", "sent_at", "delivered_at", "undelivered_at", "opened_at", "redeemed_at", "donated_at",
            "expired_at", "refunded_at", "contradictory", "due_at"})
        text += std::string(", ") + column + " = " + given + column;
      return text;
    };
    const std::vector<std::int64_t> saved = rows.run_touching(
        session,
        "UPDATE recipient_transaction AS t SET " + assignments(":") +
            " WHERE id = :id AND version = :version",
        "UPDATE recipient_transaction t SET " + assignments("row_given.") + " FROM " + rows.as_table() +
            " WHERE t.id = row_given.id AND t.version = row_given.version RETURNING t.id");
    std::vector<TransactionId> ids;
    for (const std::int64_t id : saved) ids.push_back({id});
    return ids;
  });
}

void SyncQueue::end_rest(UtcMillis now) {
  sql::WaitingRows resting = marks_due_after(now);
  resting.beyond += " AND attempts = 0";
  sql::end_waits_beyond(*database_, resting, now, now);
}

std::int64_t SyncQueue::end_waits_beyond(UtcMillis latest, UtcMillis now) {
  return sql::end_waits_beyond(*database_, marks_due_after(latest), latest, now);
}

void SyncQueue::note_fault(const std::string& owner, const std::string& fault) {
  database_->write([&](soci::session& session) {
    session << "UPDATE sync_mark SET lease_owner = '', lease_until = 0, last_error = :fault WHERE "
               "lease_owner = :owner",
        use(fault), use(owner);
  });
}

void SyncQueue::break_leases(const std::string& owner) {
  database_->write([&](soci::session& session) {
    session << "UPDATE sync_mark SET lease_owner = '', lease_until = 0 WHERE lease_owner = :owner",
        use(owner);
  });
}

void SyncQueue::cut_leases(std::int64_t longest_millis) {
  database_->write([&](soci::session& session) {
    sql::cut_leases(session, database_->dialect(), "sync_mark", longest_millis);
  });
}

SyncQueue::Counts SyncQueue::counts() {
  return database_->read([](soci::session& session) {
    Counts counts;
    long long waiting = 0;
    long long failing = 0;
    // A fault of the CRM as a whole is no try of a gift (see note_fault).
    session << "SELECT count(*), coalesce(sum(CASE WHEN attempts > 0 OR last_error <> '' THEN 1 ELSE 0 "
               "END), 0), min(due_at) FROM sync_mark",
        into(waiting), into(failing), into(counts.oldest_due);
    counts.waiting = waiting;
    counts.failing = failing;
    if (failing == 0) return counts;
    // Of several errors the one that keeps most gifts waiting.
    session << "SELECT last_error FROM sync_mark WHERE last_error <> '' GROUP BY last_error "
               "ORDER BY count(*) DESC, last_error LIMIT 1",
        into(counts.last_error);
    return counts;
  });
}

}  // namespace giftsync::schema
