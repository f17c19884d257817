// How claims of the sync queue end: with what is kept of their mirrors, and whether they are free or gone.
#include <set>

#include "schema/sql/bulk_rows.h"
#include "schema/sql/database.h"
#include "schema/store/sync_queue.h"

namespace giftsync::schema {
namespace {

using soci::use;
using sql::BulkRows;
using Type = BulkRows::Type;

/// Not over a decision that an admin's command made meanwhile.
void clear_lookups(soci::session& session, const GiftMirror& mirror) {
  const MatchDecision& d = mirror.decision;
  const long long needs_rematch = mirror.needs_rematch ? 1 : 0;
  session
      << "UPDATE gift_mirror SET contact_id = :contact, account_id = :account, lead_id = :lead, "
         "opportunity_id = :opportunity, deal_stage = :stage, sender_id = :sender, needs_rematch = :needs "
         "WHERE transaction_id = :id AND decided_at = :decided",
      use(d.contact_id), use(d.account_id), use(d.lead_id), use(d.opportunity_id), use(d.deal_stage),
      use(d.sender_id), use(needs_rematch), use(mirror.transaction), use(mirror.decided_at);
}

void update_mirrors(soci::session& session, Dialect dialect, std::span<const SyncClose> closes) {
  BulkRows rows(dialect, {{"transaction_id", Type::integer},
                          {"state", Type::text},
                          {"written_version", Type::integer},
                          {"error", Type::text},
                          {"warnings", Type::text},
                          {"task", Type::text}});
  for (const SyncClose& close : closes) {
    if (!close.mirror) continue;
    const GiftMirror& mirror = *close.mirror;
    rows.add({mirror.transaction.value, to_word(mirror.state), mirror.written_version, mirror.error,
              mirror.decision.warnings, to_word(mirror.task)});
  }
  rows.run(session,
           "UPDATE gift_mirror SET state = :state, written_version = :written_version, error = :error, "
           "warnings = :warnings, task = :task WHERE transaction_id = :transaction_id AND written_version <= "
           ":written_version",
           "UPDATE gift_mirror m SET state = row_given.state, written_version = row_given.written_version, "
           "error = row_given.error, warnings = row_given.warnings, task = row_given.task FROM " +
               rows.as_table() +
               " WHERE m.transaction_id = row_given.transaction_id AND m.written_version <= "
               "row_given.written_version");
}

/// Ends claims whose work is done, unless another change came meanwhile, which "seq" tells; returns which
/// have ended.
std::set<TransactionId> delete_done(soci::session& session, Dialect dialect, const std::string& owner,
                                    std::span<const SyncClose> closes) {
  BulkRows rows(dialect,
                {{"transaction_id", Type::integer}, {"seq", Type::integer}, {"lease_owner", Type::text}});
  for (const SyncClose& close : closes) {
    if (close.done) rows.add({close.claim.transaction.value, close.claim.seq, owner});
  }
  std::set<TransactionId> ended;
  for (const std::int64_t id : rows.run_touching(
           session,
           "DELETE FROM sync_mark WHERE transaction_id = :transaction_id AND lease_owner = :lease_owner AND "
           "seq = :seq",
           "DELETE FROM sync_mark m USING " + rows.as_table() +
               " WHERE m.transaction_id = row_given.transaction_id AND m.lease_owner = "
               "row_given.lease_owner AND m.seq = row_given.seq RETURNING m.transaction_id"))
    ended.insert({id});
  return ended;
}

/// The others are free again; what failed is tried later, unless another change came meanwhile.
void free_claims(soci::session& session, Dialect dialect, const std::string& owner,
                 std::span<const SyncClose> closes, const std::set<TransactionId>& ended) {
  BulkRows failed(dialect, {{"transaction_id", Type::integer},
                            {"seq", Type::integer},
                            {"lease_owner", Type::text},
                            {"due_at", Type::integer},
                            {"last_error", Type::text}});
  BulkRows freed(dialect, {{"transaction_id", Type::integer}, {"lease_owner", Type::text}});
  BulkRows freed_well(dialect, {{"transaction_id", Type::integer}, {"lease_owner", Type::text}});
  for (const SyncClose& close : closes) {
    const std::int64_t id = close.claim.transaction.value;
    if (!close.done) failed.add({id, close.claim.seq, owner, close.retry_at.value, close.error});
    if (!ended.contains(close.claim.transaction)) (close.done ? freed_well : freed).add({id, owner});
  }
  const std::string mine = "transaction_id = :transaction_id AND lease_owner = :lease_owner";
  const std::string given =
      "m.transaction_id = row_given.transaction_id AND m.lease_owner = row_given.lease_owner";
  failed.run(
      session,
      "UPDATE sync_mark SET attempts = attempts + 1, due_at = :due_at, last_error = :last_error WHERE " +
          mine + " AND seq = :seq",
      "UPDATE sync_mark m SET attempts = m.attempts + 1, due_at = row_given.due_at, last_error = "
      "row_given.last_error FROM " +
          failed.as_table() + " WHERE " + given + " AND m.seq = row_given.seq");
  const auto free = [&](BulkRows& rows, const std::string& set) {
    rows.run(session, "UPDATE sync_mark SET " + set + " WHERE " + mine,
             "UPDATE sync_mark m SET " + set + " FROM " + rows.as_table() + " WHERE " + given);
  };
  free(freed, "lease_owner = '', lease_until = 0");
  free(freed_well, "lease_owner = '', lease_until = 0, last_error = ''");
}

}  // namespace

void SyncQueue::close(const std::string& owner, std::span<const SyncClose> closes) {
  if (closes.empty()) return;
  database_->write([&](soci::session& session) {
    update_mirrors(session, database_->dialect(), closes);
    for (const SyncClose& close : closes) {
      if (close.mirror && close.lookups_cleared) clear_lookups(session, *close.mirror);
    }
    const std::set<TransactionId> ended = delete_done(session, database_->dialect(), owner, closes);
    free_claims(session, database_->dialect(), owner, closes, ended);
  });
}

}  // namespace giftsync::schema
