// Admin actions on the change log: list, void and restore changes, purge orphaned ones.
#include "schema/enums.h"
#include "schema/sql/queries.h"
#include "schema/store/gift/change_log.h"
#include "schema/store/gift/change_rows.h"
#include "schema/store/gift/gift_rows.h"
#include "schema/store/gift/orphaned_payloads.h"
#include "schema/store/statements/claims.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

constexpr auto kAuditActions =
    enum_words<AuditAction>({{AuditAction::voided, "voided"}, {AuditAction::restored, "restored"}});

/// Held changes that are discarded in one transaction: other writers get their turn in between.
constexpr std::size_t kPurgeBatchSize = 5000;

/// Orphaned and still waiting: a change whose gift has appeared counts already, even if its row is not
/// updated yet.
const std::string kIsOrphaned = "orphaned = 1 AND NOT " + gift_exists_condition("change_log");

std::int64_t purge_batch(soci::session& session, const std::string& source, UtcMillis before) {
  const std::vector<std::int64_t> ids = sql::select_column<std::int64_t>(
      session,
      "DELETE FROM change_log WHERE id IN (SELECT id FROM change_log WHERE " + kIsOrphaned +
          " AND source = :source AND received_at < :before ORDER BY id LIMIT " +
          std::to_string(kPurgeBatchSize) + ") AND orphaned = 1 RETURNING id",
      use(source), use(before));
  delete_change_details(session, ids);
  return static_cast<std::int64_t>(ids.size());
}

void insert_audit_entry(soci::session& session, ChangeId change, AuditAction kind, const AuditStamp& entry) {
  const std::string what(to_word(kind));
  session
      << "INSERT INTO change_audit (change_id, done_at, action, actor, reason) VALUES (:change, :at, :what, "
         ":who, :reason)",
      use(change), use(entry.at), use(what), use(entry.by), use(entry.reason);
}

/// When two run at the same moment, the second one sees what the first one did.
std::optional<StatusChange> lock_change(soci::session& session, ChangeId id) {
  soci::statement statement(session);
  statement.exchange(use(id));
  return sql::first_of(read_changes(statement, "c.id = :id" + for_update(session)));
}

bool has_orphan_capacity(soci::session& session, const std::string& source) {
  return sql::select_value<std::int64_t>(
             session, "SELECT count(*) FROM change_log WHERE orphaned = 1 AND source = :source",
             use(source)) < kMaxOrphanedChanges;
}

/// Whether a voided change may count under the current rules, as ChangeLog::accept decides for a new one. A
/// source's report on its own gift is valid even if the source was configured for giftsync's gifts at that
/// time.
RestoreOutcome evaluate_restore(soci::session& session, const StatusChange& change) {
  RestoreOutcome outcome{RestoreOutcome::Kind::restored, change.transaction, change.source};
  const auto known = find_gift_sources(session, std::span(&change.transaction, 1));
  const auto gift = known.find(change.transaction);
  if (gift == known.end()) {
    outcome.kind = has_orphan_capacity(session, change.source) ? RestoreOutcome::Kind::orphaned
                                                               : RestoreOutcome::Kind::too_many_orphaned;
  } else if (gift->second != change.gift_source && gift->second != change.source &&
             gift->second != kAdoptedGiftSource) {
    outcome.kind = RestoreOutcome::Kind::other_source;
    outcome.gift_of = gift->second;
  }
  return outcome;
}

}  // namespace

std::string_view to_word(AuditAction kind) {
  return kAuditActions.word_of(kind);
}

void delete_change_details(soci::session& session, const std::vector<std::int64_t>& changes) {
  const std::string list = sql::list_of(session, changes);
  const std::string theirs = sql::in_list(session, "change_id", "ids", false);
  session << "DELETE FROM change_event WHERE " + theirs, use(list);
  session << "DELETE FROM change_audit WHERE " + theirs, use(list);
}

void refold(soci::session& session, TransactionId transaction, UtcMillis now) {
  // The gift before its mark, as every decision about a gift.
  session << "UPDATE recipient_transaction SET due_at = :now WHERE id = :id AND gift_source = '' AND EXISTS "
             "(SELECT 1 FROM gift_request r WHERE r.id = request_id AND r.terms <> '')",
      use(now), use(transaction);
  if (!find_gift_sources(session, std::span(&transaction, 1)).empty())
    enqueue_sync(session, {transaction}, now);
}

void read_audit(soci::session& session, std::vector<StatusChange>& changes) {
  if (changes.empty()) return;
  ChangesById by_id(changes);
  const std::string list = sql::list_of(session, by_id.ids());
  ChangeId id;
  std::string what;
  ChangeAuditEntry entry;
  soci::statement statement =
      sql::bound(session,
                 "SELECT change_id, action, done_at, actor, reason FROM change_audit WHERE " +
                     sql::in_list(session, "change_id", "ids", false) + " ORDER BY id",
                 use(list), into(id), into(what), into(entry.at), into(entry.by), into(entry.reason));
  sql::each_row(statement, [&] {
    entry.kind = kAuditActions.parse(what).value_or(AuditAction::voided);
    by_id.at(id).audit.push_back(entry);
  });
}

std::vector<StatusChange> ChangeLog::list(const ChangeFilter& filter, ChangeOrder order,
                                          std::optional<ChangeId> after, std::size_t limit) {
  const bool newest_first = order == ChangeOrder::newest_first;
  return database_->snapshot([&](soci::session& session) {
    soci::statement statement(session);
    std::string condition = "1 = 1";
    if (after) {
      condition = newest_first ? "c.id < :after" : "c.id > :after";
      statement.exchange(use(*after));
    }
    if (filter.transaction) {
      condition += " AND c.transaction_id = :transaction_id";
      statement.exchange(use(*filter.transaction));
    } else {
      condition += " AND " + test_gift_condition("c.transaction_id", filter.test);
    }
    if (filter.source) {
      condition += " AND c.source = :source";
      statement.exchange(use(*filter.source));
    }
    if (filter.orphaned_only) condition += " AND c.orphaned = 1";
    std::vector<StatusChange> changes =
        read_changes(statement, condition + " ORDER BY c.id" + (newest_first ? " DESC" : "") + " LIMIT " +
                                    std::to_string(limit));
    read_event_ids(session, changes);
    read_audit(session, changes);
    return changes;
  });
}

VoidOutcome ChangeLog::void_change(ChangeId id, const AuditStamp& voiding) {
  return database_->write_urgent([&](soci::session& session) {
    const std::optional<StatusChange> change = lock_change(session, id);
    if (!change) return VoidOutcome::unknown;
    if (change->voiding) return VoidOutcome::already_voided;
    // A voided orphaned change no longer counts against the limit and is not applied later. Its payload
    // stays, since the change may be restored; it is not reprocessed before that.
    session << "UPDATE change_log SET voided_at = :at, voided_by = :by, void_reason = :reason, orphaned = 0 "
               "WHERE id = :id",
        use(voiding.at), use(voiding.by), use(voiding.reason), use(id);
    insert_audit_entry(session, id, AuditAction::voided, voiding);
    refold(session, change->transaction, voiding.at);
    return VoidOutcome::voided;
  });
}

RestoreOutcome ChangeLog::restore_change(ChangeId id, const AuditStamp& restoring) {
  return database_->write_urgent([&](soci::session& session) {
    const std::optional<StatusChange> change = lock_change(session, id);
    if (!change) return RestoreOutcome{};
    if (!change->voiding)
      return RestoreOutcome{RestoreOutcome::Kind::not_voided, change->transaction, change->source};
    RestoreOutcome outcome = evaluate_restore(session, *change);
    const bool is_orphaned = outcome.kind == RestoreOutcome::Kind::orphaned;
    if (!is_orphaned && outcome.kind != RestoreOutcome::Kind::restored) return outcome;
    session << "UPDATE change_log SET voided_at = NULL, voided_by = NULL, void_reason = NULL, orphaned = "
               ":orphaned, "
               "gift_source = CASE WHEN EXISTS (SELECT 1 FROM recipient_transaction t WHERE t.id = "
               "transaction_id AND "
               "t.gift_source = source) THEN source ELSE gift_source END WHERE id = :id",
        use(is_orphaned), use(id);
    insert_audit_entry(session, id, AuditAction::restored, restoring);
    refold(session, change->transaction, restoring.at);
    return outcome;
  });
}

std::int64_t ChangeLog::count_orphaned(const std::string& source, UtcMillis received_before) {
  return database_->read([&](soci::session& session) {
    return sql::select_value<std::int64_t>(session,
                                           "SELECT count(*) FROM change_log WHERE " + kIsOrphaned +
                                               " AND source = :source AND received_at < :before",
                                           use(source), use(received_before));
  });
}

std::int64_t ChangeLog::purge_orphaned(const std::string& source, UtcMillis received_before) {
  const std::int64_t discarded = database_->write_in_batches(
      [&](soci::session& session) { return purge_batch(session, source, received_before); });
  orphan_capacity_.forget();
  database_->write_in_batches([&](soci::session& session) {
    return delete_unreferenced_payloads(session, source, received_before, kPurgeBatchSize);
  });
  return discarded;
}

}  // namespace giftsync::store
