#include "schema/store/lifecycle_store.h"

#include "schema/enum_words.h"
#include "schema/sql/bulk_insert.h"
#include "schema/sql/queries.h"
#include "schema/store/change_rows.h"
#include "schema/store/gift_mails.h"
#include "schema/store/gift_rows.h"
#include "schema/store/leases.h"

namespace giftsync::schema::store {
namespace {

using soci::into;
using soci::use;

using Kind = GiftActionKind;
constexpr auto kActionKinds = enum_words<Kind>({{Kind::resent, "resent"},
                                                {Kind::reminded, "reminded"},
                                                {Kind::cancelled, "cancelled"},
                                                {Kind::linked, "linked"},
                                                {Kind::mail_released, "mail_released"},
                                                {Kind::mail_withdrawn, "mail_withdrawn"},
                                                {Kind::mail_retried, "mail_retried"},
                                                {Kind::mail_accepted, "mail_accepted"},
                                                {Kind::mail_undelivered, "mail_undelivered"},
                                                {Kind::mail_uncertain, "mail_uncertain"},
                                                {Kind::mail_held, "mail_held"},
                                                {Kind::mail_deferred, "mail_deferred"}});

std::optional<Gift> lock_gift(soci::session& session, sql::Dialect dialect, TransactionId id) {
  std::optional<Gift> found;
  sql::PreparedQuery row(
      session, gifts_query("t.id = :id AND t.gift_source = ''" + for_update(dialect, " OF t")), {"id"});
  row.each_row({std::to_string(id.value)}, [&] { found = gift_in(row); });
  return found;
}

bool has_action(soci::session& session, const GiftAction& action) {
  const std::string what(to_word(action.kind));
  return sql::select_value<std::int64_t>(session,
                                         "SELECT count(*) FROM gift_action WHERE transaction_id = :id AND "
                                         "done_at = :at AND action = :what "
                                         "AND actor = :who AND comment = :comment",
                                         use(action.transaction), use(action.at), use(what),
                                         use(action.actor), use(action.comment)) > 0;
}

/// A new address requires new links, and the CRM gets it.
void change_address(soci::session& session, sql::Dialect dialect, const RecipientTransaction& gift,
                    const std::string& email, platform::UtcMillis now) {
  session << "UPDATE recipient_transaction SET email = :email, generation = generation + 1, version = "
             "version + 1 WHERE id = :id",
      use(email), use(gift.id);
  enqueue_sync(session, dialect, {gift.id}, now);
}

void apply_order(soci::session& session, sql::Dialect dialect, const MailContext& view,
                 const MailOrder& order, platform::UtcMillis now) {
  const RecipientTransaction& gift = view.gift.transaction;
  if (order.email != gift.email) change_address(session, dialect, gift, order.email, now);
  session << "UPDATE recipient_transaction SET due_at = cast(:due as bigint), last_reminder_day = :day WHERE "
             "id = "
             ":id",
      use(order.due_at), use(order.last_reminder_day), use(gift.id);
  if (order.action)
    insert_mail_action(session, dialect, order.send ? view.mail : std::nullopt, *order.action);
  if (order.audit) insert_audit_event(session, *order.audit);
  if (!order.send) return;
  if (order.kind == MailKind::gift)
    session << "UPDATE recipient_transaction SET resent_at = :now WHERE id = :id", use(now), use(gift.id);
  queue_next_mails(session, dialect, std::span(&gift.id, 1), order.kind, now);
}

}  // namespace

void insert_actions(soci::session& session, sql::Dialect dialect, std::span<const GiftAction> actions) {
  using Type = sql::BulkInsert::Type;
  sql::BulkInsert rows(dialect, "gift_action",
                       {{"transaction_id", Type::integer},
                        {"done_at", Type::integer},
                        {"action", Type::text},
                        {"actor", Type::text},
                        {"comment", Type::text},
                        {"readdressed", Type::integer}});
  for (const GiftAction& one : actions)
    rows.add({one.transaction.value, one.at.value, to_word(one.kind), one.actor, one.comment,
              std::int64_t{one.is_readdressed}});
  rows.run(session);
}

std::string_view to_word(GiftActionKind kind) {
  return kActionKinds.word_of(kind);
}

LifecycleStore::LifecycleStore(std::shared_ptr<sql::Database> database, ChangeLog& changes)
    : database_(std::move(database)), changes_(changes) {}

bool LifecycleStore::enqueue_mail(TransactionId gift, platform::UtcMillis now, const MailPolicy& decide) {
  const sql::Dialect dialect = database_->dialect();
  std::optional<GiftAction> ordered;  // by a transaction whose commit is uncertain
  const auto order = [&](soci::session& session) {
    std::optional<Gift> found = lock_gift(session, dialect, gift);
    if (!found) return false;
    if (ordered && has_action(session, *ordered)) return true;
    MailContext view{std::move(*found), select_spans(session, dialect, std::span(&gift, 1)),
                     lock_mail(session, dialect, gift)};
    const std::optional<MailOrder> wanted = decide(view);
    if (!wanted) return false;
    apply_order(session, dialect, view, *wanted, now);
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
  return [action, audit, dialect = database_->dialect()](soci::session& session) {
    std::optional<DeliveryRow> mail = lock_mail(session, dialect, action.transaction);
    // These stay as they are in the outbox.
    if (mail && (mail->state == DeliveryState::accepted || mail->state == DeliveryState::undelivered))
      mail.reset();
    withdraw_mails(session, dialect, std::span(&action.transaction, 1), action.at);
    session << "UPDATE recipient_transaction SET generation = generation + 1, due_at = NULL WHERE id = :id",
        use(action.transaction);
    insert_mail_action(session, dialect, mail, action);
    if (audit) insert_audit_event(session, *audit);
    return true;
  };
}

std::vector<GiftAction> LifecycleStore::find_actions(TransactionId gift) {
  return database_->read([&](soci::session& session) {
    GiftAction row;
    std::string what;
    soci::statement statement = sql::bound(
        session,
        "SELECT transaction_id, done_at, action, actor, comment, readdressed FROM gift_action WHERE "
        "transaction_id = :id ORDER BY done_at, id",
        use(gift), into(row.transaction), into(row.at), into(what), into(row.actor), into(row.comment),
        into(row.is_readdressed));
    std::vector<GiftAction> actions;
    sql::each_row(statement, [&] {
      row.kind = kActionKinds.parse(what).value_or(GiftActionKind::resent);
      actions.push_back(row);
    });
    return actions;
  });
}

}  // namespace giftsync::schema::store
