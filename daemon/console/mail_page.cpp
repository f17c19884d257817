// The mail outbox: what pauses it, what waits, and the mails of one state (CON-32).
#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "daemon/console/access.h"
#include "daemon/console/gift_actions.h"
#include "daemon/console/gift_filter.h"
#include "daemon/console/pages.h"
#include "platform/text.h"
#include "schema/store/statements/bounded_count.h"
#include "sync/gift/gift_actions.h"
#include "sync/mail/delivery_rules.h"

namespace giftsync::console {
namespace {
using store::ListedMail;
using store::MailAction;

/// Those that need attention first.
constexpr std::array kListedStates{
    DeliveryState::held,    DeliveryState::uncertain, DeliveryState::undelivered, DeliveryState::queued,
    DeliveryState::sending, DeliveryState::withdrawn, DeliveryState::accepted};
constexpr std::string_view kAll = "all";
constexpr std::string_view kRetry = "retry";

/// By descending gift; `older`: where the next page begins.
struct MailPage {
  std::vector<ListedMail> mails = {};
  std::optional<TransactionId> older = {};
  std::optional<UtcMillis> searched_back_to = {};  ///< the search stopped there
};

/// The mails in these states. Each state has its own index.
MailPage list_mails(const PageCall& call, std::span<const DeliveryState> states,
                    std::optional<TransactionId> before) {
  MailPage page;
  for (const DeliveryState state : states)
    for (ListedMail& mail : call.store().deliveries.list(call.viewer(), state, before, kRowsWithForms + 1))
      page.mails.push_back(std::move(mail));
  std::sort(page.mails.begin(), page.mails.end(), [](const ListedMail& listed_mail, const ListedMail& other) {
    return other.transaction < listed_mail.transaction;
  });
  if (page.mails.size() <= kRowsWithForms) return page;
  page.mails.erase(page.mails.begin() + static_cast<std::ptrdiff_t>(kRowsWithForms), page.mails.end());
  page.older = page.mails.back().transaction;
  return page;
}

/// Those of the viewer's next gifts, of these states. The mails of one organization may be far apart among
/// all that were accepted, so this looks at as many gifts as the list of gifts does (CON-17).
MailPage search_mails(const PageCall& call, std::span<const DeliveryState> states,
                      std::optional<TransactionId> before) {
  const auto gifts = call.store().console_gifts.list(call.viewer(), {}, before, kRowsWithForms);
  MailPage page{.older = gifts.next_before, .searched_back_to = gifts.searched_back_to};
  std::vector<TransactionId> ids;
  for (const store::ConsoleGift& console_gift : gifts.gifts) ids.push_back(console_gift.gift.transaction.id);
  for (ListedMail& mail : call.store().deliveries.list(call.viewer(), ids))
    if (std::find(states.begin(), states.end(), mail.state) != states.end())
      page.mails.push_back(std::move(mail));
  return page;
}

MailPage mails_of(const PageCall& call, std::span<const DeliveryState> states,
                  std::optional<TransactionId> before) {
  const bool has_accepted = std::find(states.begin(), states.end(), DeliveryState::accepted) != states.end();
  return has_accepted && call.viewer().organization ? search_mails(call, states, before)
                                                    : list_mails(call, states, before);
}

/// The list that was asked for; else held mails, which wait for a decision, where there are any, else all.
std::string asked_list(const PageCall& call) {
  std::string asked = field(call.query, "state");
  for (const DeliveryState state : kListedStates)
    if (to_word(state) == asked) return asked;
  if (asked.empty() && !call.store().deliveries.list(call.viewer(), DeliveryState::held, {}, 1).empty())
    return std::string(to_word(DeliveryState::held));
  return std::string(kAll);
}

std::vector<NotApplied> not_applied(const PageCall& call) {
  auto found = unknown_filters(call.query, {"state", "before"});
  const std::string state = field(call.query, "state");
  const std::string before = field(call.query, "before");
  if (!state.empty() && state != kAll && state != asked_list(call)) found.push_back({"state", state});
  if (!before.empty() && !parse_number<std::int64_t>(before)) found.push_back({"before", before});
  return found;
}

std::vector<DeliveryState> states_of(const std::string& list) {
  std::vector<DeliveryState> states;
  for (const DeliveryState state : kListedStates)
    if (list == kAll || list == to_word(state)) states.push_back(state);
  return states;
}

/// The pauses and `counts`, by the words of the states, are those of all organizations. Returns whether there
/// is a pause, or a mail that waits.
bool add_queue(Data& data, const PageCall& call, std::map<std::string, std::string>& counts) {
  const auto breakers = call.store().deliveries.breakers();
  bool waits = !breakers.empty();
  if (const auto pause = call.store().mail_pauses.state().pause) {
    Data by_admin;
    by_admin.set("text", shown_text(call.viewer(), sync::describe(*pause)));
    data.set("by_admin", by_admin);
  }
  const auto pause_data = [&](const store::CircuitBreaker& breaker) {
    Data pause;
    pause.set("daemon", breaker.daemon);
    pause.set("relay", breaker.relay);
    pause.set("reason", shown_text(call.viewer(), breaker.reason));
    pause.set("since", time_data(breaker.since));
    pause.set("until", time_data(breaker.until));
    pause.set("failures", std::to_string(breaker.failures));
    return pause;
  };
  data.set("pauses", list_of(breakers, pause_data));
  for (const auto& [state, count] : call.store().deliveries.count_by_state()) {
    waits = waits || (state == DeliveryState::queued && count > 0);
    counts[std::string(to_word(state))] =
        count > store::kMaxCounted
            ? texts().text("more_than", {{"count", std::to_string(store::kMaxCounted)}})
            : std::to_string(count);
  }
  if (const auto oldest = call.store().deliveries.oldest_due(call.now))
    data.set("oldest", time_data(*oldest));
  data.set("has_queue", true);
  return waits;
}

/// The states as tabs, those that need attention first: {url, text, current, count}; of what is accepted, and
/// of none, without a count.
Data tabs_of(const PageCall& call, const std::string& list,
             const std::map<std::string, std::string>& counts) {
  Data tabs(Data::type::list);
  const auto add = [&](const std::string& word, const std::string& text) {
    Data tab;
    tab.set("url", call.url().base + "/mail?" + query_of({{"state", word}}));
    tab.set("text", text);
    tab.set("current", word == list);
    const std::string count = field(counts, word);
    if (count != "0" && word != to_word(DeliveryState::accepted)) set_text(tab, "count", count);
    tabs << tab;
  };
  for (const DeliveryState state : kListedStates)
    add(std::string(to_word(state)), word_text("mail_is_", state));
  add(std::string(kAll), texts().text("mail_all"));
  return tabs;
}

void add_button(Data& buttons, const PageCall& call, const ListedMail& mail, const std::string& action) {
  Data button = form_data(call, "/mail/" + std::to_string(mail.transaction.value) + "/" + action);
  button.set("text", texts().text("mail_action_" + action));
  if (action != kRetry) button.set("confirmation", texts().text("mail_confirm_" + action));
  buttons << button;
}

Data row_data(const PageCall& call, const ListedMail& mail) {
  const DeliveryState state = mail.state;
  Data row;
  const bool is_deferred =
      state == DeliveryState::queued && mail.next_attempt_at > call.now && mail.attempts > 0;
  row.set("state", badge_data(is_deferred ? "mail_is_deferred" : "mail_is_" + std::string(to_word(state))));
  if (!mail.withdrawn_by.empty())
    row.set("withdrawn_by", texts().text("sent_by", {{"who", mail.withdrawn_by}}));
  const bool is_gifts = is_of_gift(mail.kind);
  if (is_gifts) row.set("gift", std::to_string(mail.transaction.value));
  row.set("kind", word_text("mail_kind_", mail.kind));
  row.set("email", mail.email);
  set_address(row, "address", mail.email);
  row.set("attempts", std::to_string(mail.attempts));
  row.set("updated", time_data(mail.updated_at));
  if (state == DeliveryState::queued || state == DeliveryState::uncertain)
    row.set("next", time_data(mail.next_attempt_at));
  set_text(row, "reply", mail.last_reply);
  if (!may(call.viewer().roles, Permission::operate)) return row;
  Data buttons(Data::type::list);
  if (state == DeliveryState::held) add_button(buttons, call, mail, "release");
  // Whether a mail of these left is in the relay's log, under its Message-ID.
  if (state == DeliveryState::held || state == DeliveryState::uncertain)
    set_text(row, "message_id", mail.message_id);
  // A notice's mail keeps its pause, and is withdrawn by itself.
  if (is_gifts && state == DeliveryState::queued && mail.next_attempt_at > call.now)
    add_button(buttons, call, mail, std::string(kRetry));
  if (is_gifts && state != DeliveryState::undelivered && state != DeliveryState::withdrawn &&
      state != DeliveryState::accepted)
    add_button(buttons, call, mail, "withdraw");
  row.set("buttons", buttons);
  return row;
}

/// Nothing when the user may not do it. The mail of a notice belongs to no gift and no organization.
std::optional<store::AuditEvent> event_for(const PageCall& call, TransactionId mail, MailAction action,
                                           const std::string& name) {
  if (mail.value < 0) {
    if (action != MailAction::release || !sees_installation(call.viewer())) return std::nullopt;
    return store::is_mail_to_sender(mail)
               ? event_of(call, "mail." + name, "sender", std::to_string(-store::kSenderMailIds - mail.value))
               : event_of(call, "mail." + name, "approver", call.parameter.substr(1));
  }
  const auto gift = call.store().console_gifts.find(call.viewer(), mail);
  return gift ? std::optional(gift_event(call, "mail." + name, gift->gift)) : std::nullopt;
}

/// No mail is sent again to an address that gets none (GUARD-1, GUARD-6). The refusal is an event by itself.
bool is_refused(const PageCall& call, TransactionId mail, store::AuditEvent event) {
  const auto held = mail.value > 0 ? call.store().deliveries.find(mail) : std::nullopt;
  if (!held || held->state != DeliveryState::held) return false;
  event.detail =
      sync::address_problem(call.store().do_not_send, allowed_domains(call), held->email, false, call.now);
  if (event.detail.empty()) return false;
  event.refused = true;
  call.store().audit.add(event);
  return true;
}

http::HttpResponse act(const PageCall& call, MailAction action, const std::string& name) {
  const auto number = parse_number<std::int64_t>(call.parameter);
  const auto event = number ? event_for(call, {*number}, action, name) : std::nullopt;
  if (!event) return not_found(call);
  // Neither can be undone: it may arrive twice, or does not arrive.
  if (name != kRetry && field(call.form, "confirm") != "1")
    return redirect_with_notice(call, "/mail", "not_confirmed");
  if (action == MailAction::release && is_refused(call, {*number}, *event))
    return redirect_with_notice(call, "/mail", "mail_refused");
  const bool is_done = call.store().deliveries.apply({*number}, action, *event, call.now);
  return redirect_with_notice(call, "/mail", is_done ? "mail_done_" + name : "mail_not_done");
}

}  // namespace

http::HttpResponse mail_page(const PageCall& call) {
  const std::string list = asked_list(call);
  const auto before = parse_number<std::int64_t>(field(call.query, "before"));
  const auto faults = not_applied(call);
  MailPage found;
  if (faults.empty())
    found = mails_of(call, states_of(list), before ? std::optional(TransactionId{*before}) : std::nullopt);
  Data data;
  set_not_applied(data, faults,
                  call.url().base + (field(call.query, "state") == list ? "/mail?state=" + list : "/mail"));
  std::map<std::string, std::string> counts;
  if (sees_installation(call.viewer())) {
    const bool waits = add_queue(data, call, counts);
    if (waits && may(call.viewer().roles, Permission::operate))
      data.set("retry", form_data(call, "/mail/retry"));
  }
  data.set("tabs", tabs_of(call, list, counts));
  data.set("acts", may(call.viewer().roles, Permission::operate));
  set_list(data, "rows", list_of(found.mails, [&](const ListedMail& mail) { return row_data(call, mail); }));
  data.set("list", texts().text("mail_" + list));
  data.set("all", list == kAll);
  const std::string url = call.url().base + "/mail?";
  if (before) data.set("newest", url + query_of({{"state", list}}));
  if (found.searched_back_to)
    data.set("searched", texts().text("searched_mails", {{"time", minute(*found.searched_back_to)}}));
  if (found.older)
    data.set("older", url + query_of({{"state", list}, {"before", std::to_string(found.older->value)}}));
  return page(call, "mail", texts().text("mail"), std::move(data));
}

/// As "giftsyncctl mail retry --all" does.
http::HttpResponse retry_mails(const PageCall& call) {
  if (!sees_installation(call.viewer())) return not_found(call);
  store::AuditEvent event = event_of(call, "mail.retry-all", "mail");
  event.detail = "deferred mails";
  call.store().deliveries.retry_deferred(std::nullopt, call.now, event);
  event.action = "mail.end-pauses";
  event.detail = "pauses";
  call.store().deliveries.reset_breakers_after(call.now, call.now, event);
  const bool stays_paused = call.store().mail_pauses.state().pause.has_value();
  return redirect_with_notice(call, "/mail", stays_paused ? "mail_done_all_paused" : "mail_done_all");
}

http::HttpResponse release_mail(const PageCall& call) {
  return act(call, MailAction::release, "release");
}
http::HttpResponse withdraw_mail(const PageCall& call) {
  return act(call, MailAction::withdraw, "withdraw");
}
http::HttpResponse retry_mail(const PageCall& call) {
  return act(call, MailAction::retry, "retry");
}

}  // namespace giftsync::console
