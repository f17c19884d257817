#include "schema/store/mail/gift_mails.h"

#include <utility>

#include "schema/store/gift/change_rows.h"
#include "schema/store/gift/gift_rows.h"
#include "schema/store/statements/claims.h"

namespace giftsync::store {
namespace {

using soci::use;

/// Without the condition of LeasedTable's index: held mails count, and the ids find the rows.
constexpr LeasedTable kMails{"mail_outbox", "transaction_id", ""};

constexpr std::pair<DeliveryState, GiftActionKind> kOutcomes[] = {
    {DeliveryState::accepted, GiftActionKind::mail_accepted},
    {DeliveryState::undelivered, GiftActionKind::mail_undelivered},
    {DeliveryState::uncertain, GiftActionKind::mail_uncertain},
    {DeliveryState::held, GiftActionKind::mail_held},
    {DeliveryState::queued, GiftActionKind::mail_deferred}};

/// One that waits for its first attempt, or is sent again, has no reply yet.
bool has_outcome(const DeliveryRow& mail) {
  return mail.state != DeliveryState::queued || !mail.last_reply.empty();
}

}  // namespace

std::optional<DeliveryRow> lock_mail(soci::session& session, TransactionId id) {
  return sql::first_of(
      select_mails(session, "d.transaction_id = " + std::to_string(id.value) + for_update(session, " OF d")));
}

void queue_next_mails(soci::session& session, std::span<const TransactionId> gifts, MailKind kind,
                      UtcMillis now) {
  if (gifts.empty()) return;
  const std::string list = sql::list_of(session, gifts);
  // The attempt number continues, so that a late outcome of the previous mail is not mistaken for one of this
  // mail.
  session << ordered_update(
      session, kMails,
      "state = 'queued', turn = 0, next_attempt_at = :now, message_id = '', first_deferred_at = NULL, "
      "attempt = "
      "attempt "
      "+ 1, uncertain_retries = 0, last_reply = '', updated_at = :now, lease_owner = '', lease_until = 0, "
      "kind = :kind, number = number + 1, ordered_at = :now",
      sql::in_list(session, "transaction_id", "gifts", false)),
      use(now, "now"), use(kind, "kind"), use(list, "gifts");
}

void withdraw_mails(soci::session& session, std::span<const TransactionId> gifts, UtcMillis now) {
  if (gifts.empty()) return;
  const std::string list = sql::list_of(session, gifts);
  session << ordered_update(session, kMails,
                            "state = 'withdrawn', updated_at = :now, lease_owner = '', lease_until = 0",
                            sql::in_list(session, "transaction_id", "gifts", false) +
                                " AND state IN ('queued', 'sending', 'uncertain', 'held')"),
      use(now, "now"), use(list, "gifts");
}

void insert_mail_action(soci::session& session, const std::optional<DeliveryRow>& mail,
                        const GiftAction& action) {
  std::vector<GiftAction> actions;
  for (const auto& [state, kind] : kOutcomes)
    if (mail && mail->state == state && has_outcome(*mail))
      actions.push_back({action.transaction, mail->updated_at, kind, "mailer", mail->last_reply});
  actions.push_back(action);
  insert_actions(session, actions);
}

}  // namespace giftsync::store
