// One request record, and the decision on it. An approval applies to the content that the page showed: the
// form brings that content back, and another one is refused with the difference (CON-29).
#include <algorithm>
#include <span>

#include "daemon/console/access.h"
#include "daemon/console/pages.h"
#include "daemon/console/request_facts.h"
#include "platform/digest.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"
#include "sync/request/request_record_approval.h"
#include "sync/request/request_record_reconcile.h"
#include "sync/request/request_record_state_machine.h"

namespace giftsync::console {
namespace {

using Action = sync::RequestRecordAction;
using State = store::RequestRecordState;

constexpr std::size_t kMaxNoteCodePoints = 1'000;
constexpr int kMaxReads = 3;
/// The comment of the transition to Sent names the number of the gift request.
constexpr std::string_view kGiftRequest = "gift request ";

/// A decision that was refused because the record has another content by now.
struct RefusedDecision {
  Action action = Action::approve;
  std::string seen;  ///< the content that it was about
  std::string note;
};

/// The state and the history of one moment: a request that is being sent changes between two reads (CON-46).
std::optional<ShownRequest> find_stored(const PageCall& call) {
  const auto owner = owner_of_requests(call);
  store::RequestRecords& records = call.store().request_records;
  auto entry = records.find(call.viewer(), owner, call.parameter);
  for (int reads = 0; entry; ++reads) {
    ShownRequest shown{*entry, records.find_transitions(entry->record_id),
                       records.find_edits(entry->record_id, kMaxEdits + 1)};
    entry = records.find(call.viewer(), owner, call.parameter);
    if (entry && (entry->version == shown.entry.version || reads == kMaxReads)) return shown;
  }
  return std::nullopt;
}

std::optional<ShownRequest> find_request(const PageCall& call) {
  auto stored = find_stored(call);
  if (!stored) return std::nullopt;
  ShownRequest shown = std::move(*stored);
  if (!decides_requests_here(call) || shown.entry.deleted) return shown;
  crm::RequestRecords& records = *call.console.options.crm.crm->request_records();
  const auto rows = records.find(std::span(&shown.entry.record_id, 1));
  if (rows.empty()) return shown;
  shown.is_own = are_own_requests(call, rows).front();
  shown.loaded = sync::load_with_defaults(records, rows).front();
  return shown;
}

/// Empty while the record is not rejected.
std::string rejected_by(const ShownRequest& shown) {
  std::string who;
  if (shown.entry.state != State::rejected) return who;
  for (const auto& transition : shown.transitions)
    if (transition.to == to_word(State::rejected)) who = transition.who;
  return who;
}

/// The essence, and what became of the request.
Data summary_of(const PageCall& call, const ShownRequest& shown, const Names& names) {
  Data lines(Data::type::list);
  if (const auto content = content_of(shown))
    add_essence(lines, call, *content, names);
  else
    add_line(lines, "requested_by", requester_text(shown.entry.requested_by));
  add_line(lines, "approved_by", shown.entry.approved_by);
  add_line(lines, "rejected_by", rejected_by(shown));
  const std::string& error = shown.entry.error;
  if (sync::is_withdrawal(error))
    add_line(lines, "approval_withdrawn", error);
  else
    add_line(lines, "error", masked_text(hides_recipients(call), error));
  if (shown.entry.failures > 0) add_time(lines, "next_attempt", shown.entry.next_attempt_at);
  if (shown.entry.deleted) add_line(lines, "state", texts().text("request_deleted"));
  return lines;
}

/// Whether giftsync wrote the comment, and not a person: notes belong to decisions alone.
bool is_own_comment(const store::RequestRecordTransition& transition) {
  const bool is_decision =
      transition.to == to_word(State::approved) || transition.to == to_word(State::rejected);
  return !is_decision && (transition.comment == "made" || transition.comment == "first seen" ||
                          transition.comment.starts_with(kGiftRequest));
}

/// A gift that was sent for the record, and what people did with it since.
struct SentGift {
  store::RecipientTransaction transaction;
  bool is_seen = false;          ///< by the user
  bool shows_recipient = false;  ///< approvers see those of all requests (CON-16)
  std::vector<store::GiftAction> actions = {};

  std::string name() const {
    return texts().text("gift_number", {{"id", std::to_string(transaction.id.value)}});
  }
  /// Empty where the user does not see it.
  std::string url(const PageCall& call) const {
    return is_seen ? url_of(call, "/gifts/" + std::to_string(transaction.id.value)) : "";
  }
};

std::vector<SentGift> sent_gifts_of(const PageCall& call, const ShownRequest& shown) {
  std::vector<SentGift> gifts;
  for (const auto& sent : call.store().request_records.find_gifts_by_record({&shown.entry.record_id, 1}))
    for (auto& recipient : call.store().gifts.find_recipients(sent.gift_request)) {
      SentGift gift{std::move(recipient)};
      gift.is_seen = call.store().console_gifts.find(call.viewer(), gift.transaction.id).has_value();
      gift.shows_recipient = may(call.viewer().roles, Permission::decide_requests) ||
                             (gift.is_seen && !call.viewer().is_masked());
      gift.actions = call.store().lifecycle.find_actions(gift.transaction.id);
      gifts.push_back(std::move(gift));
    }
  return gifts;
}

/// Links to the gifts that were sent for the record, those that the user sees; and of each one that went to
/// another address after the approval where and when (CON-36).
void add_gifts(Data& data, const PageCall& call, const std::vector<SentGift>& sent) {
  Data gifts(Data::type::list);
  Data moved(Data::type::list);
  for (const SentGift& gift : sent) {
    const auto last = std::find_if(gift.actions.rbegin(), gift.actions.rend(),
                                   [](const auto& action) { return action.is_readdressed; });
    if (last != gift.actions.rend()) {
      // Who does not see the gift gets nothing of the address.
      const std::string shown = masked_address(!gift.shows_recipient, gift.transaction.email);
      const std::string address = masked_text(!gift.is_seen && !gift.shows_recipient, shown);
      moved << Data("text",
                    texts().text("request_readdressed",
                                 {{"address", address}, {"who", last->actor}, {"time", minute(last->at)}}));
    }
    if (!gift.is_seen) continue;
    Data link;
    link.set("url", gift.url(call));
    link.set("text", gift.name());
    gifts << link;
  }
  data.set("has_gifts", gifts.is_non_empty_list());
  data.set("gifts_sent", gifts);
  data.set("readdressed", moved);
}

/// The change of the state; that to Sent once for each gift, with the gift in place of its gift request.
void add_transition(std::vector<TimelineEntry>& entries, const PageCall& call,
                    const store::RequestRecordTransition& transition, const std::vector<SentGift>& sent) {
  const bool is_hidden = hides_recipients(call) && !is_own_comment(transition);
  TimelineEntry entry{transition.at, texts().text("request_" + transition.to),
                      joined(transition.who, ": ", masked_text(is_hidden, transition.comment))};
  entry.look = "request_" + transition.to;
  if (transition.to != to_word(State::sent) || sent.empty()) return entries.push_back(std::move(entry));
  if (transition.comment.starts_with(kGiftRequest)) entry.detail = transition.who;
  for (const SentGift& gift : sent) {
    entry.object = gift.name();
    entry.object_url = gift.url(call);
    entries.push_back(entry);
  }
}

/// The record's edits and states, and what people did with its gifts.
Data history_of(const PageCall& call, const ShownRequest& shown, const std::vector<SentGift>& sent) {
  std::vector<TimelineEntry> entries;
  const auto newest = std::span(shown.edits).last(std::min(shown.edits.size(), kMaxEdits));
  for (const auto& one : newest)
    if (const std::string what = edit_text(one, hides_recipients(call)); !what.empty())
      entries.push_back({.at = one.at,
                         .text = texts().text("request_edited"),
                         .detail = joined(one.who, ": ", what),
                         .look = "request_edited"});
  for (const auto& transition : shown.transitions) add_transition(entries, call, transition, sent);
  for (const SentGift& gift : sent)
    for (const auto& action : gift.actions)
      entries.push_back(
          {.at = action.at,
           .text = word_text("action_", action.kind),
           .detail = joined(action.actor, ": ", masked_text(!gift.shows_recipient, action.comment)),
           .look = "action_" + std::string(to_word(action.kind))});
  Data history = timeline_data(std::move(entries));
  if (is_not_sent(shown.entry.state, shown.entry.error)) {
    Data last = badge_data("request_not_sent");  // without a time: that of a failed attempt is not stored
    last.set("text", texts().text("request_not_sent"));
    last.set("class", "event");
    last.set("detail", masked_text(hides_recipients(call), shown.entry.error));
    Data with_last(Data::type::list);
    with_last << last;
    for (const Data& entry : history.list_value()) with_last << entry;
    return with_last;
  }
  return history;
}

/// After a decision the way to the oldest request that waits for this user, or that none does.
void add_next(Data& data, const PageCall& call, const ShownRequest& shown) {
  if (!call.query.contains("notice") || shown.entry.state == State::pending) return;
  const bool may_decide = may(call.viewer().roles, Permission::decide_requests);
  const WaitingRequests waiting = requests_to_decide(call);
  const auto next = std::min_element(waiting.numbers.begin(), waiting.numbers.end());
  if (next == waiting.numbers.end()) {
    data.set("none_waits", may_decide && waiting.is_known && !waiting.is_cut);
    return;
  }
  data.set("next_url", url_of(call, path_of_request(*next)));
  data.set("next", texts().text("next_request", {{"number", *next}}));
}

/// What would keep the gift from being sent if a request that waits were approved now (CON-40): the findings,
/// that there are none, or that it was not checked.
void add_problems(Data& data, const PageCall& call, const ShownRequest& shown) {
  if (shown.entry.state != State::pending || shown.entry.deleted) return;
  std::optional<std::vector<sync::RequestRecordFinding>> found;
  const auto& check = call.console.options.check_request;
  if (shown.loaded && check) ask_responding_crm([&] { found = check(*shown.loaded); });
  if (!found || found->empty()) {
    data.set("check_outcome", texts().text(found ? "obstacles_none" : "obstacles_unchecked"));
    data.set("is_checked", found.has_value());
    return;
  }
  set_list(data, "obstacles", list_of(*found, [&](const sync::RequestRecordFinding& finding) {
             // What is said of a recipient quotes the address.
             const bool is_hidden = hides_recipients(call) && finding.check.starts_with("recipient");
             return Data("text", is_hidden ? finding.check + ": ***" : with_readable_times(finding.message));
           }));
}

/// The button's form; nothing where the state does not allow the action.
void add_form(Data& data, const PageCall& call, const ShownRequest& shown, Action action,
              const std::optional<RefusedDecision>& refused) {
  const std::string name = action == Action::approve ? "approve" : "reject";
  if (!sync::state_after(shown.entry.state, action)) return;
  if (action == Action::approve && shown.is_own) return;
  Data form = form_data(call, path_of_request(shown.name()) + "/" + name);
  form.set("version_name", "seen");
  form.set("version", to_base64url(shown.content()));
  form.set("note", refused && refused->action == action ? refused->note : "");
  form.set("has_note", refused && refused->action == action && !refused->note.empty());
  data.set(name, form);
  data.set("may_decide", true);
}

void add_difference(Data& data, const PageCall& call, const std::string& key, const std::string& before,
                    const ShownRequest& shown) {
  if (before.empty() || before == shown.content()) return;
  const RequestRecord old = parsed_content(before);
  data.set(key, difference_data(call, shown.loaded->completed, old));
  data.set("has_" + key, true);
}

std::string own_text(const PageCall& call, const ShownRequest& shown) {
  const bool has_asked = email_key(shown.entry.requested_by) == email_key(call.by->user.email);
  return texts().text(has_asked ? "request_own" : "request_of_sender");
}

/// What the user may do with the record, or who may.
void add_decision(Data& data, const PageCall& call, const ShownRequest& shown,
                  const std::optional<RefusedDecision>& refused) {
  if (!shown.loaded) return;
  if (!may(call.viewer().roles, Permission::decide_requests)) {
    data.set("others_decide", shown.entry.state == State::pending);
    return;
  }
  if (shown.is_own && sync::state_after(shown.entry.state, Action::approve))
    data.set("own", own_text(call, shown));
  add_form(data, call, shown, Action::approve, refused);
  add_form(data, call, shown, Action::reject, refused);
}

http::HttpResponse show(const PageCall& call, const ShownRequest& shown,
                        const std::optional<RefusedDecision>& refused = {}) {
  const bool is_masked = hides_recipients(call);
  const Names names = names_of(call, shown);
  const std::vector<SentGift> sent = sent_gifts_of(call, shown);
  Data data;
  data.set("state", badge_data(request_state_key(shown.entry.state, shown.entry.error)));
  data.set("number", shown.name());
  data.set("summary", summary_of(call, shown, names));
  data.set("details", details_of(call, shown));
  data.set("timeline", history_of(call, shown, sent));
  data.set("has_more_edits", shown.edits.size() > kMaxEdits);
  data.set("masked", is_masked);
  add_gifts(data, call, sent);
  add_next(data, call, shown);
  set_text(data, "audit_url", history_url(call, "request", shown.name()));
  if (const auto content = content_of(shown)) {
    data.set("essence", essence_of(call, *content));
    data.set("content", fields_data(*content, is_masked, names));
    data.set("has_content", true);
  }
  if (shown.loaded) {
    if (refused) add_difference(data, call, "seen_difference", refused->seen, shown);
    add_difference(data, call, "difference", shown.entry.approved_content, shown);
  }
  data.set("in_salesforce", uses_request_records(call) && !decides_requests_here(call));
  add_problems(data, call, shown);
  add_decision(data, call, shown, refused);
  http::HttpResponse response =
      page(call, "request", texts().text("request_number", {{"number", shown.name()}}), std::move(data));
  if (refused) response.status = 412;
  return response;
}

http::HttpResponse decide(const PageCall& call, Action action) {
  const auto shown = find_request(call);
  if (!shown || !shown->loaded) return not_found(call);
  const bool approves = action == Action::approve;
  const auto answer = [&](const std::string& notice) {
    return redirect_with_notice(call, path_of_request(shown->name()), notice);
  };
  store::AuditEvent event =
      event_of(call, approves ? "request.approve" : "request.reject", "request", shown->name());
  event.organization = owner_of_requests(call);
  const auto record_refusal = [&](const char* rule, const char* detail) {
    store::AuditEvent refusal = event;
    refusal.refused = true;
    refusal.rule = rule;
    refusal.detail = detail;
    call.store().audit.add(refusal);
  };
  if (approves && shown->is_own) {
    record_refusal("REQ-46", "the user's own request");
    return answer("request_own");
  }
  const auto seen = from_base64url(field(call.form, "seen"));
  const std::string note(truncated(trimmed(field(call.form, "note")), kMaxNoteCodePoints));
  if (!seen || seen->empty() || !is_storable_text(note)) return answer("request_refused");
  event.detail = note;
  const sync::ApprovalResult outcome = sync::decide_request_record(
      call.store().request_records, *call.console.options.crm.crm->request_records(), shown->name(),
      {action, call.by->user.email, note, {sync::version_of_content(*seen)}, event},
      call.store().request_records.now());
  using Kind = sync::ApprovalResult::Kind;
  if (outcome.kind == Kind::other_content) {
    record_refusal("CON-29", "the request was edited after the page was shown");
    const auto again = find_request(call);
    return again && again->loaded ? show(call, *again, RefusedDecision{action, *seen, note})
                                  : not_found(call);
  }
  if (outcome.kind != Kind::done && !outcome.is_stored) {
    record_refusal("CON-30", "the request's state does not allow it");
    return answer("request_refused");
  }
  call.console.options.on_request_decided();
  if (outcome.is_stored) return answer("request_stored");
  return answer(approves ? "request_approved" : "request_rejected");
}

}  // namespace

http::HttpResponse request_page(const PageCall& call) {
  const auto shown = find_request(call);
  return shown ? show(call, *shown) : not_found(call);
}

http::HttpResponse approve_request(const PageCall& call) {
  return decide(call, Action::approve);
}

http::HttpResponse reject_request(const PageCall& call) {
  return decide(call, Action::reject);
}

}  // namespace giftsync::console
