// One gift: what the store has about it, on one time axis.
#include "daemon/console/access.h"
#include "daemon/console/gift_actions.h"
#include "daemon/console/pages.h"
#include "daemon/console/request_access.h"
#include "daemon/console/request_facts.h"
#include "platform/text.h"
#include "schema/money.h"
#include "sync/lifecycle_rules.h"

namespace giftsync::daemon::console {
namespace {

using schema::store::ConsoleGift;

std::string amount(const std::optional<schema::Money>& money) {
  return money ? schema::to_decimal(*money) : std::string();
}

/// Of the timeline.
int step_of(schema::Status status) {
  using schema::Status;
  if (status == Status::delivered || status == Status::undelivered) return 3;
  return status == Status::opened ? 4 : 5;
}

void add_changes(std::vector<TimelineEntry>& timeline, schema::store::Store& store, schema::TransactionId id,
                 bool is_masked) {
  for (const schema::store::StatusChange& change : store.changes.history(id)) {
    TimelineEntry entry{change.occurred_at, word_text("status_", change.status),
                        texts().text("reported_by", {{"source", change.source}}), change.voiding.has_value()};
    entry.step = step_of(change.status);
    if (change.voiding)
      entry.detail +=
          "; " + texts().text("voided_by", {{"who", change.voiding->by},
                                            {"time", minute(change.voiding->at)},
                                            {"reason", masked_text(is_masked, change.voiding->reason)}});
    timeline.push_back(std::move(entry));
  }
}

/// Of one moment what people did, then the mail, then the statuses that follow from both
/// (CON-42). `is_masked`: without texts that may name the recipient.
std::vector<TimelineEntry> timeline_of(schema::store::Store& store, const ConsoleGift& row,
                                       const std::optional<schema::store::DeliveryRow>& mail,
                                       bool is_masked) {
  const schema::TransactionId id = row.gift.transaction.id;
  std::vector<TimelineEntry> timeline{
      {*row.gift.transaction.times[schema::Status::sent], texts().text("status_sent"),
       row.gift.request.sender_email.empty()
           ? ""
           : texts().text("sent_by", {{"who", row.gift.request.sender_email}})}};
  bool is_listed = false;  // by whom the mail was withdrawn
  for (const schema::store::GiftAction& action : store.lifecycle.find_actions(id)) {
    timeline.push_back({action.at, word_text("action_", action.kind),
                        joined(action.actor, ": ", masked_text(is_masked, action.comment))});
    using Kind = schema::store::GiftActionKind;
    timeline.back().step =
        action.kind == Kind::mail_accepted || action.kind == Kind::mail_undelivered ? 2 : 1;
    is_listed = is_listed || (mail && action.kind == schema::store::GiftActionKind::mail_withdrawn &&
                              action.at == mail->updated_at);
  }
  if (mail && !(is_listed && mail->state == schema::DeliveryState::withdrawn)) {
    timeline.push_back(
        {mail->updated_at, word_text("mail_", mail->state), masked_text(is_masked, mail->last_reply)});
    using State = schema::DeliveryState;
    timeline.back().step = mail->state == State::accepted || mail->state == State::undelivered ? 2 : 1;
  }
  add_changes(timeline, store, id, is_masked);
  return timeline;
}

/// The status with the changes that are stored and not in the gift's row yet, which follow within seconds:
/// the page would else contradict the timeline and what an action has just done (CON-46).
sync::FoldedStatus status_of(schema::store::Store& store, const schema::store::RecipientTransaction& gift) {
  if (!gift.gift_source.empty()) return sync::state_of(gift);
  return sync::fold(*gift.times[schema::Status::sent], store.changes.spans_of(std::span(&gift.id, 1)),
                    gift.untimed_status);
}

Data summary_of(const ConsoleGift& row, const sync::FoldedStatus& status,
                const std::optional<schema::store::DeliveryRow>& mail, const schema::store::Viewer& viewer) {
  const schema::store::RecipientTransaction& transaction = row.gift.transaction;
  const schema::store::GiftRequest& request = row.gift.request;
  Data lines(Data::type::list);
  const std::string name =
      transaction.first_name + (transaction.last_name.empty() ? "" : " ") + transaction.last_name;
  add_line(lines, "recipient", transaction.email);
  add_line(lines, "name", name);
  add_line(lines, "phone", transaction.phone);
  add_line(lines, "item", request.item_name);
  add_line(
      lines, "sender",
      request.sender_name.empty() ? request.sender_email : request.sender_name + ", " + request.sender_email);
  add_line(lines, "campaign", request.utm_campaign_id.value_or(""));
  add_line(lines, "total_cost", amount(request.costs.total()));
  if (const auto end = sync::next_end(row.gift, status))
    add_time(lines, end->status == schema::Status::refunded ? "refunded_at" : "expires_at", end->at);
  if (mail && may(viewer.roles, Permission::act_on_gifts)) add_line(lines, "message_id", mail->message_id);
  if (mail) add_line(lines, "attempts_made", std::to_string(mail->attempts()));
  add_line(lines, "source", transaction.gift_source);
  add_line(lines, "external_id", schema::store::shown_text(viewer, transaction.external_id));
  add_line(lines, "gift_request", std::to_string(request.id.value));
  add_line(lines, "credential", request.credential_prefix);
  add_line(lines, "http_request", request.http_request_id);
  return lines;
}

/// For who may not see the CRM: a command that only an admin can run is left out.
std::string without_command(const std::string& text) {
  const std::size_t command = text.find("giftsyncctl");
  if (command == std::string::npos) return text;
  const std::size_t clause = text.find_last_of(";:.", command);
  const std::string advice = texts().text("ask_administrator");
  return clause == std::string::npos ? advice : text.substr(0, clause) + "; " + advice;
}

/// What the store knows of the gift's record. Nothing is asked of the CRM.
Data crm_of(schema::store::Store& store, const ConsoleGift& row, const schema::store::Viewer& viewer) {
  const schema::TransactionId id = row.gift.transaction.id;
  const bool sees_crm = may(viewer.roles, Permission::see_crm);
  const auto shown = [&](const std::string& text) {
    return masked_text(viewer.is_masked(), with_readable_times(sees_crm ? text : without_command(text)));
  };
  const auto shown_fault = [&](const std::string& error) {
    return viewer.is_masked() ? schema::store::error_code(error) : shown(error);
  };
  Data lines(Data::type::list);
  const auto states = store.sync.find_states(std::span(&id, 1));
  if (states.empty()) {
    add_line(lines, "state", texts().text("crm_none"));
  } else {
    const schema::store::CrmSyncState& state = states.front();
    add_line(lines, "state", word_text("crm_state_", state.state));
    add_line(lines, "record_id", state.crm_id);
    add_line(lines, "contact_id", state.decision.contact_id);
    add_line(lines, "lead_id", state.decision.lead_id);
    add_line(lines, "account_id", state.decision.account_id);
    add_line(lines, "opportunity_id", state.decision.opportunity_id);
    add_line(lines, "reason", shown(state.decision.reason));
    add_line(lines, "warnings", shown(state.decision.warnings));
    add_time(lines, "decided_at", state.decided_at);
    add_line(lines, "linked_by", state.linked_by);
    add_line(lines, "error", shown_fault(state.error));
  }
  if (const auto wait = store.sync.find_wait(id)) {
    add_line(lines, "last_error", shown_fault(wait->last_error));
    add_line(lines, "attempts", std::to_string(wait->attempts));
    add_time(lines, "next_attempt", wait->next_attempt_at);
  }
  return lines;
}

/// The request record for which the gift was sent, and its approval (CON-36).
void add_request(const PageCall& call, const ConsoleGift& row, Data& data) {
  const auto request = request_of_gift(call, row.gift.request.id);
  if (!request) return;
  const schema::store::RequestRecordEntry& entry = request->entry;
  data.set("request", true);
  data.set("request_name", name_of_request(entry));
  if (request->is_seen) {
    data.set("request_url", url_of(call, path_of_request(name_of_request(entry))));
    set_text(data, "request_audit_url", history_url(call, "request", name_of_request(entry)));
  }
  Data lines(Data::type::list);
  add_line(lines, "state", request_state_text(entry.state, entry.error));
  add_line(lines, "approved_by", entry.approved_by);
  if (request->approved_at) add_line(lines, "approved_at", minute(*request->approved_at));
  data.set("request_lines", lines);
}

}  // namespace

http::HttpResponse gift_page(const PageCall& call) {
  const auto found = find_gift(call);
  if (!found) return not_found(call);
  const bool is_masked = call.viewer().is_masked();
  const auto mail = call.store().deliveries.find(found->gift.transaction.id);
  Data data;
  const sync::FoldedStatus now = status_of(call.store(), found->gift.transaction);
  const std::string status(to_word(now.status));
  data.set("status", texts().text("status_" + status));
  data.set("status_word", status);
  data.set("follows", now.status != found->gift.transaction.status);
  data.set("conflict", now.has_conflict);
  data.set("summary", summary_of(*found, now, mail, call.viewer()));
  set_text(data, "message", found->gift.transaction.message);
  data.set("timeline", timeline_data(timeline_of(call.store(), *found, mail, is_masked)));
  add_request(call, *found, data);
  set_text(data, "audit_url", history_url(call, "gift", std::to_string(found->gift.transaction.id.value)));
  data.set("crm", crm_of(call.store(), *found, call.viewer()));
  data.set("masked", is_masked);
  add_gift_actions(call, *found, data);
  return page(call, "gift", texts().text("gift_number", {{"id", call.parameter}}), std::move(data));
}

}  // namespace giftsync::daemon::console
