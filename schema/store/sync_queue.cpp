#include "schema/store/sync_queue.h"

#include "schema/sql/bulk_rows.h"
#include "schema/sql/queries.h"
#include "schema/store/leases.h"
#include "schema/store/scheduled_rows.h"

namespace giftsync::schema::store {
namespace {

using soci::into;
using soci::use;
using Type = sql::BulkRows::Type;

/// The marks that are due after `latest`, in the expression of the index crm_outbox_due.
ScheduledRows scheduled_after(platform::UtcMillis latest) {
  return {.table = "crm_outbox",
          .key = "transaction_id",
          .condition = "(next_attempt_at / 10000) >= " + std::to_string(latest.value / 10000) +
                       " AND next_attempt_at > :latest",
          .order = "(next_attempt_at / 10000), transaction_id",
          .assignments = "next_attempt_at = :now"};
}

}  // namespace

SyncQueue::SyncQueue(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

std::vector<SyncClaim> SyncQueue::claim(const std::string& owner, std::int64_t lease_millis,
                                        std::size_t limit, platform::UtcMillis now) {
  const sql::Dialect dialect = database_->dialect();
  const std::string clock(sql::database_now(dialect));
  // The expression of the index crm_outbox_due, so that neither query scans the marks that are not due yet.
  const std::string is_due = "(next_attempt_at / 10000) <= " + std::to_string(now.value / 10000) +
                             " AND next_attempt_at <= :now AND lease_until < " + clock;
  const std::string due = "SELECT transaction_id FROM crm_outbox WHERE " + is_due +
                          " ORDER BY (next_attempt_at / 10000), transaction_id LIMIT " +
                          std::to_string(limit) + for_update(dialect, " SKIP LOCKED");
  const auto is_idle = [&](soci::session& session) {
    return sql::select_value<std::int64_t>(
               session, "SELECT count(*) FROM (SELECT 1 FROM crm_outbox WHERE " + is_due + " LIMIT 1) due",
               use(now)) == 0;
  };
  if (database_->read(is_idle)) return {};  // without work no write lock is taken
  return database_->write([&](soci::session& session) {
    SyncClaim row;
    return sql::select_rows(row, session,
                            "UPDATE crm_outbox SET lease_owner = :owner, lease_until = " + clock +
                                " + :lease WHERE transaction_id " + sql::in_subquery(dialect, due) +
                                " RETURNING transaction_id, mark_seq, attempts",
                            use(owner), use(lease_millis), use(now), into(row.transaction),
                            into(row.mark_seq), into(row.attempts));
  });
}

std::vector<TransactionId> SyncQueue::save_folded(std::span<const FoldedState> folded) {
  if (folded.empty()) return {};
  const sql::Dialect dialect = database_->dialect();
  return database_->write([&](soci::session& session) {
    sql::BulkRows rows(dialect, {{"id", Type::integer},
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
                                 {"has_conflict", Type::integer},
                                 {"due_at", Type::integer}});
    for (const FoldedState& one : folded) {
      const auto time = [&](Status status) {
        const auto& found = one.times[status];
        return found ? sql::Cell(found->value) : sql::Cell();
      };
      rows.add({one.transaction.value, one.from_version, to_word(one.status), time(Status::sent),
                time(Status::delivered), time(Status::undelivered), time(Status::opened),
                time(Status::redeemed), time(Status::donated), time(Status::expired), time(Status::refunded),
                std::int64_t{one.has_conflict}, one.due_at ? sql::Cell(one.due_at->value) : sql::Cell()});
    }
    const auto assignments = [](const std::string& given) {
      std::string text = "version = t.version + 1";
      for (const char* column :
           {"status", "sent_at", "delivered_at", "undelivered_at", "opened_at", "redeemed_at", "donated_at",
            "expired_at", "refunded_at", "has_conflict", "due_at"})
        text += std::string(", ") + column + " = " + given + column;
      return text;
    };
    const std::vector<std::int64_t> saved = rows.run_returning_keys(
        session,
        "UPDATE recipient_transaction AS t SET " + assignments(":") +
            " WHERE id = :id AND version = :version",
        "UPDATE recipient_transaction t SET " + assignments("input_row.") + " FROM " + rows.as_table() +
            " WHERE t.id = input_row.id AND t.version = input_row.version RETURNING t.id");
    std::vector<TransactionId> ids;
    for (const std::int64_t id : saved) ids.push_back({id});
    return ids;
  });
}

void SyncQueue::end_debounce(platform::UtcMillis now) {
  ScheduledRows resting = scheduled_after(now);
  resting.condition += " AND attempts = 0";
  store::reset_scheduled_after(*database_, resting, now, now);
}

std::int64_t SyncQueue::reset_scheduled_after(platform::UtcMillis latest, platform::UtcMillis now) {
  return store::reset_scheduled_after(*database_, scheduled_after(latest), latest, now);
}

void SyncQueue::release_with_error(const std::string& owner, const std::string& fault) {
  const std::string update =
      ordered_update(database_->dialect(), kCrmOutbox,
                     "lease_owner = '', lease_until = 0, last_error = :fault", "lease_owner = :owner");
  database_->write([&](soci::session& session) { session << update, use(fault), use(owner); });
}

void SyncQueue::release_leases(const std::vector<std::string>& owners) {
  store::release_leases(*database_, kCrmOutbox, owners);
}

void SyncQueue::cap_leases(std::int64_t max_millis) {
  store::cap_leases(*database_, kCrmOutbox, max_millis);
}

SyncQueue::Counts SyncQueue::counts() {
  return database_->read([](soci::session& session) {
    Counts counts;
    // A fault of the CRM as a whole is no try of a gift (see release_with_error).
    session << "SELECT count(*), coalesce(sum(CASE WHEN attempts > 0 OR last_error <> '' THEN 1 ELSE 0 "
               "END), 0), min(next_attempt_at) FROM crm_outbox",
        into(counts.waiting), into(counts.failing), into(counts.oldest_due);
    if (counts.failing == 0) return counts;
    // The error that affects the most gifts.
    session << "SELECT last_error FROM crm_outbox WHERE last_error <> '' GROUP BY last_error "
               "ORDER BY count(*) DESC, last_error LIMIT 1",
        into(counts.last_error);
    return counts;
  });
}

}  // namespace giftsync::schema::store
