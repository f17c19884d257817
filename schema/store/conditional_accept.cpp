// The conditional accept: deciding about a gift and writing the outcome down are one transaction.
#include "schema/sql/database.h"
#include "schema/store/change_log.h"
#include "schema/store/change_rows.h"

namespace giftsync::schema::store {
namespace {

using soci::into;
using soci::use;

/// Thrown inside the transaction to roll it back together with a partly applied effect.
struct EffectUnavailable {};

/// Concurrent decisions about this gift wait here until this transaction has ended, and then see its result.
/// On SQLite the transaction is alone anyway.
std::optional<platform::UtcMillis> lock_gift(soci::session& session, sql::Dialect dialect,
                                             const StatusChange& change) {
  std::optional<platform::UtcMillis> sent_at;
  platform::UtcMillis found;
  soci::statement statement =
      sql::bound(session,
                 "SELECT sent_at FROM recipient_transaction WHERE id = :id AND gift_source = :gift_source" +
                     std::string(dialect == sql::Dialect::postgresql ? " FOR UPDATE" : ""),
                 use(change.transaction), use(change.gift_source), into(found));
  sql::each_row(statement, [&] { sent_at = found; });
  return sent_at;
}

ConditionalOutcome decide(soci::session& session, sql::Dialect dialect, const StatusChange& change,
                          const AcceptCondition& condition, const TransactionEffect& effect) {
  const std::optional<platform::UtcMillis> sent_at = lock_gift(session, dialect, change);
  if (!sent_at) return ConditionalOutcome::unknown_transaction;
  const std::vector<ChangeSpan> so_far = select_spans(session, dialect, std::span(&change.transaction, 1));
  if (!condition(*sent_at, so_far)) return ConditionalOutcome::refused;
  const StatusChange* one = &change;
  // There already, and still it might be: it was voided. A repeat does not bring it back.
  if (insert_changes(session, dialect, std::span(&one, 1)).empty()) return ConditionalOutcome::refused;
  if (!effect.apply(session)) throw EffectUnavailable();
  enqueue_sync(session, dialect, {change.transaction}, change.received_at);
  return ConditionalOutcome::accepted;
}

}  // namespace

ConditionalOutcome ChangeLog::accept_if(const StatusChange& change, const AcceptCondition& condition,
                                        const TransactionEffect& effect) {
  const StatusChange one = with_ids(std::span(&change, 1)).front();
  try {
    return database_->write_urgent([&](soci::session& session) {
      return decide(session, database_->dialect(), one, condition, effect);
    });
  } catch (const EffectUnavailable&) {
    return ConditionalOutcome::effect_unavailable;
  } catch (const sql::CommitOutcomeUnknown&) {
    if (is_stored(one.id)) return ConditionalOutcome::accepted;
    throw;
  }
}

TransactionEffect ChangeLog::additional_change(const StatusChange& change) {
  const StatusChange one = with_ids(std::span(&change, 1)).front();
  return [one, dialect = database_->dialect()](soci::session& session) {
    const StatusChange* row = &one;
    insert_changes(session, dialect, std::span(&row, 1));
    return true;
  };
}

bool ChangeLog::is_stored(ChangeId id) {
  return database_->read([&](soci::session& session) {
    long long count = 0;
    session << "SELECT count(*) FROM change_log WHERE id = :id", use(id), into(count);
    return count > 0;
  });
}

}  // namespace giftsync::schema::store
