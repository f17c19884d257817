// What an admin does with the log of changes: looks at it, voids a change, discards held ones.
#include "schema/sql/database.h"
#include "schema/store/change_log.h"
#include "schema/store/change_rows.h"

namespace giftsync::schema {
namespace {

using soci::into;
using soci::use;

/// Held changes that are discarded in one transaction: other writers get their turn in between.
constexpr std::size_t kDiscardedAtOnce = 5000;

/// Held, and really waiting: one whose gift has appeared counts already, though its row may not say so yet.
const std::string kWaiting = "held = 1 AND NOT " + sql::exists_for("change_log");

std::vector<std::int64_t> discard_some(soci::session& session, Dialect dialect, const std::string& source,
                                       UtcMillis before) {
  long long id = 0;
  std::vector<std::int64_t> ids;
  soci::statement statement =
      sql::bound(session,
                 "DELETE FROM change_log WHERE id IN (SELECT id FROM change_log WHERE " + kWaiting +
                     " AND source = :source AND received_at < :before ORDER BY id LIMIT " +
                     std::to_string(kDiscardedAtOnce) + ") AND held = 1 RETURNING id",
                 use(source), use(before), into(id));
  sql::each_row(statement, [&] { ids.push_back(id); });
  const std::string list = sql::list_of(dialect, ids);
  session << "DELETE FROM change_event WHERE " + sql::in_list(dialect, "change_id", "ids", false), use(list);
  return ids;
}

}  // namespace

std::vector<StatusChange> ChangeLog::list(const ChangeFilter& filter, ChangeOrder order,
                                          std::optional<ChangeId> after, std::size_t limit) {
  const bool newest_first = order == ChangeOrder::newest_first;
  return database_->snapshot([&](soci::session& session) {
    sql::ChangeRow row;
    soci::statement statement(session);
    std::string condition = "1 = 1";
    if (after) {
      condition = newest_first ? "c.id < :after" : "c.id > :after";
      statement.exchange(use(*after));
    }
    if (filter.transaction) {
      condition += " AND c.transaction_id = :transaction_id";
      statement.exchange(use(*filter.transaction));
    }
    if (filter.source) {
      condition += " AND c.source = :source";
      statement.exchange(use(*filter.source));
    }
    if (filter.held_only) condition += " AND c.held = 1";
    row.bind(statement);
    statement.alloc();
    statement.prepare("SELECT " + std::string(sql::ChangeRow::kColumns) + " FROM change_log c WHERE " +
                          condition + " ORDER BY c.id" + (newest_first ? " DESC" : "") + " LIMIT " +
                          std::to_string(limit),
                      sql::kRunOnce);
    statement.define_and_bind();
    std::vector<StatusChange> changes;
    sql::each_row(statement, [&] { changes.push_back(row.value()); });
    sql::read_event_ids(session, database_->dialect(), changes);
    return changes;
  });
}

VoidOutcome ChangeLog::void_change(ChangeId id, const Voiding& voiding) {
  const Dialect dialect = database_->dialect();
  return database_->write_urgently([&](soci::session& session) {
    TransactionId transaction;
    bool updated = false;
    // A held one is held no more: it shall not take a place, nor be applied later.
    soci::statement update =
        sql::bound(session,
                   "UPDATE change_log SET voided_at = :at, voided_by = :by, void_reason = :reason, held = 0 "
                   "WHERE id = :id AND voided_at IS NULL RETURNING transaction_id",
                   use(voiding.at), use(voiding.by), use(voiding.reason), use(id), into(transaction));
    sql::each_row(update, [&] { updated = true; });
    if (updated) {
      if (!sql::known_transactions(session, dialect, std::span(&transaction, 1)).empty())
        sql::mark_for_sync(session, dialect, {transaction}, voiding.at);
      // A timer finds out what comes next, now that this does not count.
      session << "UPDATE recipient_transaction SET due_at = :now WHERE id = :id AND origin = '' AND EXISTS "
                 "(SELECT 1 "
                 "FROM gift_request r WHERE r.id = request_id AND r.terms <> '')",
          use(voiding.at), use(transaction);
      return VoidOutcome::voided;
    }
    long long count = 0;
    session << "SELECT count(*) FROM change_log WHERE id = :id", use(id), into(count);
    return count > 0 ? VoidOutcome::was_voided : VoidOutcome::unknown;
  });
}

std::int64_t ChangeLog::count_held(const std::string& source, UtcMillis received_before) {
  return database_->read([&](soci::session& session) {
    long long count = 0;
    session << "SELECT count(*) FROM change_log WHERE " + kWaiting +
                   " AND source = :source AND received_at < :before",
        use(source), use(received_before), into(count);
    return static_cast<std::int64_t>(count);
  });
}

std::int64_t ChangeLog::discard_held(const std::string& source, UtcMillis received_before) {
  std::int64_t discarded = 0;
  for (;;) {
    const std::size_t some = database_->write([&](soci::session& session) {
      return discard_some(session, database_->dialect(), source, received_before).size();
    });
    discarded += static_cast<std::int64_t>(some);
    if (some < kDiscardedAtOnce) return discarded;
  }
}

}  // namespace giftsync::schema
