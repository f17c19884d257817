// What an admin does with the log of changes: looks at it, voids a change and restores it, discards held
// ones.

#include "schema/spelling.h"
#include "schema/sql/database.h"
#include "schema/store/change_log.h"
#include "schema/store/change_rows.h"
#include "schema/store/held_reports.h"

namespace giftsync::schema {
namespace {

using soci::into;
using soci::use;

constexpr auto kReviewKinds =
    spelling<ReviewKind>({{ReviewKind::voided, "voided"}, {ReviewKind::restored, "restored"}});

/// Held changes that are discarded in one transaction: other writers get their turn in between.
constexpr std::size_t kDiscardedAtOnce = 5000;

/// Held, and really waiting: one whose gift has appeared counts already, though its row may not say so yet.
const std::string kWaiting = "held = 1 AND NOT " + sql::exists_for("change_log");

std::int64_t discard_some(soci::session& session, Dialect dialect, const std::string& source,
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
  sql::forget_traces(session, dialect, ids);
  return static_cast<std::int64_t>(ids.size());
}

void insert_review(soci::session& session, ChangeId change, ReviewKind kind, const Review& review) {
  const std::string what(to_word(kind));
  session << "INSERT INTO change_review (change_id, done_at, what, who, reason) VALUES (:change, :at, :what, "
             ":who, :reason)",
      use(change), use(review.at), use(what), use(review.by), use(review.reason);
}

/// Of two who review it at the same moment the second sees what the first did.
std::optional<StatusChange> locked_change(soci::session& session, Dialect dialect, ChangeId id) {
  sql::ChangeRow row;
  soci::statement statement(session);
  statement.exchange(use(id));
  row.bind(statement);
  statement.alloc();
  statement.prepare("SELECT " + std::string(sql::ChangeRow::kColumns) +
                        " FROM change_log c WHERE c.id = :id" +
                        (dialect == Dialect::postgresql ? " FOR UPDATE" : ""),
                    sql::kRunOnce);
  statement.define_and_bind();
  std::optional<StatusChange> found;
  sql::each_row(statement, [&] { found = row.value(); });
  return found;
}

bool has_room_to_hold(soci::session& session, const std::string& source) {
  long long held = 0;
  session << "SELECT count(*) FROM change_log WHERE held = 1 AND source = :source", use(source), into(held);
  return held < kMaxHeldChanges;
}

/// Whether a voided change may count, as things are now: as ChangeLog::accept decides about one that comes.
/// What its source said of its own gift is right even if the source was thought to report on ours then.
RestoreOutcome restorable(soci::session& session, Dialect dialect, const StatusChange& change) {
  RestoreOutcome outcome{RestoreOutcome::Kind::restored, change.transaction, change.source};
  const auto known = sql::known_transactions(session, dialect, std::span(&change.transaction, 1));
  const auto gift = known.find(change.transaction);
  if (gift == known.end()) {
    outcome.kind = has_room_to_hold(session, change.source) ? RestoreOutcome::Kind::held
                                                            : RestoreOutcome::Kind::too_many_held;
  } else if (gift->second != change.origin && gift->second != change.source &&
             gift->second != kAdoptedOrigin) {
    outcome.kind = RestoreOutcome::Kind::other_origin;
    outcome.gift_of = gift->second;
  }
  return outcome;
}

}  // namespace

std::string_view to_word(ReviewKind kind) {
  return kReviewKinds.of(kind);
}

namespace sql {

void forget_traces(soci::session& session, Dialect dialect, const std::vector<std::int64_t>& changes) {
  const std::string list = list_of(dialect, changes);
  const std::string theirs = in_list(dialect, "change_id", "ids", false);
  session << "DELETE FROM change_event WHERE " + theirs, use(list);
  session << "DELETE FROM change_review WHERE " + theirs, use(list);
}

void reckon_anew(soci::session& session, Dialect dialect, TransactionId transaction, UtcMillis now) {
  if (!known_transactions(session, dialect, std::span(&transaction, 1)).empty())
    mark_for_sync(session, dialect, {transaction}, now);
  session << "UPDATE recipient_transaction SET due_at = :now WHERE id = :id AND origin = '' AND EXISTS "
             "(SELECT 1 FROM gift_request r WHERE r.id = request_id AND r.terms <> '')",
      use(now), use(transaction);
}

void read_reviews(soci::session& session, Dialect dialect, std::vector<StatusChange>& changes) {
  if (changes.empty()) return;
  ChangesById by_id(changes);
  const std::string list = list_of(dialect, by_id.ids());
  ChangeId id;
  std::string what;
  ChangeReview review;
  soci::statement statement =
      bound(session,
            "SELECT change_id, what, done_at, who, reason FROM change_review WHERE " +
                in_list(dialect, "change_id", "ids", false) + " ORDER BY id",
            use(list), into(id), into(what), into(review.at), into(review.by), into(review.reason));
  each_row(statement, [&] {
    review.kind = kReviewKinds.read(what).value_or(ReviewKind::voided);
    by_id.at(id).reviews.push_back(review);
  });
}

}  // namespace sql

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
    sql::read_reviews(session, database_->dialect(), changes);
    return changes;
  });
}

VoidOutcome ChangeLog::void_change(ChangeId id, const Review& voiding) {
  const Dialect dialect = database_->dialect();
  return database_->write_urgently([&](soci::session& session) {
    const std::optional<StatusChange> change = locked_change(session, dialect, id);
    if (!change) return VoidOutcome::unknown;
    if (change->voiding) return VoidOutcome::was_voided;
    // A held one is held no more: it shall not take a place, nor be applied later. Its report stays: the
    // change may be restored, or the report judged again.
    session << "UPDATE change_log SET voided_at = :at, voided_by = :by, void_reason = :reason, held = 0 "
               "WHERE id = :id",
        use(voiding.at), use(voiding.by), use(voiding.reason), use(id);
    insert_review(session, id, ReviewKind::voided, voiding);
    sql::reckon_anew(session, dialect, change->transaction, voiding.at);
    return VoidOutcome::voided;
  });
}

RestoreOutcome ChangeLog::restore_change(ChangeId id, const Review& restoring) {
  const Dialect dialect = database_->dialect();
  return database_->write_urgently([&](soci::session& session) {
    const std::optional<StatusChange> change = locked_change(session, dialect, id);
    if (!change) return RestoreOutcome{};
    if (!change->voiding)
      return RestoreOutcome{RestoreOutcome::Kind::was_not_voided, change->transaction, change->source};
    RestoreOutcome outcome = restorable(session, dialect, *change);
    const bool is_held = outcome.kind == RestoreOutcome::Kind::held;
    if (!is_held && outcome.kind != RestoreOutcome::Kind::restored) return outcome;
    const long long held = is_held ? 1 : 0;
    session
        << "UPDATE change_log SET voided_at = NULL, voided_by = NULL, void_reason = NULL, held = :held, "
           "origin = CASE WHEN EXISTS (SELECT 1 FROM recipient_transaction t WHERE t.id = transaction_id AND "
           "t.origin = source) THEN source ELSE origin END WHERE id = :id",
        use(held), use(id);
    insert_review(session, id, ReviewKind::restored, restoring);
    sql::reckon_anew(session, dialect, change->transaction, restoring.at);
    return outcome;
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
  const std::int64_t discarded = database_->write_in_parts([&](soci::session& session) {
    return discard_some(session, database_->dialect(), source, received_before);
  });
  database_->write_in_parts([&](soci::session& session) {
    return sql::forget_reports_of_none_held(session, source, received_before, kDiscardedAtOnce);
  });
  return discarded;
}

}  // namespace giftsync::schema
