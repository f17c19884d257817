#include "schema/store/mail/lifecycle_store.h"

#include "schema/contact_normalization.h"
#include "schema/enums.h"
#include "schema/sql/record_rows.h"
#include "schema/store/gift/change_rows.h"
#include "schema/store/gift/gift_rows.h"
#include "schema/store/mail/gift_mails.h"
#include "schema/store/statements/claims.h"
#include "schema/store/statements/word_conversions.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

using Kind = GiftActionKind;
constexpr auto kActionKinds = enum_words<Kind>({{Kind::resent, "resent"},
                                                {Kind::reminded, "reminded"},
                                                {Kind::cancelled, "cancelled"},
                                                {Kind::extended, "extended"},
                                                {Kind::linked, "linked"},
                                                {Kind::mail_released, "mail_released"},
                                                {Kind::mail_withdrawn, "mail_withdrawn"},
                                                {Kind::mail_retried, "mail_retried"},
                                                {Kind::mail_accepted, "mail_accepted"},
                                                {Kind::mail_undelivered, "mail_undelivered"},
                                                {Kind::mail_uncertain, "mail_uncertain"},
                                                {Kind::mail_held, "mail_held"},
                                                {Kind::mail_deferred, "mail_deferred"}});

std::optional<Kind> action_kind_from_word(std::string_view word) {
  return kActionKinds.parse(word);
}
using GiftActionWord = sql::WordConversion<Kind, action_kind_from_word, Kind::resent>;

}  // namespace
}  // namespace giftsync::store

template <>
struct soci::type_conversion<giftsync::store::GiftActionKind> : giftsync::store::GiftActionWord {};

namespace giftsync::store {
namespace {

// One field a line.
// clang-format off
constexpr auto kGiftActionFields = record_fields(
    "gift_action",
    field<&GiftAction::transaction>("transaction_id"),
    field<&GiftAction::at>("done_at"),
    field<&GiftAction::kind>("action"),
    field<&GiftAction::actor>("actor"),
    field<&GiftAction::comment>("comment"),
    field<&GiftAction::is_readdressed>("readdressed"));
// clang-format on

std::optional<Gift> lock_gift(soci::session& session, TransactionId id) {
  std::optional<Gift> found;
  sql::PreparedQuery row(
      session, gifts_query("t.id = :id AND t.gift_source = ''" + for_update(session, " OF t")), {"id"});
  row.each_row({std::to_string(id.value)}, [&] { found = gift_in(row); });
  return found;
}

bool has_action(soci::session& session, const GiftAction& action) {
  return sql::has_row(
      session,
      "gift_action WHERE transaction_id = :id AND done_at = :at AND action = :what AND actor = :who "
      "AND comment = :comment",
      use(action.transaction), use(action.at), use(action.kind), use(action.actor), use(action.comment));
}

/// A new address requires new links, and the CRM gets it.
void change_address(soci::session& session, const RecipientTransaction& gift, const std::string& email,
                    UtcMillis now) {
  const std::string stored = email_to_store(email);
  session << "UPDATE recipient_transaction SET email = :email, generation = generation + 1, version = "
             "version + 1 WHERE id = :id",
      use(stored), use(gift.id);
  enqueue_sync(session, {gift.id}, now);
}

void apply_order(soci::session& session, const MailContext& view, const MailOrder& order, UtcMillis now) {
  const RecipientTransaction& gift = view.gift.transaction;
  if (order.email != gift.email) change_address(session, gift, order.email, now);
  session << "UPDATE recipient_transaction SET due_at = cast(:due as bigint), last_reminder_day = :day WHERE "
             "id = "
             ":id",
      use(order.due_at), use(order.last_reminder_day), use(gift.id);
  if (order.extended_until) {
    session << "UPDATE recipient_transaction SET extended_until = :until, version = version + 1 WHERE id = "
               ":id",
        use(*order.extended_until), use(gift.id);
    enqueue_sync(session, {gift.id}, now);
  }
  if (order.action) insert_mail_action(session, order.send ? view.mail : std::nullopt, *order.action);
  if (order.audit) insert_audit_event(session, *order.audit);
  if (!order.send) return;
  if (order.kind == MailKind::gift)
    session << "UPDATE recipient_transaction SET resent_at = :now WHERE id = :id", use(now), use(gift.id);
  queue_next_mails(session, std::span(&gift.id, 1), order.kind, now);
}

}  // namespace

void insert_actions(soci::session& session, std::span<const GiftAction> actions) {
  sql::BulkInsert rows(session, kGiftActionFields.table, sql::bulk_columns(kGiftActionFields));
  for (const GiftAction& action : actions) rows.add(sql::cells_of(kGiftActionFields, action));
  rows.run(session);
}

std::string_view to_word(GiftActionKind kind) {
  return kActionKinds.word_of(kind);
}

LifecycleStore::LifecycleStore(std::shared_ptr<sql::Database> database, ChangeLog& changes)
    : database_(std::move(database)), changes_(changes) {}

bool LifecycleStore::enqueue_mail(TransactionId gift, UtcMillis now, const MailPolicy& decide) {
  std::optional<GiftAction> ordered;  // by a transaction whose commit is uncertain
  const auto order = [&](soci::session& session) {
    std::optional<Gift> found = lock_gift(session, gift);
    if (!found) return false;
    if (ordered && has_action(session, *ordered)) return true;
    MailContext view{std::move(*found), select_spans(session, std::span(&gift, 1)), lock_mail(session, gift)};
    const std::optional<MailOrder> wanted = decide(view);
    if (!wanted) return false;
    apply_order(session, view, *wanted, now);
    ordered = wanted->action;
    return true;
  };
  try {
    return database_->write(order);
  } catch (const sql::CommitOutcomeUnknown&) {
    // That transaction has ended when the gift's lock is free; its action then shows the result.
    if (!ordered) throw;
    return database_->write(order);
  }
}

TransactionEffect LifecycleStore::require_current_link_effect(const RecipientTransaction& read) {
  return [id = read.id, generation = read.generation](soci::session& session) {
    long long now = 0;
    session << "SELECT generation FROM recipient_transaction WHERE id = :id", use(id), into(now);
    return now == generation;
  };
}

TransactionEffect LifecycleStore::withdraw_gift_effect(const GiftAction& action,
                                                       const std::optional<AuditEvent>& audit) {
  return [action, audit](soci::session& session) {
    std::optional<DeliveryRow> mail = lock_mail(session, action.transaction);
    // These stay as they are in the outbox.
    if (mail && (mail->state == DeliveryState::accepted || mail->state == DeliveryState::undelivered))
      mail.reset();
    withdraw_mails(session, std::span(&action.transaction, 1), action.at);
    session << "UPDATE recipient_transaction SET generation = generation + 1, due_at = NULL WHERE id = :id",
        use(action.transaction);
    insert_mail_action(session, mail, action);
    if (audit) insert_audit_event(session, *audit);
    return true;
  };
}

std::vector<GiftAction> LifecycleStore::find_actions(TransactionId gift) {
  return database_->read([&](soci::session& session) {
    return sql::find_records(kGiftActionFields, session, "WHERE transaction_id = :id ORDER BY done_at, id",
                             use(gift));
  });
}

// The gifts that are due for a timer: claimed, decided about and written, many in one transaction.

namespace {

/// With the condition of the index recipient_transaction_due.
const std::string kIsDue = "due_at IS NOT NULL AND due_at <= :now";

std::string longest_due(std::size_t limit, std::optional<UtcMillis> floor = std::nullopt) {
  return (floor ? "due_at >= " + std::to_string(floor->value) + " AND " : "") + kIsDue +
         " ORDER BY due_at, id LIMIT " + std::to_string(limit);
}

std::vector<TransactionId> select_due(sql::Database& database, const std::string& which, UtcMillis now) {
  return database.read([&](soci::session& session) {
    return sql::select_column<TransactionId>(session, "SELECT id FROM recipient_transaction WHERE " + which,
                                             use(now));
  });
}

std::string smallest_due(std::optional<UtcMillis> above) {
  return "SELECT due_at FROM recipient_transaction WHERE due_at IS NOT NULL" +
         (above ? " AND due_at >= " + std::to_string(above->value) : std::string()) +
         " ORDER BY due_at, id LIMIT 1";
}

/// Decisions about the gifts wait here until this transaction has ended. A gift that another one has locked
/// is skipped: waiting for it would hold up all others.
std::vector<TransactionId> lock_gifts(soci::session& session, const std::string& which, UtcMillis now) {
  return sql::select_column<TransactionId>(
      session, "SELECT id FROM recipient_transaction WHERE " + which + for_update(session, " SKIP LOCKED"),
      use(now));
}

/// A mail that was sent leaves that state only by a decision that locks its gift.
std::unordered_map<TransactionId, DeliveryState> states_of_mails(soci::session& session,
                                                                 std::span<const TransactionId> gifts) {
  const std::string list = sql::list_of(session, gifts);
  std::pair<TransactionId, DeliveryState> row;
  const auto rows = sql::select_rows(row, session,
                                     "SELECT transaction_id, state FROM mail_outbox WHERE " +
                                         sql::in_list(session, "transaction_id", "gifts", false),
                                     use(list), into(row.first), into(row.second));
  return {rows.begin(), rows.end()};
}

/// In the order of their ids.
std::vector<DueGift> read_gifts(soci::session& session, std::span<const TransactionId> ids) {
  std::unordered_map<TransactionId, std::vector<ChangeSpan>> spans;
  for (const ChangeSpan& span : select_spans(session, ids)) spans[span.transaction].push_back(span);
  const auto mails = states_of_mails(session, ids);
  std::vector<DueGift> gifts;
  gifts.reserve(ids.size());
  sql::PreparedQuery row(session,
                         gifts_query(sql::in_list(session, "t.id", "list", false) + " ORDER BY t.id"));
  row.each_row({sql::list_of(session, ids)}, [&] {
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
  void insert_outcomes(soci::session& session) {
    std::vector<std::vector<StatusChange>> refused(gifts_.size());
    std::vector<std::size_t> pending;
    for (std::size_t i = 0; i < of_.size(); ++i) pending.push_back(i);
    while (!pending.empty()) {
      std::vector<const StatusChange*> changes;
      for (const std::size_t i : pending) {
        if (of_[i].outcome) changes.push_back(&*of_[i].outcome);
      }
      const std::unordered_set<ChangeId> inserted = insert_changes(session, changes);
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

  void write_effects(soci::session& session, UtcMillis now) const {
    std::vector<TransactionId> ended;
    std::vector<TransactionId> reminded;
    std::vector<GiftAction> actions;
    for (std::size_t i = 0; i < of_.size(); ++i) {
      if (of_[i].outcome) ended.push_back(id_of(i));
      if (!of_[i].reminder) continue;
      reminded.push_back(id_of(i));
      actions.push_back(*of_[i].reminder);
    }
    withdraw_mails(session, ended, now);
    queue_next_mails(session, reminded, MailKind::reminder, now);
    insert_actions(session, actions);
    write_timers(session);
    enqueue_sync(session, ended, now);
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

  void write_timers(soci::session& session) const {
    using Type = sql::BulkRows::Type;
    sql::BulkRows rows(session,
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

std::vector<TransactionId> LifecycleStore::find_due(UtcMillis now, std::size_t limit) {
  return select_due(*database_, longest_due(limit), now);
}

TimerRun LifecycleStore::decide_due(UtcMillis now, std::size_t limit, const TimerPolicy& decide) {
  const std::optional<UtcMillis> floor = find_floor(*database_, floor_, now, smallest_due);
  const std::size_t count = select_due(*database_, longest_due(limit, floor), now).size();
  if (count == 0) return {};  // without work no write lock is taken
  TimerRun run = decide_about(longest_due(count, floor), now, count, decide);
  floor_.count(run.gifts);
  return run;
}

TimerRun LifecycleStore::decide_due_gift(TransactionId gift, UtcMillis now, const TimerPolicy& decide) {
  return decide_about(kIsDue + " AND id = " + std::to_string(gift.value), now, 1, decide);
}

TimerRun LifecycleStore::decide_about(const std::string& which, UtcMillis now, std::size_t count,
                                      const TimerPolicy& decide) {
  const std::int64_t first_change_id = changes_.change_ids_.allocate(static_cast<std::int64_t>(count));
  return database_->write([&](soci::session& session) {
    const std::vector<TransactionId> ids = lock_gifts(session, which, now);
    if (ids.empty()) return TimerRun{};
    const std::vector<DueGift> gifts = read_gifts(session, ids);
    Decisions decisions(gifts, decide, first_change_id);
    decisions.insert_outcomes(session);
    decisions.write_effects(session, now);
    return TimerRun{gifts.size(), decisions.take()};
  });
}

void LifecycleStore::postpone_timer(TransactionId gift, UtcMillis now, UtcMillis until) {
  database_->write([&](soci::session& session) {
    session << "UPDATE recipient_transaction SET due_at = :until WHERE id = :id AND " + kIsDue, use(until),
        use(gift), use(now);
  });
}

}  // namespace giftsync::store
