// Ends claims of the sync queue: saves their sync states and releases or deletes the rows.
#include <set>

#include "schema/sql/bulk_rows.h"
#include "schema/sql/queries.h"
#include "schema/store/leases.h"
#include "schema/store/sync_queue.h"

namespace giftsync::schema::store {
namespace {

using soci::use;
using Type = sql::BulkRows::Type;

/// Not over a decision that an admin's command saved meanwhile.
void clear_lookups(soci::session& session, const CrmSyncState& sync_state) {
  const MatchDecision& d = sync_state.decision;
  session << "UPDATE crm_sync_state SET contact_id = :contact, account_id = :account, lead_id = :lead, "
             "opportunity_id = :opportunity, deal_stage = :stage, sender_id = :sender, needs_relink = :needs "
             "WHERE transaction_id = :id AND decided_at = :decided",
      use(d.contact_id), use(d.account_id), use(d.lead_id), use(d.opportunity_id), use(d.deal_stage),
      use(d.sender_id), use(sync_state.needs_relink), use(sync_state.transaction), use(sync_state.decided_at);
}

/// Only of gifts that are still claimed by `owner`: another one has taken over the others.
void update_sync_states(soci::session& session, sql::Dialect dialect, const std::string& owner,
                        std::span<const SyncClose> closes) {
  sql::BulkRows rows(dialect, {{"transaction_id", Type::integer},
                               {"state", Type::text},
                               {"written_version", Type::integer},
                               {"error", Type::text},
                               {"warnings", Type::text},
                               {"task", Type::text},
                               {"crm_id", Type::text},
                               {"task_crm_id", Type::text},
                               {"lease_owner", Type::text}});
  for (const SyncClose& close : closes) {
    if (!close.sync_state) continue;
    const CrmSyncState& sync_state = *close.sync_state;
    rows.add({sync_state.transaction.value, to_word(sync_state.state), sync_state.written_version,
              sync_state.error, sync_state.decision.warnings, to_word(sync_state.task), sync_state.crm_id,
              sync_state.task_crm_id, owner});
  }
  const std::string is_held =
      " AND EXISTS (SELECT 1 FROM crm_outbox o WHERE o.transaction_id = m.transaction_id AND o.lease_owner "
      "= ";
  rows.run(
      session,
      "UPDATE crm_sync_state AS m SET state = :state, written_version = :written_version, error = :error, "
      "warnings = :warnings, task = :task, crm_id = :crm_id, task_crm_id = :task_crm_id WHERE transaction_id "
      "= :transaction_id AND written_version <= "
      ":written_version" +
          is_held + ":lease_owner)",
      "UPDATE crm_sync_state m SET state = input_row.state, written_version = input_row.written_version, "
      "error = input_row.error, warnings = input_row.warnings, task = input_row.task, crm_id = "
      "input_row.crm_id, task_crm_id = input_row.task_crm_id FROM " +
          rows.as_table() +
          " WHERE m.transaction_id = input_row.transaction_id AND m.written_version <= "
          "input_row.written_version" +
          is_held + "input_row.lease_owner)");
}

/// Deletes claims whose work is done, unless another change arrived meanwhile ("mark_seq"); returns the
/// deleted ones.
std::set<TransactionId> delete_completed(soci::session& session, sql::Dialect dialect,
                                         const std::string& owner, std::span<const SyncClose> closes) {
  sql::BulkRows rows(
      dialect, {{"transaction_id", Type::integer}, {"mark_seq", Type::integer}, {"lease_owner", Type::text}});
  for (const SyncClose& close : closes) {
    if (close.done) rows.add({close.claim.transaction.value, close.claim.mark_seq, owner});
  }
  std::set<TransactionId> ended;
  for (const std::int64_t id : rows.run_returning_keys(
           session,
           "DELETE FROM crm_outbox WHERE transaction_id = :transaction_id AND lease_owner = :lease_owner AND "
           "mark_seq = :mark_seq",
           "DELETE FROM crm_outbox m USING " + rows.as_table() +
               " WHERE m.transaction_id = input_row.transaction_id AND m.lease_owner = "
               "input_row.lease_owner AND m.mark_seq = input_row.mark_seq RETURNING m.transaction_id"))
    ended.insert({id});
  return ended;
}

/// Releases the others; failed ones are retried later, unless another change arrived meanwhile.
void release_claims(soci::session& session, sql::Dialect dialect, const std::string& owner,
                    std::span<const SyncClose> closes, const std::set<TransactionId>& ended) {
  sql::BulkRows failed(dialect, {{"transaction_id", Type::integer},
                                 {"mark_seq", Type::integer},
                                 {"lease_owner", Type::text},
                                 {"attempt", Type::integer},
                                 {"next_attempt_at", Type::integer},
                                 {"last_error", Type::text},
                                 {"is_rejected", Type::integer},
                                 {"failed_at", Type::integer}});
  sql::BulkRows released(dialect, {{"transaction_id", Type::integer}, {"lease_owner", Type::text}});
  sql::BulkRows released_clean(dialect, {{"transaction_id", Type::integer}, {"lease_owner", Type::text}});
  for (const SyncClose& close : closes) {
    const std::int64_t id = close.claim.transaction.value;
    if (!close.done)
      failed.add({id, close.claim.mark_seq, owner, std::int64_t{close.is_attempt}, close.retry_at.value,
                  close.error, std::int64_t{close.is_rejected}, close.failed_at.value});
    if (!ended.contains(close.claim.transaction)) (close.done ? released_clean : released).add({id, owner});
  }
  const std::string mine = "transaction_id = :transaction_id AND lease_owner = :lease_owner";
  const std::string given =
      "m.transaction_id = input_row.transaction_id AND m.lease_owner = input_row.lease_owner";
  failed.run(session,
             "UPDATE crm_outbox SET attempts = attempts + :attempt, next_attempt_at = :next_attempt_at, "
             "last_error = :last_error, is_rejected = :is_rejected, failed_at = CASE WHEN :failed_at = 0 "
             "THEN failed_at ELSE :failed_at END, failing_since = " +
                 failing_since(dialect) + " WHERE " + mine + " AND mark_seq = :mark_seq",
             "UPDATE crm_outbox m SET attempts = m.attempts + input_row.attempt, next_attempt_at = "
             "input_row.next_attempt_at, last_error = input_row.last_error, is_rejected = "
             "input_row.is_rejected, failed_at = CASE WHEN input_row.failed_at = 0 THEN m.failed_at ELSE "
             "input_row.failed_at END, failing_since = " +
                 failing_since(dialect) + " FROM " + failed.as_table() + " WHERE " + given +
                 " AND m.mark_seq = input_row.mark_seq");
  const auto free = [&](sql::BulkRows& rows, const std::string& set) {
    rows.run(session, "UPDATE crm_outbox SET " + set + " WHERE " + mine,
             "UPDATE crm_outbox m SET " + set + " FROM " + rows.as_table() + " WHERE " + given);
  };
  free(released, "lease_owner = '', lease_until = 0");
  free(released_clean,
       "lease_owner = '', lease_until = 0, last_error = '', is_rejected = 0, failing_since = 0, failed_at = "
       "0");
}

/// In the order in which other transactions enqueue and release them (ARCH-40).
void lock_claims(soci::session& session, sql::Dialect dialect, std::span<const SyncClose> closes) {
  std::vector<std::int64_t> ids;
  for (const SyncClose& close : closes) ids.push_back(close.claim.transaction.value);
  lock_in_order(session, dialect, kCrmOutbox, ids);
}

}  // namespace

void SyncQueue::close(const std::string& owner, std::span<const SyncClose> closes) {
  if (closes.empty()) return;
  database_->write([&](soci::session& session) {
    update_sync_states(session, database_->dialect(), owner, closes);
    for (const SyncClose& close : closes) {
      if (close.sync_state && close.has_cleared_lookups) clear_lookups(session, *close.sync_state);
    }
    lock_claims(session, database_->dialect(), closes);
    const std::set<TransactionId> ended = delete_completed(session, database_->dialect(), owner, closes);
    release_claims(session, database_->dialect(), owner, closes, ended);
  });
}

}  // namespace giftsync::schema::store
