#include "schema/store/gift/sync_queue.h"

#include <unordered_map>
#include <unordered_set>

#include "schema/sql/bulk_rows.h"
#include "schema/sql/queries.h"
#include "schema/store/gift/change_rows.h"
#include "schema/store/gift/gift_rows.h"
#include "schema/store/gift/sending_usage.h"
#include "schema/store/statements/bounded_queries.h"
#include "schema/store/statements/claims.h"
#include "schema/store/statements/rollup_deltas.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;
using Type = sql::BulkRows::Type;

/// The marks that are due after `latest`, in the expression of the index crm_outbox_due.
ScheduledRows scheduled_after(UtcMillis latest, bool is_rejected) {
  return {.table = "crm_outbox",
          .key = "transaction_id",
          .condition = "(next_attempt_at / 10000) >= " + std::to_string(latest.value / 10000) +
                       " AND next_attempt_at > :latest AND is_rejected = " + (is_rejected ? "1" : "0"),
          .order = "(next_attempt_at / 10000), transaction_id",
          .assignments = "next_attempt_at = :now"};
}

/// The condition of marks that are not below the floor, in the expression of the index crm_outbox_due.
std::string from(std::optional<UtcMillis> floor) {
  return floor ? "(next_attempt_at / 10000) >= " + std::to_string(floor->value / 10000) + " AND " : "";
}

std::string smallest_due(std::optional<UtcMillis> above) {
  return "SELECT next_attempt_at FROM crm_outbox WHERE " + from(above) +
         "true ORDER BY (next_attempt_at / 10000), transaction_id LIMIT 1";
}

}  // namespace

SyncQueue::SyncQueue(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

std::vector<SyncClaim> SyncQueue::claim(const std::string& owner, std::int64_t lease_millis,
                                        std::size_t limit, UtcMillis now) {
  const sql::Dialect dialect = database_->dialect();
  const std::string clock(sql::database_now(dialect));
  // The expression of the index crm_outbox_due, so that neither query scans the marks that are not due yet.
  const std::string is_due = from(find_floor(*database_, floor_, now, smallest_due)) +
                             "(next_attempt_at / 10000) <= " + std::to_string(now.value / 10000) +
                             " AND next_attempt_at <= :now AND lease_until < " + clock;
  const std::string due = "SELECT transaction_id FROM crm_outbox WHERE " + is_due +
                          " ORDER BY (next_attempt_at / 10000), transaction_id LIMIT " +
                          std::to_string(limit) + for_update(dialect, " SKIP LOCKED");
  const auto has_due = [&](soci::session& session) {
    return sql::has_row(session, "crm_outbox WHERE " + is_due, use(now));
  };
  std::vector<SyncClaim> claims = write_if_any(*database_, has_due, [&](soci::session& session) {
    SyncClaim row;
    return sql::select_rows(
        row, session,
        "UPDATE crm_outbox SET lease_owner = :owner, lease_until = " + clock +
            " + :lease WHERE transaction_id " + sql::in_subquery(session, due) +
            " RETURNING transaction_id, mark_seq, attempts, CASE WHEN failing_since > 0 AND "
            "failing_since < next_attempt_at THEN failing_since ELSE next_attempt_at END, CASE to_fold WHEN "
            "2 THEN 1 ELSE 0 END",
        use(owner), use(lease_millis), use(now), into(row.transaction), into(row.mark_seq),
        into(row.attempts), into(row.due_since), into(row.is_folded));
  });
  floor_.count(claims.size());
  return claims;
}

std::vector<SyncClaim> SyncQueue::renew(const std::string& owner, std::int64_t lease_millis,
                                        std::span<const SyncClaim> claims) {
  if (claims.empty()) return {};
  const sql::Dialect dialect = database_->dialect();
  const std::string clock(sql::database_now(dialect));
  std::vector<std::int64_t> wanted;
  for (const SyncClaim& claim : claims) wanted.push_back(claim.transaction.value);
  const std::string list = sql::list_of(dialect, wanted);
  const std::string is_mine =
      sql::in_list(dialect, "transaction_id", "ids", false) + " AND lease_owner = :owner";
  const std::string half = clock + " + " + std::to_string(lease_millis / 2);
  const auto held_until = [&](const std::string& condition) {
    return database_->read([&](soci::session& session) {
      return sql::select_column<std::int64_t>(
          session, "SELECT transaction_id FROM crm_outbox WHERE " + is_mine + condition, use(list),
          use(owner));
    });
  };
  std::vector<std::int64_t> held = held_until(" AND lease_until >= " + half);
  if (held.size() < claims.size()) {
    const std::string update =
        ordered_update(dialect, kCrmOutbox, "lease_until = " + clock + " + " + std::to_string(lease_millis),
                       is_mine) +
        " RETURNING transaction_id";
    held = database_->write([&](soci::session& session) {
      return sql::select_column<std::int64_t>(session, update, use(list), use(owner));
    });
  }
  const std::unordered_set<std::int64_t> ids(held.begin(), held.end());
  std::vector<SyncClaim> kept;
  for (const SyncClaim& claim : claims) {
    if (ids.contains(claim.transaction.value)) kept.push_back(claim);
  }
  return kept;
}

namespace {

/// A refund gives its value back to the budgets; a voided one takes it again (GUARD-11).
void count_refunds(soci::session& session, std::span<const FoldedState> folded,
                   const std::vector<TransactionId>& saved) {
  const std::unordered_set<TransactionId> ids(saved.begin(), saved.end());
  std::vector<TransactionId> refunded;
  std::vector<TransactionId> voided;
  for (const FoldedState& state : folded) {
    if (!ids.contains(state.transaction) || state.status == state.from_status) continue;
    if (state.status == Status::refunded) refunded.push_back(state.transaction);
    if (state.from_status == Status::refunded) voided.push_back(state.transaction);
  }
  insert_adjustments(session, refunded, -1);
  insert_adjustments(session, voided, 1);
}

/// What the folds change of the counts of reports (NUM-3).
void insert_rollup_deltas(soci::session& session, std::span<const FoldedState> folded,
                          const std::vector<TransactionId>& saved) {
  const std::unordered_set<TransactionId> ids(saved.begin(), saved.end());
  RollupDeltas deltas;
  for (const FoldedState& state : folded) {
    if (!state.counted || !ids.contains(state.transaction)) continue;
    CountedGift gift = *state.counted;
    deltas.subtract(gift.by, numbers_of(gift));
    gift.by.day = utc_day(*state.times[Status::sent]);
    gift.status = state.status;
    gift.times = state.times;
    deltas.add(gift);
  }
  deltas.rows(session).run(session);
}

}  // namespace

std::vector<TransactionId> save_folded_rows(soci::session& session, std::span<const FoldedState> folded) {
  if (folded.empty()) return {};
  sql::BulkRows rows(session, {{"id", Type::integer},
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
                               {"due_at", Type::integer},
                               {"published", Type::text}});
  for (const FoldedState& folded_state : folded) {
    const auto time = [&](Status status) {
      const auto& found = folded_state.times[status];
      return found ? sql::Cell(found->value) : sql::Cell();
    };
    rows.add({folded_state.transaction.value, folded_state.from_version, to_word(folded_state.status),
              time(Status::sent), time(Status::delivered), time(Status::undelivered), time(Status::opened),
              time(Status::redeemed), time(Status::donated), time(Status::expired), time(Status::refunded),
              std::int64_t{folded_state.has_conflict},
              folded_state.due_at ? sql::Cell(folded_state.due_at->value) : sql::Cell(),
              folded_state.published ? sql::Cell(std::string_view(*folded_state.published)) : sql::Cell()});
  }
  const auto assignments = [](const std::string& given) {
    std::string text = "version = t.version + 1, published = coalesce(" + given + "published, t.published)";
    for (const char* column :
         {"status", "sent_at", "delivered_at", "undelivered_at", "opened_at", "redeemed_at", "donated_at",
          "expired_at", "refunded_at", "has_conflict", "due_at"})
      text += std::string(", ") + column + " = " + given + column;
    return text;
  };
  const std::vector<std::int64_t> saved = rows.run_returning_keys(
      session,
      "UPDATE recipient_transaction AS t SET " + assignments(":") + " WHERE id = :id AND version = :version",
      "UPDATE recipient_transaction t SET " + assignments("input_row.") + " FROM " + rows.as_table() +
          " WHERE t.id = input_row.id AND t.version = input_row.version RETURNING t.id");
  std::vector<TransactionId> ids;
  for (const std::int64_t id : saved) ids.push_back({id});
  count_refunds(session, folded, ids);
  insert_rollup_deltas(session, folded, ids);
  return ids;
}

std::vector<TransactionId> SyncQueue::save_folded(std::span<const FoldedState> folded) {
  if (folded.empty()) return {};
  return database_->write([&](soci::session& session) {
    std::vector<std::int64_t> gifts;
    for (const FoldedState& state : folded) gifts.push_back(state.transaction.value);
    lock_gifts(session, gifts);
    return save_folded_rows(session, folded);
  });
}

namespace {

std::vector<WaitingGift> read_waiting(soci::session& session, const std::vector<TransactionId>& ids) {
  std::vector<WaitingGift> gifts;
  std::unordered_map<TransactionId, std::size_t> places;
  sql::PreparedQuery row(session,
                         gifts_query(sql::in_list(session, "t.id", "list", false) + " ORDER BY t.id"));
  row.each_row({sql::list_of(session, ids)}, [&] {
    places.emplace(TransactionId{row.integer(0)}, gifts.size());
    gifts.push_back({gift_in(row)});
  });
  for (const ChangeSpan& span : select_spans(session, ids)) {
    const auto place = places.find(span.transaction);
    if (place != places.end()) gifts[place->second].spans.push_back(span);
  }
  return gifts;
}

}  // namespace

FoldRun SyncQueue::fold_waiting(TransactionId after, std::size_t limit, UtcMillis came_before,
                                const FoldFunction& fold) {
  // With the condition of the index crm_outbox_to_fold. Also what the sync has put off, which leaves the
  // index so: it may be a million marks, for hours.
  const std::string waiting =
      "crm_outbox WHERE to_fold = 1 AND transaction_id > :after AND (next_attempt_at < :before OR "
      "last_error <> '')";
  const auto has_waiting = [&](soci::session& session) {
    return sql::has_row(session, waiting, use(after, "after"), use(came_before, "before"));
  };
  return write_if_any(*database_, has_waiting, [&](soci::session& session) {
    // As the feed takes its marks: what changes such a gift waits until this transaction has ended, and then
    // marks it again.
    FoldRun run;
    const auto ids = sql::select_column<TransactionId>(
        session,
        "SELECT transaction_id FROM " + waiting + " ORDER BY transaction_id LIMIT " + std::to_string(limit) +
            for_update(session, " SKIP LOCKED"),
        use(after, "after"), use(came_before, "before"));
    run.taken = ids.size();
    if (ids.empty()) return run;
    run.last = ids.back();
    const std::vector<WaitingGift> gifts = read_waiting(session, ids);
    std::unordered_set<std::int64_t> done;
    for (const TransactionId id : ids) done.insert(id.value);
    std::vector<std::int64_t> to_save;
    for (std::optional<FoldedState>& state : fold(gifts)) {
      if (!state) continue;
      to_save.push_back(state->transaction.value);
      run.folded.push_back(std::move(*state));
    }
    for (const std::int64_t id : to_save) done.erase(id);
    const std::unordered_set<std::int64_t> free = lock_free_gifts(session, to_save);
    std::erase_if(run.folded,
                  [&](const FoldedState& state) { return !free.contains(state.transaction.value); });
    for (const TransactionId id : save_folded_rows(session, run.folded)) done.insert(id.value);
    std::erase_if(run.folded,
                  [&](const FoldedState& state) { return !done.contains(state.transaction.value); });
    const std::string list = sql::list_of(session, done);
    // A former daemon does not say that another change came: then the sync folds the gift again.
    const std::string folded = has_former_daemon(session) ? "0" : "2";
    session << "UPDATE crm_outbox SET to_fold = " + folded + " WHERE " +
                   sql::in_list(session, "transaction_id", "ids", false),
        use(list);
    return run;
  });
}

void SyncQueue::end_debounce(UtcMillis now) {
  ScheduledRows waiting = scheduled_after(now, false);
  waiting.condition += " AND attempts = 0";
  store::reset_scheduled_after(*database_, waiting, now, now);
}

std::int64_t SyncQueue::reset_scheduled_after(UtcMillis latest, UtcMillis now,
                                              const std::optional<AuditEvent>& audit) {
  return store::reset_scheduled_after(*database_, scheduled_after(latest, false), latest, now, audit);
}

std::int64_t SyncQueue::reset_rejected_after(UtcMillis latest, UtcMillis now,
                                             const std::optional<AuditEvent>& audit) {
  return store::reset_scheduled_after(*database_, scheduled_after(latest, true), latest, now, audit);
}

std::int64_t SyncQueue::reset_rejected(std::span<const TransactionId> transactions, UtcMillis now,
                                       const std::optional<AuditEvent>& audit) {
  const sql::Dialect dialect = database_->dialect();
  const std::string time = std::to_string(now.value);
  const std::string list = sql::list_of(dialect, transactions);
  const std::string update = ordered_update(dialect, kCrmOutbox, "next_attempt_at = " + time,
                                            sql::in_list(dialect, "transaction_id", "ids", false) +
                                                " AND is_rejected = 1 AND next_attempt_at > " + time);
  return database_->write([&](soci::session& session) {
    const std::int64_t count = sql::change_rows(session, update, use(list));
    insert_counted_event(session, audit, count);
    return count;
  });
}

std::optional<SyncWait> SyncQueue::find_wait(TransactionId transaction) {
  return database_->read([&](soci::session& session) -> std::optional<SyncWait> {
    SyncWait row;
    std::vector<SyncWait> found = sql::select_rows(
        row, session,
        "SELECT next_attempt_at, attempts, is_rejected, last_error FROM crm_outbox WHERE transaction_id = "
        ":id",
        use(transaction), into(row.next_attempt_at), into(row.attempts), into(row.is_rejected),
        into(row.last_error));
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
  });
}

void SyncQueue::release_with_error(const std::string& owner, const std::string& fault) {
  const std::string update = ordered_update(
      database_->dialect(), kCrmOutbox,
      "lease_owner = '', lease_until = 0, last_error = :fault, is_rejected = 0, failing_since = " +
          failing_since(database_->dialect()),
      "lease_owner = :owner");
  database_->write([&](soci::session& session) { session << update, use(fault), use(owner); });
}

void SyncQueue::release_leases(const std::vector<std::string>& owners) {
  store::release_leases(*database_, kCrmOutbox, owners);
}

void SyncQueue::cap_leases(std::int64_t max_millis) {
  store::cap_leases(*database_, kCrmOutbox, max_millis);
}

SyncQueue::Counts SyncQueue::counts() {
  return database_->read([this](soci::session& session) {
    Counts counts;
    const std::string is_live = live_gift_condition(database_->dialect(), "crm_outbox.transaction_id");
    // A fault of the CRM as a whole is no try of a gift (see release_with_error).
    const std::string failing = "crm_outbox WHERE (attempts > 0 OR last_error <> '') AND " + is_live;
    counts.waiting = count_bounded(session, "crm_outbox WHERE " + is_live);
    counts.failing = count_bounded(session, failing);
    counts.oldest_due = sql::first_of(sql::select_column<UtcMillis>(
        session, "SELECT next_attempt_at FROM crm_outbox WHERE " + is_live +
                     " ORDER BY (next_attempt_at / 10000), transaction_id LIMIT 1"));
    const std::string rejected = "crm_outbox WHERE is_rejected = 1 AND " + is_live;
    counts.rejected = count_bounded(session, rejected);
    if (counts.rejected > 0)
      counts.next_rejected_at =
          sql::select_value<UtcMillis>(session, "SELECT min(next_attempt_at) FROM " + rejected);
    if (counts.failing == 0) return counts;
    counts.last_error = sql::select_value<std::string>(
        session,
        "SELECT last_error FROM (SELECT last_error FROM " + failing + " LIMIT " +
            std::to_string(kMaxCounted) +
            ") failing WHERE last_error <> '' GROUP BY last_error ORDER BY count(*) DESC, last_error "
            "LIMIT 1");
    return counts;
  });
}

}  // namespace giftsync::store
