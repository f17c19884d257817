#include "daemon/console/gift_actions.h"

#include "daemon/config/text_checks.h"
#include "daemon/console/access.h"
#include "daemon/console/crm_questions.h"
#include "daemon/console/pages.h"
#include "platform/text.h"
#include "schema/store/crm/crm_change_events.h"
#include "sync/gift/gift_actions.h"

namespace giftsync::console {
namespace {

using store::ConsoleGift;

std::optional<ConsoleGift> find_gift_as(const PageCall& call, const store::Viewer& viewer) {
  const auto number = parse_number<std::int64_t>(call.parameter);
  return number ? call.store().console_gifts.find(viewer, {*number}) : std::nullopt;
}

/// One form of a gift's page. `problem`: why it does not apply; it is disabled then.
Data action_data(const PageCall& call, const ConsoleGift& gift, const std::string& name,
                 const std::string& problem) {
  Data made = form_data(call, path_of(gift.gift) + "/" + name);
  made.set("name", name);
  made.set("icon", name == "cancel" ? "undo" : name == "retry" ? "cloud" : "again");
  made.set("danger", name == "cancel");
  made.set("title", texts().text(name + "_gift"));
  made.set("button", texts().text(name + "_button"));
  made.set("text", problem.empty()
                       ? texts().text(name + "_text")
                       : texts().text("not_possible", {{"reason", with_readable_times(problem)}}));
  made.set("disabled", !problem.empty());
  return made;
}

Data resend_data(const PageCall& call, const ConsoleGift& gift, const store::MailContext& view) {
  auto same = sync::resend_problem(view, false);
  const auto other = sync::resend_problem(view, true);
  Data made = action_data(call, gift, "resend", other ? other->reason : "");
  made.set("has_address", !other);
  made.set("generation", std::to_string(gift.gift.transaction.generation));
  const std::string& address = gift.gift.transaction.email;
  if (other) return made;
  const std::string problem = same ? std::string()
                                   : sync::address_problem(call.store().do_not_send, allowed_domains(call),
                                                           view.gift.transaction.email, false, call.now);
  if (!problem.empty()) same = sync::ActionResult{sync::ActionResult::Kind::refused, problem, {}, false, {}};
  made.set("confirmation", same || address.empty() ? texts().text("resend_confirm_other")
                                                   : texts().text("resend_confirm", {{"address", address}}));
  set_text(made, "cost", cost_text(call, kMostRematchCalls));
  if (view.mail && view.mail->state == DeliveryState::held)
    made.set(
        "text",
        texts().text("resend_text") + " " + texts().text("resend_may_repeat") +
            (may(call.viewer().roles, Permission::operate) ? " " + texts().text("resend_on_mail_page") : ""));
  if (!same) return made;
  made.set("needs_address", true);
  made.set("text", texts().text("resend_other_only", {{"reason", with_readable_times(same->reason)}}));
  return made;
}

/// Nothing was changed: the refusal is an event by itself.
http::HttpResponse refuse(const PageCall& call, const ConsoleGift& gift, store::AuditEvent event,
                          const std::string& reason) {
  event.refused = true;
  event.detail = reason;
  call.store().audit.add(event);
  return redirect_with_notice(call, path_of(gift.gift), "not_done");
}

/// The gift may belong to another contact now. Returns the notice.
std::string rematch_after_resend(const PageCall& call, TransactionId id) {
  std::optional<matching::RematchResult> result;
  const std::string away = change_crm(call, [&](crm::Crm& crm) {
    result = matching::rematch_readdressed(call.store(), crm, rematch_rules(call), id, call.now);
  });
  using Kind = matching::RematchResult::Kind;
  const bool is_undone =
      !away.empty() || (result && (result->kind == Kind::failed || result->kind == Kind::not_found));
  return is_undone ? "resent_not_matched" : "resent_to_other";
}

}  // namespace

store::Viewer acting_viewer(const store::Viewer& viewer) {
  store::Viewer acting = viewer;
  acting.roles.erase(Role::auditor);
  acting.roles.erase(Role::approver);
  return acting;
}

std::optional<ConsoleGift> find_gift(const PageCall& call) {
  return find_gift_as(call, call.viewer());
}

std::optional<ConsoleGift> find_gift_to_change(const PageCall& call) {
  return find_gift_as(call, acting_viewer(call.viewer()));
}

store::AuditEvent gift_event(const PageCall& call, const std::string& action, const store::Gift& gift) {
  store::AuditEvent event = event_of(call, action, "gift", std::to_string(gift.transaction.id.value));
  const auto sender = call.store().accounts.find_by_email(gift.request.sender_email);
  if (sender && sender->organization) event.organization = sender->organization;
  return event;
}

std::string path_of(const store::Gift& gift) {
  return "/gifts/" + std::to_string(gift.transaction.id.value);
}

std::string recipient_name(const store::RecipientTransaction& transaction) {
  return std::string(trimmed(transaction.first_name + " " + transaction.last_name));
}

void add_gift_actions(const PageCall& call, const ConsoleGift& shown, Data& data) {
  data.set("sees_crm", may(call.viewer().roles, Permission::see_crm));
  data.set("path", call.url().base + path_of(shown.gift));
  if (!may(call.viewer().roles, Permission::act_on_gifts)) return;
  const auto gift = find_gift_to_change(call);
  if (!gift) return;
  const TransactionId id = gift->gift.transaction.id;
  const store::MailContext view{gift->gift, call.store().changes.spans_of(std::span(&id, 1)),
                                call.store().deliveries.find(id)};
  Data actions(Data::type::list);
  actions << resend_data(call, shown, view);
  const std::string problem = sync::cancel_problem(view);
  Data cancel = action_data(call, *gift, "cancel", problem);
  if (problem.empty()) cancel.set("confirmation", texts().text("cancel_confirm"));
  actions << cancel;
  if (may(call.viewer().roles, Permission::act_on_crm))
    actions << action_data(call, *gift, "retry", sync::retry_problem(call.store().sync, id, call.now));
  data.set("actions", actions);
  data.set("has_actions", true);
}

http::HttpResponse resend_gift(const PageCall& call) {
  const auto gift = find_gift_to_change(call);
  if (!gift) return not_found(call);
  if (field(call.form, "confirm") != "1")
    return redirect_with_notice(call, path_of(gift->gift), "not_confirmed");
  std::string email(trimmed(field(call.form, "email")));
  if (!email.empty() && config::check_email_address(email))
    return redirect_with_notice(call, path_of(gift->gift), "bad_address");
  sync::ResendAction action{gift->gift.transaction.id, std::nullopt, call.by->user.email,
                            gift_event(call, "gift.resend", gift->gift)};
  action.allowed_domains = allowed_domains(call);
  if (!email.empty()) action.email = email;
  // The confirmation names an address, and each address is a generation of its own.
  if (email.empty() && field(call.form, "generation") != std::to_string(gift->gift.transaction.generation))
    return refuse(call, *gift, *action.audit, "the address was changed after it was shown");
  const sync::ActionResult result = sync::resend(call.store(), action, call.now);
  if (result.kind != sync::ActionResult::Kind::done) return refuse(call, *gift, *action.audit, result.reason);
  const std::string notice = result.is_readdressed ? rematch_after_resend(call, action.gift) : "resent";
  call.console.options.wake_workers();
  return redirect_with_notice(call, path_of(gift->gift), notice);
}

http::HttpResponse cancel_gift(const PageCall& call) {
  const auto gift = find_gift_to_change(call);
  if (!gift) return not_found(call);
  if (field(call.form, "confirm") != "1")
    return redirect_with_notice(call, path_of(gift->gift), "not_confirmed");
  const store::AuditEvent event = gift_event(call, "gift.cancel", gift->gift);
  const sync::ActionResult result =
      sync::cancel(call.store().changes, call.store().lifecycle, gift->gift.transaction.id,
                   call.by->user.email, call.now, event);
  if (result.kind != sync::ActionResult::Kind::done) return refuse(call, *gift, event, result.reason);
  call.console.options.wake_workers();
  return redirect_with_notice(call, path_of(gift->gift), "cancelled");
}

http::HttpResponse retry_gift(const PageCall& call) {
  const auto gift = find_gift_to_change(call);
  if (!gift) return not_found(call);
  const TransactionId id = gift->gift.transaction.id;
  store::AuditEvent event = gift_event(call, "gift.retry", gift->gift);
  event.detail = store::kRetriedRecords;
  // Asked for the reason afterwards: another user, or the daemon, may have been first.
  if (call.store().sync.reset_rejected(std::span(&id, 1), call.now, event) == 0) {
    const std::string problem = sync::retry_problem(call.store().sync, id, call.now);
    return refuse(call, *gift, event, problem.empty() ? "it was tried meanwhile" : problem);
  }
  call.console.options.wake_workers();
  return redirect_with_notice(call, path_of(gift->gift), "retried");
}

}  // namespace giftsync::console
