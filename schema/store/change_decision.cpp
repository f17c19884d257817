// The conditional accept: deciding about a gift and writing the outcome down are one transaction.
#include "schema/sql/database.h"
#include "schema/store/change_log.h"
#include "schema/store/change_rows.h"

namespace giftsync::schema {
namespace {

using soci::into;
using soci::use;

/// Thrown inside the transaction, to roll it back with whatever was begun to be handed out.
struct NothingLeft {};

/// Whoever else decides about this gift waits here until this transaction has ended; then it sees what it
/// wrote. On SQLite the transaction is alone anyway.
std::optional<UtcMillis> lock_gift(soci::session& session, Dialect dialect, const StatusChange& change) {
  std::optional<UtcMillis> sent_at;
  UtcMillis found;
  soci::statement statement =
      sql::bound(session,
                 "SELECT sent_at FROM recipient_transaction WHERE id = :id AND origin = :origin" +
                     std::string(dialect == Dialect::postgresql ? " FOR UPDATE" : ""),
                 use(change.transaction), use(change.origin), into(found));
  sql::each_row(statement, [&] { sent_at = found; });
  return sent_at;
}

DecidedOutcome decide(soci::session& session, Dialect dialect, const StatusChange& change,
                      const Decision& may, const HandOut& hand_out) {
  const std::optional<UtcMillis> sent_at = lock_gift(session, dialect, change);
  if (!sent_at) return DecidedOutcome::unknown_transaction;
  const std::vector<ChangeSpan> so_far =
      sql::select_spans(session, dialect, std::span(&change.transaction, 1));
  if (!may(*sent_at, so_far)) return DecidedOutcome::refused;
  const StatusChange* one = &change;
  // There already, and still it might be: it was voided. A repeat does not bring it back.
  if (sql::insert_changes(session, dialect, std::span(&one, 1)).empty()) return DecidedOutcome::refused;
  if (!hand_out.write(session)) throw NothingLeft();
  sql::mark_for_sync(session, dialect, {change.transaction}, change.received_at);
  return DecidedOutcome::accepted;
}

}  // namespace

DecidedOutcome ChangeLog::accept_if(const StatusChange& change, const Decision& may,
                                    const HandOut& hand_out) {
  const StatusChange one = numbered(std::span(&change, 1)).front();
  try {
    return database_->write_urgently(
        [&](soci::session& session) { return decide(session, database_->dialect(), one, may, hand_out); });
  } catch (const NothingLeft&) {
    return DecidedOutcome::nothing_to_hand_out;
  } catch (const sql::CommitUnknown&) {
    if (is_there(one.id)) return DecidedOutcome::accepted;
    throw;
  }
}

HandOut ChangeLog::beside(const StatusChange& change) {
  const StatusChange one = numbered(std::span(&change, 1)).front();
  return [one, dialect = database_->dialect()](soci::session& session) {
    const StatusChange* row = &one;
    sql::insert_changes(session, dialect, std::span(&row, 1));
    return true;
  };
}

bool ChangeLog::is_there(ChangeId id) {
  return database_->read([&](soci::session& session) {
    long long count = 0;
    session << "SELECT count(*) FROM change_log WHERE id = :id", use(id), into(count);
    return count > 0;
  });
}

}  // namespace giftsync::schema
