#include "sync/gift/gift_actions.h"

#include <algorithm>
#include <utility>

#include "schema/contact_normalization.h"
#include "sync/access/sending_policy.h"
#include "sync/gift/lifecycle.h"
#include "sync/gift/test_gifts.h"

namespace giftsync::sync {

namespace {

using Kind = ActionResult::Kind;

std::string describe_status(const FoldedStatus& state, Status status) {
  const auto& time = state.times[status];
  return std::string(to_word(status)) + (time ? " on " + to_rfc3339(*time) : std::string());
}

ActionResult refused(std::string reason, Kind kind = Kind::refused) {
  ActionResult result;
  result.kind = kind;
  result.reason = std::move(reason);
  return result;
}

/// Why the gift's current mail prevents another one; nullopt when it does not.
std::optional<ActionResult> mail_problem(const store::DeliveryRow& mail, bool to_other_address) {
  switch (mail.state) {
    case DeliveryState::sending:
      return refused("its mail is being sent right now", Kind::try_later);
    case DeliveryState::queued:
      if (to_other_address) return std::nullopt;
      return refused("its mail has not left yet: it is queued until " + to_rfc3339(mail.next_attempt_at));
    case DeliveryState::uncertain:
      if (to_other_address) return std::nullopt;
      return refused("it is not known yet whether its mail arrived; giftsync sends it again on " +
                     to_rfc3339(mail.next_attempt_at));
    default:
      return std::nullopt;
  }
}

FoldedStatus state_of(const store::MailContext& view) {
  return fold(*view.gift.transaction.times[Status::sent], view.changes);
}

store::StatusChange cancellation_of(TransactionId gift, UtcMillis now) {
  return {{}, "admin", gift, Status::refunded, now, now, {}};
}

/// A gift that another system sent.
bool is_sent_elsewhere(const store::MailContext& view) {
  return !view.gift.transaction.gift_source.empty();
}
constexpr const char* kSentElsewhere = "giftsync did not send it; do this in the system that sent it";

std::optional<ActionResult> resend_problem(const store::MailContext& view, const FoldedStatus& state,
                                           bool to_other_address) {
  if (is_sent_elsewhere(view)) return refused(kSentElsewhere, Kind::unknown);
  if (is_ended(state)) return refused("it was " + describe_status(state, state.status));
  if (view.gift.request.is_test)
    return refused("it is a test gift: none of its mails goes to a recipient; request another one");
  if (view.gift.request.mode != SendMode::email || !view.mail) {
    return refused("giftsync does not mail it: its links were returned to the caller, who sends them");
  }
  if (state.times[Status::opened]) return refused("it was " + describe_status(state, Status::opened));
  return mail_problem(*view.mail, to_other_address);
}

/// A request record with the Send Type link returns no URLs itself; the requester reads them from the record.
/// Nullopt for other gifts.
std::optional<std::string> describe_link_source(store::RequestRecords& request_records,
                                                GiftRequestId request) {
  const auto request_links = request_records.find_gifts_by_request(std::span(&request, 1));
  if (request_links.empty()) return std::nullopt;
  const std::string& id = request_links.front().link.record_id;
  const auto known = request_records.find(std::span(&id, 1));
  const std::string& name = known.empty() || known.front().number.empty() ? id : known.front().number;
  return "giftsync does not mail it: request " + name +
         " asked for its links, which its requester reads from it";
}

/// Reminders of days that have passed would follow the mail immediately.
std::int64_t days_since(UtcMillis sent_at, UtcMillis now) {
  return std::max<std::int64_t>(0, (now.value - sent_at.value) / kDayMillis);
}

store::MailOrder make_resend_order(const store::MailContext& view, const FoldedStatus& state,
                                   const ResendAction& action, const std::string& email, UtcMillis now) {
  const store::RecipientTransaction& before = view.gift.transaction;
  store::Gift after = view.gift;
  after.transaction.resent_at = now;
  after.transaction.last_reminder_day =
      std::max(before.last_reminder_day, days_since(*before.times[Status::sent], now));
  store::MailOrder order{MailKind::gift, email, true, after.transaction.last_reminder_day};
  order.due_at = next_timer_at(after, state);
  order.audit = action.audit;
  const bool is_readdressed = email != before.email;
  if (order.audit) order.audit->detail = is_readdressed ? "to another address" : "to the same address";
  order.action =
      store::GiftAction{before.id,
                        now,
                        store::GiftActionKind::resent,
                        action.who,
                        is_readdressed ? "to " + email + ", before it was " + before.email : "to " + email,
                        is_readdressed};
  return order;
}

std::string describe_end(const FoldedStatus& state) {
  if (state.times[Status::refunded]) return "it was " + describe_status(state, Status::refunded);
  return "it was " + describe_status(state, state.status);
}

}  // namespace

std::optional<ActionResult> resend_problem(const store::MailContext& view, bool to_other_address) {
  return resend_problem(view, state_of(view), to_other_address);
}

std::string address_problem(store::DoNotSend& list, std::span<const std::string> allowed_domains,
                            const std::string& email, bool is_other_address, UtcMillis now) {
  std::string reason;
  const auto listed = find_listed(list, std::span(&email, 1), now);
  if (!listed.empty() && (is_other_address || listed.begin()->second.reason != DoNotSendReason::bounced))
    reason = describe(listed.begin()->second);
  else if (const auto finding = domain_finding(allowed_domains, email))
    reason = finding->message;
  if (reason.ends_with('.')) reason.pop_back();  // reasons are parts of sentences
  return reason;
}

std::string cancel_problem(const store::MailContext& view) {
  if (is_sent_elsewhere(view)) return kSentElsewhere;
  const FoldedStatus state = state_of(view);
  return allows(state, cancellation_of(view.gift.transaction.id, {})) ? "" : describe_end(state);
}

std::string retry_problem(const std::optional<store::SyncWait>& wait,
                          const std::optional<store::CrmSyncStatus>& state, UtcMillis now) {
  using State = store::CrmSyncStatus;
  if (wait)
    return wait->is_rejected && wait->next_attempt_at > now ? "" : "it is tried anyway within minutes";
  if (state == State::skipped)
    return "the gift has no record, since nothing matched; once its contact is in the CRM, match it again";
  if (state == State::deleted) return "its record was deleted in the CRM, and is not written again";
  if (state == State::rejected) return "the CRM refused its record";
  return "the CRM has its current state";
}

std::string retry_problem(store::SyncQueue& queue, TransactionId gift, UtcMillis now) {
  const auto states = queue.find_states(std::span(&gift, 1));
  return retry_problem(queue.find_wait(gift),
                       states.empty() ? std::nullopt : std::optional(states.front().state), now);
}

namespace {

/// The address_problem() of where the action mails the gift to; empty also without such a gift.
std::string problem_of_target(store::Store& store, const ResendAction& action, UtcMillis now) {
  const auto gifts = store.gifts.find(std::span(&action.gift, 1));
  if (gifts.empty()) return {};
  const std::string& email = gifts.front().transaction.email;
  const bool is_other = action.email && email_key(*action.email) != email_key(email);
  if (is_other && is_test_address(*action.email))
    return *action.email + " is for tests with a test key: give the recipient's address";
  return address_problem(store.do_not_send, action.allowed_domains, is_other ? *action.email : email,
                         is_other, now);
}

}  // namespace

ActionResult resend(store::Store& store, const ResendAction& action, UtcMillis now) {
  ActionResult result = refused("there is no such gift", Kind::unknown);
  const std::string problem = problem_of_target(store, action, now);
  std::optional<GiftRequestId> unmailed_request;
  store.lifecycle.enqueue_mail(action.gift, now, [&](const store::MailContext& view) {
    unmailed_request.reset();  // the callback may run again
    const std::string& before = view.gift.transaction.email;
    const bool to_other_address = action.email && email_key(*action.email) != email_key(before);
    const FoldedStatus state = state_of(view);
    std::optional<store::MailOrder> order;
    if (view.gift.request.mode == SendMode::urls && !is_ended(state)) unmailed_request = view.gift.request.id;
    const GiftVersion present{view.gift.transaction.version, view.mail ? view.mail->number : 0};
    if (action.seen && *action.seen != present) {
      result = refused("it has changed since it was read", Kind::outdated);
    } else if (auto fault = resend_problem(view, state, to_other_address)) {
      result = std::move(*fault);
    } else if (!problem.empty()) {
      result = refused(problem);
    } else {
      result = ActionResult{Kind::done, "", state, to_other_address, before};
      order = make_resend_order(view, state, action, to_other_address ? *action.email : before, now);
    }
    result.state = state;
    return order;
  });
  const auto link_source =
      unmailed_request ? describe_link_source(store.request_records, *unmailed_request) : std::nullopt;
  if (link_source) result.reason = *link_source;
  return result;
}

ActionResult cancel(store::ChangeLog& changes, store::LifecycleStore& lifecycle, TransactionId gift,
                    const std::string& who, UtcMillis now, const std::optional<store::AuditEvent>& audit) {
  const store::StatusChange change = cancellation_of(gift, now);
  const store::GiftAction action{gift, now, store::GiftActionKind::cancelled, who, ""};
  const OutcomeResult decided =
      apply_conditional_outcome(changes, change, lifecycle.withdraw_gift_effect(action, audit));
  ActionResult result;
  result.state = decided.state;
  switch (decided.outcome) {
    case store::ConditionalOutcome::accepted:
      result.kind = Kind::done;
      break;
    case store::ConditionalOutcome::unknown_transaction:
      result.reason = "giftsync sent no such gift";
      break;
    case store::ConditionalOutcome::refused:
    case store::ConditionalOutcome::effect_unavailable:
      result.kind = Kind::refused;
      result.reason = describe_end(decided.state);
      break;
  }
  return result;
}

namespace {

/// Why the gift cannot be extended until then, or that it need not be.
std::optional<ActionResult> extend_problem(const store::MailContext& view, const FoldedStatus& state,
                                           UtcMillis until, UtcMillis now) {
  if (is_sent_elsewhere(view)) return refused(kSentElsewhere, Kind::unknown);
  if (is_ended(state)) return refused("it was " + describe_status(state, state.status));
  if (view.gift.request.is_test)
    return refused("it is a test gift: its steps follow from the recipient's address");
  const auto terms = parse_terms(view.gift.request.terms);
  if (!terms) return refused("it does not expire");
  // As if it had been delivered: the refund of an undelivered gift is no expiry.
  FoldedStatus delivered = state;
  if (state.status == Status::undelivered) delivered.status = Status::sent;
  const UtcMillis by_terms = next_outcome(*terms, delivered, std::nullopt)->at;
  const UtcMillis present = std::max(by_terms, view.gift.transaction.extended_until.value_or(by_terms));
  // Also the extension of a repeated call, when its opening has moved the expiry further meanwhile.
  if (until == present || until == view.gift.transaction.extended_until)
    return refused("it can be accepted until then already", Kind::already);
  if (until < present)
    return refused("it can be accepted until " + to_rfc3339(present) + ", and its time is not shortened");
  if (until > by_terms + kMostExtensionMillis)
    return refused("by its terms it expires on " + to_rfc3339(by_terms) +
                   ", and it can be extended by at most 365 days, until " +
                   to_rfc3339(by_terms + kMostExtensionMillis));
  // A gift whose expiry was voided may be past all its times: this would end it.
  if (until <= now) return refused(to_rfc3339(until) + " has passed");
  return std::nullopt;
}

}  // namespace

ActionResult extend(store::Store& store, const ExtendAction& action, UtcMillis now) {
  ActionResult result = refused("there is no such gift", Kind::unknown);
  store.lifecycle.enqueue_mail(action.gift, now, [&](const store::MailContext& view) {
    const FoldedStatus state = state_of(view);
    std::optional<store::MailOrder> order;
    if (auto problem = extend_problem(view, state, action.until, now)) {
      result = std::move(*problem);
    } else {
      const store::RecipientTransaction& before = view.gift.transaction;
      store::Gift after = view.gift;
      after.transaction.extended_until = action.until;
      order = store::MailOrder{MailKind::gift, before.email, false, before.last_reminder_day};
      order->due_at = next_timer_at(after, state);
      order->extended_until = action.until;
      order->audit = action.audit;
      if (order->audit) order->audit->detail = "until " + to_rfc3339(action.until);
      order->action = store::GiftAction{before.id, now, store::GiftActionKind::extended, action.who,
                                        "until " + to_rfc3339(action.until)};
      result = ActionResult{Kind::done, "", state, false, before.email};
    }
    result.state = state;
    return order;
  });
  return result;
}

namespace {

store::StatusChange page_change(TransactionId gift, Status status, UtcMillis now) {
  return {{}, kPageSource, gift, status, now, now, {}};
}

bool is_open(const FoldedStatus& state) {
  return allows(state, {{}, kPageSource, {}, Status::redeemed, {}, {}, {}});
}

/// Not after the choice that follows: a clock that was set back must not date it later.
bool was_opened(store::ChangeLog& log, TransactionId gift, UtcMillis by) {
  const auto spans = log.spans_of(std::span(&gift, 1));
  return std::any_of(spans.begin(), spans.end(), [by](const store::ChangeSpan& span) {
    return span.status == Status::opened && span.earliest <= by;
  });
}

}  // namespace

store::Decision opened_decision(TransactionId gift, UtcMillis now) {
  return {page_change(gift, Status::opened, now),
          [](UtcMillis sent_at, std::span<const store::ChangeSpan> so_far) {
            const FoldedStatus state = fold(sent_at, so_far);
            return is_open(state) && !state.times[Status::opened];
          },
          {}};
}

store::ConditionalOutcome record_opened(store::ChangeLog& log, TransactionId gift, UtcMillis now) {
  const store::Decision opened = opened_decision(gift, now);
  return log.accept_if(opened.change, opened.condition, opened.effect);
}

PendingOutcome redeem_or_donate_decision(store::ChangeLog& log, TransactionId gift, Status choice,
                                         UtcMillis now, const store::TransactionEffect& effect) {
  // If it is opened between this read and the decision, both openings are stored and the earlier one counts.
  if (was_opened(log, gift, now)) return {page_change(gift, choice, now), effect};
  return {page_change(gift, choice, now),
          effect.and_then(log.additional_change(page_change(gift, Status::opened, now)))};
}

OutcomeResult redeem_or_donate(store::ChangeLog& log, TransactionId gift, Status choice, UtcMillis now,
                               const store::TransactionEffect& effect) {
  const PendingOutcome pending = redeem_or_donate_decision(log, gift, choice, now, effect);
  const store::Decision& decision = pending.decision();
  return pending.result(log.accept_if(decision.change, decision.condition, decision.effect));
}

FoldedStatus current_status(store::ChangeLog& log, const store::RecipientTransaction& gift) {
  return current_status(gift, log.spans_of(std::span(&gift.id, 1)));
}

FoldedStatus current_status(const store::RecipientTransaction& gift,
                            std::span<const store::ChangeSpan> changes) {
  return fold(gift.times[Status::sent].value_or(UtcMillis{}), changes, gift.untimed_status);
}

store::NewGiftRequest new_gift_request(GiftToSend gift, UtcMillis now) {
  store::NewGiftRequest created;
  store::GiftRequest& request = created.request;
  request.account = gift.sender.id;
  request.mode = gift.mode;
  request.gift = gift.item.id;
  request.item_name = gift.item.name;
  request.item_description = gift.item.description;
  request.costs = gift.item.costs;
  request.sender_email = gift.sender.email;
  request.sender_name = gift.sender.name;
  request.utm_campaign_id = std::move(gift.utm_campaign_id);
  request.reference = std::move(gift.reference);
  request.triggered_by = std::move(gift.triggered_by);
  request.created_at = now;
  request.credential_prefix = std::move(gift.credential_prefix);
  request.http_request_id = std::move(gift.http_request_id);
  request.organization = gift.sender.organization;
  request.is_test = is_test_key(request.credential_prefix);
  created.recipients = std::move(gift.recipients);
  created.warnings = std::move(gift.warnings);
  created.idempotency = std::move(gift.idempotency);
  created.request_record = std::move(gift.request_record);
  return created;
}

}  // namespace giftsync::sync
