// The gifts that are due for a timer: claimed, decided about and written, many in one transaction.
#include "schema/sql/bulk_rows.h"
#include "schema/store/change_rows.h"
#include "schema/store/find_floor.h"
#include "schema/store/gift_mails.h"
#include "schema/store/gift_rows.h"
#include "schema/store/leases.h"
#include "schema/store/lifecycle_store.h"
#include "schema/store/word_conversions.h"

namespace giftsync::schema::store {
namespace {

using soci::into;
using soci::use;

/// With the condition of the index recipient_transaction_due.
const std::string kIsDue = "due_at IS NOT NULL AND due_at <= :now";

std::string longest_due(std::size_t limit, std::optional<platform::UtcMillis> floor = std::nullopt) {
  return (floor ? "due_at >= " + std::to_string(floor->value) + " AND " : "") + kIsDue +
         " ORDER BY due_at, id LIMIT " + std::to_string(limit);
}

std::vector<TransactionId> select_due(sql::Database& database, const std::string& which,
                                      platform::UtcMillis now) {
  return database.read([&](soci::session& session) {
    return sql::select_column<TransactionId>(session, "SELECT id FROM recipient_transaction WHERE " + which,
                                             use(now));
  });
}

std::string smallest_due(std::optional<platform::UtcMillis> above) {
  return "SELECT due_at FROM recipient_transaction WHERE due_at IS NOT NULL" +
         (above ? " AND due_at >= " + std::to_string(above->value) : std::string()) +
         " ORDER BY due_at, id LIMIT 1";
}

/// Decisions about the gifts wait here until this transaction has ended. A gift that another one has locked
/// is skipped: waiting for it would hold up all others.
std::vector<TransactionId> lock_gifts(soci::session& session, sql::Dialect dialect, const std::string& which,
                                      platform::UtcMillis now) {
  return sql::select_column<TransactionId>(
      session, "SELECT id FROM recipient_transaction WHERE " + which + for_update(dialect, " SKIP LOCKED"),
      use(now));
}

/// A mail that was sent leaves that state only by a decision that locks its gift.
std::unordered_map<TransactionId, DeliveryState> states_of_mails(soci::session& session, sql::Dialect dialect,
                                                                 std::span<const TransactionId> gifts) {
  const std::string list = sql::list_of(dialect, values_of(gifts));
  std::pair<TransactionId, DeliveryState> row;
  const auto rows = sql::select_rows(row, session,
                                     "SELECT transaction_id, state FROM mail_outbox WHERE " +
                                         sql::in_list(dialect, "transaction_id", "gifts", false),
                                     use(list), into(row.first), into(row.second));
  return {rows.begin(), rows.end()};
}

/// In the order of their ids.
std::vector<DueGift> read_gifts(soci::session& session, sql::Dialect dialect,
                                std::span<const TransactionId> ids) {
  std::unordered_map<TransactionId, std::vector<ChangeSpan>> spans;
  for (const ChangeSpan& span : select_spans(session, dialect, ids)) spans[span.transaction].push_back(span);
  const auto mails = states_of_mails(session, dialect, ids);
  std::vector<DueGift> gifts;
  gifts.reserve(ids.size());
  sql::PreparedQuery row(session,
                         gifts_query(sql::in_list(dialect, "t.id", "list", false) + " ORDER BY t.id"));
  row.each_row({sql::list_of(dialect, values_of(ids))}, [&] {
    DueGift& due = gifts.emplace_back();
    due.gift = gift_in(row);
    due.changes = std::move(spans[due.gift.transaction.id]);
    const auto mail = mails.find(due.gift.transaction.id);
    if (mail != mails.end()) due.mail = mail->second;
  });
  return gifts;
}

/// The decisions of one transaction, and which of them the log refused.
class Decisions {
 public:
  Decisions(const std::vector<DueGift>& gifts, const TimerPolicy& decide, std::int64_t first_change_id)
      : gifts_(gifts), decide_(decide), first_change_id_(first_change_id), of_(gifts.size()) {
    for (std::size_t i = 0; i < gifts.size(); ++i) of_[i] = decide_about(i, {});
  }

  /// Inserts the outcomes; those that the log has already, voided, are decided again without them.
  void insert_outcomes(soci::session& session, sql::Dialect dialect) {
    std::vector<std::vector<StatusChange>> refused(gifts_.size());
    std::vector<std::size_t> pending;
    for (std::size_t i = 0; i < of_.size(); ++i) pending.push_back(i);
    while (!pending.empty()) {
      std::vector<const StatusChange*> changes;
      for (const std::size_t i : pending) {
        if (of_[i].outcome) changes.push_back(&*of_[i].outcome);
      }
      const std::unordered_set<ChangeId> inserted = insert_changes(session, dialect, changes);
      std::vector<std::size_t> again;
      for (const std::size_t i : pending) {
        if (!of_[i].outcome || inserted.contains(of_[i].outcome->id)) continue;
        refused[i].push_back(*of_[i].outcome);
        of_[i] = decide_about(i, refused[i]);
        again.push_back(i);
      }
      pending = std::move(again);
    }
  }

  void write_effects(soci::session& session, sql::Dialect dialect, platform::UtcMillis now) const {
    std::vector<TransactionId> ended;
    std::vector<TransactionId> reminded;
    std::vector<GiftAction> actions;
    for (std::size_t i = 0; i < of_.size(); ++i) {
      if (of_[i].outcome) ended.push_back(id_of(i));
      if (!of_[i].reminder) continue;
      reminded.push_back(id_of(i));
      actions.push_back(*of_[i].reminder);
    }
    withdraw_mails(session, dialect, ended, now);
    queue_next_mails(session, dialect, reminded, MailKind::reminder, now);
    insert_actions(session, dialect, actions);
    write_timers(session, dialect);
    enqueue_sync(session, dialect, ended, now);
  }

  std::vector<TimerDecision> take() { return std::move(of_); }

 private:
  TransactionId id_of(std::size_t at) const { return gifts_[at].gift.transaction.id; }

  /// A gift has one id for its change, however often it is decided.
  TimerDecision decide_about(std::size_t at, std::span<const StatusChange> refused) const {
    TimerDecision decision = decide_(gifts_[at], refused);
    if (decision.outcome) decision.outcome->id = {first_change_id_ + static_cast<std::int64_t>(at)};
    return decision;
  }

  void write_timers(soci::session& session, sql::Dialect dialect) const {
    using Type = sql::BulkRows::Type;
    sql::BulkRows rows(dialect,
                       {{"id", Type::integer}, {"due_at", Type::integer}, {"reminder_day", Type::integer}});
    for (std::size_t i = 0; i < of_.size(); ++i) {
      const std::int64_t day =
          of_[i].last_reminder_day.value_or(gifts_[i].gift.transaction.last_reminder_day);
      rows.add({id_of(i).value, of_[i].due_at ? sql::Cell(of_[i].due_at->value) : sql::Cell(), day});
    }
    const std::string update = "UPDATE recipient_transaction AS t SET ";
    rows.run(session, update + "due_at = :due_at, last_reminder_day = :reminder_day WHERE id = :id",
             update + "due_at = input_row.due_at, last_reminder_day = input_row.reminder_day FROM " +
                 rows.as_table() + " WHERE t.id = input_row.id");
  }

  const std::vector<DueGift>& gifts_;
  const TimerPolicy& decide_;
  const std::int64_t first_change_id_;
  std::vector<TimerDecision> of_;  // as gifts_
};

}  // namespace

std::vector<TransactionId> LifecycleStore::find_due(platform::UtcMillis now, std::size_t limit) {
  return select_due(*database_, longest_due(limit), now);
}

TimerRun LifecycleStore::decide_due(platform::UtcMillis now, std::size_t limit, const TimerPolicy& decide) {
  const std::optional<platform::UtcMillis> floor = find_floor(*database_, floor_, now, smallest_due);
  const std::size_t count = select_due(*database_, longest_due(limit, floor), now).size();
  if (count == 0) return {};  // without work no write lock is taken
  TimerRun run = decide_about(longest_due(count, floor), now, count, decide);
  floor_.count(run.gifts);
  return run;
}

TimerRun LifecycleStore::decide_due_gift(TransactionId gift, platform::UtcMillis now,
                                         const TimerPolicy& decide) {
  return decide_about(kIsDue + " AND id = " + std::to_string(gift.value), now, 1, decide);
}

TimerRun LifecycleStore::decide_about(const std::string& which, platform::UtcMillis now, std::size_t count,
                                      const TimerPolicy& decide) {
  const sql::Dialect dialect = database_->dialect();
  const std::int64_t first_change_id = changes_.change_ids_.allocate(static_cast<std::int64_t>(count));
  return database_->write([&](soci::session& session) {
    const std::vector<TransactionId> ids = lock_gifts(session, dialect, which, now);
    if (ids.empty()) return TimerRun{};
    const std::vector<DueGift> gifts = read_gifts(session, dialect, ids);
    Decisions decisions(gifts, decide, first_change_id);
    decisions.insert_outcomes(session, dialect);
    decisions.write_effects(session, dialect, now);
    return TimerRun{gifts.size(), decisions.take()};
  });
}

void LifecycleStore::postpone_timer(TransactionId gift, platform::UtcMillis now, platform::UtcMillis until) {
  database_->write([&](soci::session& session) {
    session << "UPDATE recipient_transaction SET due_at = :until WHERE id = :id AND " + kIsDue, use(until),
        use(gift), use(now);
  });
}

}  // namespace giftsync::schema::store
