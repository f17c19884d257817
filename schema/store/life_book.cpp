#include "schema/store/life_book.h"

#include "schema/spelling.h"
#include "schema/sql/database.h"
#include "schema/store/change_rows.h"
#include "schema/store/gift_rows.h"

namespace giftsync::schema {
namespace {

using soci::into;
using soci::use;

constexpr auto kActKinds = spelling<GiftActKind>({{GiftActKind::resent, "resent"},
                                                  {GiftActKind::reminded, "reminded"},
                                                  {GiftActKind::cancelled, "cancelled"}});

std::string locking(Dialect dialect, std::string_view what) {
  return dialect == Dialect::postgresql ? " FOR UPDATE OF " + std::string(what) : std::string();
}

std::optional<Gift> locked_gift(soci::session& session, Dialect dialect, TransactionId id) {
  std::optional<Gift> found;
  sql::KeptQuery row(session, sql::gifts_query("t.id = :id AND t.origin = ''" + locking(dialect, "t")),
                     {"id"});
  row.each_row({std::to_string(id.value)}, [&] { found = sql::gift_in(row); });
  return found;
}

std::optional<DeliveryRow> locked_mail(soci::session& session, Dialect dialect, TransactionId id) {
  DeliveryRow row;
  std::string state;
  std::string kind;
  long long attempt = 0;
  long long repeats = 0;
  long long number = 0;
  soci::statement statement =
      sql::bound(session,
                 "SELECT d.transaction_id, d.state, d.attempt, d.repeats, d.due_at, d.updated_at, "
                 "d.message_id, d.last_reply, d.kind, d.number FROM delivery d WHERE d.transaction_id = :id" +
                     locking(dialect, "d"),
                 use(id), into(row.transaction), into(state), into(attempt), into(repeats), into(row.due_at),
                 into(row.updated_at), into(row.message_id), into(row.last_reply), into(kind), into(number));
  std::optional<DeliveryRow> found;
  sql::each_row(statement, [&] {
    row.state = delivery_state_from_word(state).value_or(DeliveryState::queued);
    row.kind = mail_kind_from_word(kind).value_or(MailKind::gift);
    row.attempt = attempt;
    row.repeats = repeats;
    row.number = number;
    found = row;
  });
  return found;
}

void insert_act(soci::session& session, const GiftAct& act) {
  const std::string what(to_word(act.kind));
  session << "INSERT INTO gift_act (transaction_id, done_at, what, who, remark) VALUES (:id, :at, :what, "
             ":who, :remark)",
      use(act.transaction), use(act.at), use(what), use(act.who), use(act.remark);
}

bool has_act(soci::session& session, const GiftAct& act) {
  const std::string what(to_word(act.kind));
  long long count = 0;
  session
      << "SELECT count(*) FROM gift_act WHERE transaction_id = :id AND done_at = :at AND what = :what AND "
         "who = :who AND remark = :remark",
      use(act.transaction), use(act.at), use(what), use(act.who), use(act.remark), into(count);
  return count > 0;
}

/// A new address: new links, and the CRM learns of it.
void move_to(soci::session& session, Dialect dialect, const RecipientTransaction& gift,
             const std::string& email, UtcMillis now) {
  session << "UPDATE recipient_transaction SET email = :email, generation = generation + 1, version = "
             "version + 1 WHERE id = :id",
      use(email), use(gift.id);
  sql::mark_for_sync(session, dialect, {gift.id}, now);
}

void write_order(soci::session& session, Dialect dialect, const RecipientTransaction& gift,
                 const MailOrder& order, UtcMillis now) {
  if (order.email != gift.email) move_to(session, dialect, gift, order.email, now);
  const long long day = order.reminded_day;
  session << "UPDATE recipient_transaction SET due_at = cast(:due as bigint), reminded_day = :day WHERE id = "
             ":id",
      use(order.due_at), use(day), use(gift.id);
  if (order.act) insert_act(session, *order.act);
  if (!order.send) return;
  if (order.kind == MailKind::gift)
    session << "UPDATE recipient_transaction SET resent_at = :now WHERE id = :id", use(now), use(gift.id);
  const std::string kind(to_word(order.kind));
  // The attempt goes on, so that a late outcome of the mail before is told from one of this mail.
  session << "UPDATE delivery SET state = 'queued', due_at = :due, message_id = '', first_try_at = NULL, "
             "attempt = attempt + 1, repeats = 0, last_reply = '', updated_at = :now, lease_owner = '', "
             "lease_until = 0, kind = "
             ":kind, number = number + 1, ordered_at = :ordered WHERE transaction_id = :id",
      use(now), use(now), use(kind), use(now), use(gift.id);
}

void withdraw(soci::session& session, TransactionId gift, UtcMillis now) {
  session << "UPDATE delivery SET state = 'withdrawn', updated_at = :now, lease_owner = '', lease_until = 0 "
             "WHERE transaction_id = :id AND state IN ('queued', 'sending', 'uncertain', 'held')",
      use(now), use(gift);
}

}  // namespace

std::string_view to_word(GiftActKind kind) {
  return kActKinds.of(kind);
}

LifeBook::LifeBook(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

std::vector<TransactionId> LifeBook::due(UtcMillis now, std::size_t limit) {
  return database_->read([&](soci::session& session) {
    TransactionId id;
    std::vector<TransactionId> ids;
    soci::statement statement = sql::bound(
        session,
        "SELECT id FROM recipient_transaction WHERE due_at IS NOT NULL AND due_at <= :now ORDER BY "
        "due_at, id LIMIT " +
            std::to_string(limit),
        use(now), into(id));
    sql::each_row(statement, [&] { ids.push_back(id); });
    return ids;
  });
}

void LifeBook::set_due(const RecipientTransaction& read, std::optional<UtcMillis> due_at) {
  database_->write([&](soci::session& session) {
    const long long version = read.version;
    session << "UPDATE recipient_transaction SET due_at = cast(:due as bigint) WHERE id = :id AND version = "
               ":version AND due_at = cast(:read as bigint)",
        use(due_at), use(read.id), use(version), use(read.due_at);
  });
}

bool LifeBook::order_mail(TransactionId gift, UtcMillis now, const MailDecision& decide) {
  const Dialect dialect = database_->dialect();
  std::optional<GiftAct> ordered;  // by a transaction of which nobody knows whether it stands
  const auto order = [&](soci::session& session) {
    std::optional<Gift> found = locked_gift(session, dialect, gift);
    if (!found) return false;
    if (ordered && has_act(session, *ordered)) return true;
    MailView view{std::move(*found), sql::select_spans(session, dialect, std::span(&gift, 1)),
                  locked_mail(session, dialect, gift)};
    const std::optional<MailOrder> wanted = decide(view);
    if (!wanted) return false;
    write_order(session, dialect, view.gift.transaction, *wanted, now);
    ordered = wanted->act;
    return true;
  };
  try {
    return database_->write(order);
  } catch (const sql::CommitUnknown&) {
    // The gift's lock is free once that transaction has ended, and then its act tells.
    if (!ordered) throw;
    return database_->write(order);
  }
}

HandOut LifeBook::withdraw_mail_unless_resent(const RecipientTransaction& read, UtcMillis now,
                                              std::optional<UtcMillis> due_at) {
  return [id = read.id, resent_at = read.resent_at, now, due_at](soci::session& session) {
    std::optional<UtcMillis> now_resent_at;
    session << "SELECT resent_at FROM recipient_transaction WHERE id = :id", use(id), into(now_resent_at);
    if (now_resent_at != resent_at) return false;
    withdraw(session, id, now);
    session << "UPDATE recipient_transaction SET due_at = cast(:due as bigint) WHERE id = :id", use(due_at),
        use(id);
    return true;
  };
}

HandOut LifeBook::while_link_is_good(const RecipientTransaction& read) {
  return [id = read.id, generation = read.generation](soci::session& session) {
    long long now = 0;
    session << "SELECT generation FROM recipient_transaction WHERE id = :id", use(id), into(now);
    return now == generation;
  };
}

HandOut LifeBook::withdraw_gift(const GiftAct& act) {
  return [act](soci::session& session) {
    withdraw(session, act.transaction, act.at);
    session << "UPDATE recipient_transaction SET generation = generation + 1, due_at = NULL WHERE id = :id",
        use(act.transaction);
    insert_act(session, act);
    return true;
  };
}

std::vector<GiftAct> LifeBook::acts_of(TransactionId gift) {
  return database_->read([&](soci::session& session) {
    GiftAct row;
    std::string what;
    soci::statement statement = sql::bound(
        session,
        "SELECT transaction_id, done_at, what, who, remark FROM gift_act WHERE transaction_id = "
        ":id ORDER BY id",
        use(gift), into(row.transaction), into(row.at), into(what), into(row.who), into(row.remark));
    std::vector<GiftAct> acts;
    sql::each_row(statement, [&] {
      row.kind = kActKinds.read(what).value_or(GiftActKind::resent);
      acts.push_back(row);
    });
    return acts;
  });
}

}  // namespace giftsync::schema
