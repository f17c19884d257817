#include "sync/gift_hand.h"

#include "schema/address.h"
#include "sync/decided_outcome.h"
#include "sync/lifecycle_rules.h"

namespace giftsync::sync {
namespace {

using schema::DeliveryState;
using schema::Status;
using schema::UtcMillis;
using Kind = HandResult::Kind;

std::string at_time(const FoldedStatus& state, Status status) {
  const auto& time = state.times[status];
  return std::string(to_word(status)) + (time ? " on " + schema::to_rfc3339(*time) : std::string());
}

HandResult refused(std::string why, Kind kind = Kind::refused) {
  HandResult result;
  result.kind = kind;
  result.why = std::move(why);
  return result;
}

/// Why the mail that the gift has cannot be followed by another one; nothing when it can.
std::optional<HandResult> mail_in_the_way(const schema::DeliveryRow& mail, bool to_another) {
  switch (mail.state) {
    case DeliveryState::sending:
      return refused("its mail is being sent this very moment", Kind::try_later);
    case DeliveryState::queued:
      if (to_another) return std::nullopt;
      return refused("its mail has not left yet: it waits in the outbox until " +
                     schema::to_rfc3339(mail.due_at));
    case DeliveryState::uncertain:
      if (to_another) return std::nullopt;
      return refused("nobody knows yet whether its mail arrived; it is sent again by itself on " +
                     schema::to_rfc3339(mail.due_at));
    default:
      return std::nullopt;
  }
}

std::optional<HandResult> in_the_way(const schema::MailView& view, const FoldedStatus& state,
                                     bool to_another) {
  if (is_over(state)) return refused("it was " + at_time(state, state.status));
  if (view.gift.request.mode != schema::SendMode::email || !view.mail) {
    return refused(
        "giftsync does not mail it: its links were handed out to whoever asked for them, and "
        "their mails carry them");
  }
  if (state.times[Status::opened]) return refused("it was " + at_time(state, Status::opened));
  return mail_in_the_way(*view.mail, to_another);
}

/// A request record with the Send Type link has handed nothing out by itself: whoever wants the URLs reads
/// them there. Nothing for a gift of another kind.
std::optional<std::string> where_links_are(schema::Store& store, schema::GiftRequestId request) {
  const auto origins = store.requests.origins(std::span(&request, 1));
  if (origins.empty()) return std::nullopt;
  const std::string& id = origins.front().origin.key;
  const auto known = store.requests.find(std::span(&id, 1));
  const std::string& name = known.empty() || known.front().number.empty() ? id : known.front().number;
  return "giftsync does not mail it: request " + name +
         " asked for its links, and \"giftsyncctl request show " + name + "\" has them";
}

/// Reminders of days that have passed would come on the heels of the mail.
std::int64_t days_since(UtcMillis sent_at, UtcMillis now) {
  return std::max<std::int64_t>(0, (now.value - sent_at.value) / schema::kDayMillis);
}

schema::MailOrder resend_order(const schema::MailView& view, const FoldedStatus& state, const Resend& asked,
                               const std::string& email, UtcMillis now) {
  const schema::RecipientTransaction& before = view.gift.transaction;
  schema::Gift after = view.gift;
  after.transaction.resent_at = now;
  after.transaction.reminded_day =
      std::max(before.reminded_day, days_since(*before.times[Status::sent], now));
  schema::MailOrder order{schema::MailKind::gift, email, true, after.transaction.reminded_day};
  order.due_at = next_look(after, state);
  order.act = schema::GiftAct{
      before.id, now, schema::GiftActKind::resent, asked.who,
      email == before.email ? "to " + email : "to " + email + ", before it was " + before.email};
  return order;
}

std::string why_over(const FoldedStatus& state) {
  if (state.times[Status::refunded]) return "it was " + at_time(state, Status::refunded);
  return "it was " + at_time(state, state.status);
}

}  // namespace

HandResult resend(schema::Store& store, const Resend& asked, UtcMillis now) {
  HandResult result = refused("there is no such gift", Kind::unknown);
  std::optional<schema::GiftRequestId> unmailed;
  store.life.order_mail(asked.gift, now, [&](const schema::MailView& view) {
    unmailed.reset();  // it may run again
    const std::string& before = view.gift.transaction.email;
    const bool to_another = asked.email && schema::email_key(*asked.email) != schema::email_key(before);
    const FoldedStatus state = fold(*view.gift.transaction.times[Status::sent], view.so_far);
    std::optional<schema::MailOrder> order;
    if (view.gift.request.mode == schema::SendMode::urls && !is_over(state)) unmailed = view.gift.request.id;
    if (auto fault = in_the_way(view, state, to_another)) {
      result = std::move(*fault);
    } else {
      result = HandResult{Kind::done, "", state, to_another, before};
      order = resend_order(view, state, asked, to_another ? *asked.email : before, now);
    }
    result.state = state;
    return order;
  });
  const auto where = unmailed ? where_links_are(store, *unmailed) : std::nullopt;
  if (where) result.why = *where;
  return result;
}

HandResult cancel(schema::Store& store, schema::TransactionId gift, const std::string& who, UtcMillis now) {
  const schema::StatusChange change{{}, "admin", gift, Status::refunded, now, now, {}};
  const schema::GiftAct act{gift, now, schema::GiftActKind::cancelled, who, ""};
  const Decided decided = decide_outcome(store.changes, change, schema::LifeBook::withdraw_gift(act));
  HandResult result;
  result.state = decided.stands;
  switch (decided.outcome) {
    case schema::DecidedOutcome::accepted:
      result.kind = Kind::done;
      break;
    case schema::DecidedOutcome::unknown_transaction:
      result.why = "there is no such gift of our own";
      break;
    case schema::DecidedOutcome::refused:
    case schema::DecidedOutcome::nothing_to_hand_out:
      result.kind = Kind::refused;
      result.why = why_over(decided.stands);
      break;
  }
  return result;
}

}  // namespace giftsync::sync
