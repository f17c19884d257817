// The conditional accept: deciding about a gift and writing the outcome down are one transaction.
#include "schema/sql/queries.h"
#include "schema/store/gift/change_log.h"
#include "schema/store/gift/change_rows.h"
#include "schema/store/statements/claims.h"

namespace giftsync::store {
namespace {

using soci::use;

/// Concurrent decisions about this gift wait here until this transaction has ended, and then see its result.
/// On SQLite the transaction is alone anyway.
std::optional<UtcMillis> lock_gift(soci::session& session, const StatusChange& change) {
  return sql::first_of(sql::select_column<UtcMillis>(
      session,
      "SELECT sent_at FROM recipient_transaction WHERE id = :id AND gift_source = :gift_source" +
          for_update(session),
      use(change.transaction), use(change.gift_source)));
}

}  // namespace

ConditionalOutcome decide(soci::session& session, const StatusChange& change,
                          const AcceptCondition& condition, const TransactionEffect& effect) {
  const std::optional<UtcMillis> sent_at = lock_gift(session, change);
  if (!sent_at) return ConditionalOutcome::unknown_transaction;
  const std::vector<ChangeSpan> so_far = select_spans(session, std::span(&change.transaction, 1));
  if (!condition(*sent_at, so_far)) return ConditionalOutcome::refused;
  const StatusChange* status_change = &change;
  // There already, and still it might be: it was voided. A repeat does not bring it back.
  if (insert_changes(session, std::span(&status_change, 1)).empty()) return ConditionalOutcome::refused;
  if (!effect.apply(session)) throw EffectUnavailable();
  return ConditionalOutcome::accepted;
}

ConditionalOutcome ChangeLog::accept_if(const StatusChange& change, const AcceptCondition& condition,
                                        const TransactionEffect& effect) {
  const StatusChange status_change = with_ids(std::span(&change, 1)).front();
  try {
    return decide_alone(status_change, condition, effect);
  } catch (const sql::CommitOutcomeUnknown&) {
    if (is_stored(status_change.id)) return ConditionalOutcome::accepted;
    throw;
  }
}

ConditionalOutcome ChangeLog::decide_alone(const StatusChange& with_id, const AcceptCondition& condition,
                                           const TransactionEffect& effect) {
  try {
    return database_->write_urgent([&](soci::session& session) {
      const ConditionalOutcome outcome = decide(session, with_id, condition, effect);
      if (outcome == ConditionalOutcome::accepted)
        enqueue_sync(session, {with_id.transaction}, with_id.received_at);
      return outcome;
    });
  } catch (const EffectUnavailable&) {
    return ConditionalOutcome::effect_unavailable;
  }
}

TransactionEffect ChangeLog::additional_change(const StatusChange& change) {
  const StatusChange status_change = with_ids(std::span(&change, 1)).front();
  return [status_change](soci::session& session) {
    const StatusChange* row = &status_change;
    insert_changes(session, std::span(&row, 1));
    return true;
  };
}

bool ChangeLog::is_stored(ChangeId id) {
  return database_->read(
      [&](soci::session& session) { return sql::has_row(session, "change_log WHERE id = :id", use(id)); });
}

}  // namespace giftsync::store
