// One gift: what the store has about it, on one time axis.
#include <array>

#include "daemon/console/access.h"
#include "daemon/console/crm_questions.h"
#include "daemon/console/gift_actions.h"
#include "daemon/console/pages.h"
#include "daemon/console/request_facts.h"
#include "platform/text.h"
#include "schema/money.h"
#include "schema/store/gift/gift_fields.h"
#include "sync/crm/gift_record_draft.h"
#include "sync/crm/record_comparison.h"
#include "sync/crm/sync_step.h"
#include "sync/gift/lifecycle.h"

namespace giftsync::console {
namespace {

using store::ConsoleGift;

/// The step of the timeline.
int step_of(Status status) {
  if (status == Status::delivered || status == Status::undelivered) return 3;
  return status == Status::opened ? 4 : 5;
}

void add_changes(std::vector<TimelineEntry>& timeline, store::Store& store, TransactionId id,
                 bool is_masked) {
  for (const store::StatusChange& change : store.changes.history(id)) {
    TimelineEntry entry{change.occurred_at, word_text("status_", change.status),
                        texts().text("reported_by", {{"source", change.source}}), change.voiding.has_value()};
    entry.step = step_of(change.status);
    entry.look = "status_" + std::string(to_word(change.status));
    if (change.voiding)
      entry.detail +=
          "; " + texts().text("voided_by", {{"who", change.voiding->by},
                                            {"time", minute(change.voiding->at)},
                                            {"reason", masked_text(is_masked, change.voiding->reason)}});
    timeline.push_back(std::move(entry));
  }
}

/// In one moment what people did, then the mail, then the statuses that follow from both
/// (CON-42). `is_masked`: without texts that may name the recipient.
std::vector<TimelineEntry> timeline_of(store::Store& store, const ConsoleGift& row,
                                       const std::optional<store::DeliveryRow>& mail, bool is_masked) {
  const TransactionId id = row.gift.transaction.id;
  std::vector<TimelineEntry> timeline{
      {*row.gift.transaction.times[Status::sent], texts().text("status_sent"),
       row.gift.request.sender_email.empty()
           ? ""
           : texts().text("sent_by", {{"who", row.gift.request.sender_email}})}};
  bool is_listed = false;  // by whom the mail was withdrawn
  for (const store::GiftAction& action : store.lifecycle.find_actions(id)) {
    timeline.push_back({action.at, word_text("action_", action.kind),
                        joined(action.actor, ": ", masked_text(is_masked, action.comment))});
    timeline.back().look = "action_" + std::string(to_word(action.kind));
    using Kind = store::GiftActionKind;
    timeline.back().step =
        action.kind == Kind::mail_accepted || action.kind == Kind::mail_undelivered ? 2 : 1;
    is_listed = is_listed || (mail && action.kind == store::GiftActionKind::mail_withdrawn &&
                              action.at == mail->updated_at);
  }
  if (mail && !(is_listed && mail->state == DeliveryState::withdrawn)) {
    timeline.push_back(
        {mail->updated_at, word_text("mail_", mail->state), masked_text(is_masked, mail->last_reply)});
    timeline.back().look = "mail_" + std::string(to_word(mail->state));
    using State = DeliveryState;
    timeline.back().step = mail->state == State::accepted || mail->state == State::undelivered ? 2 : 1;
  }
  add_changes(timeline, store, id, is_masked);
  return timeline;
}

/// The status with the changes that are stored and not in the gift's row yet, which follow within seconds:
/// the page would else contradict the timeline and what an action has just done (CON-46).
sync::FoldedStatus status_of(store::Store& store, const store::RecipientTransaction& gift) {
  if (!gift.gift_source.empty()) return sync::state_of(gift);
  return sync::fold(*gift.times[Status::sent], store.changes.spans_of(std::span(&gift.id, 1)),
                    gift.untimed_status);
}

Data summary_of(const PageCall& call, const ConsoleGift& row, const sync::FoldedStatus& status,
                const std::optional<store::DeliveryRow>& mail) {
  const store::Viewer& viewer = call.viewer();
  const store::RecipientTransaction& transaction = row.gift.transaction;
  const store::GiftRequest& request = row.gift.request;
  Data lines(Data::type::list);
  add_line(lines, "recipient", transaction.email);
  add_line(lines, "name", recipient_name(transaction));
  add_line(lines, "phone", transaction.phone);
  add_line(lines, "item", request.item_name);
  add_line(
      lines, "sender",
      request.sender_name.empty() ? request.sender_email : request.sender_name + ", " + request.sender_email);
  add_line(lines, "campaign", request.utm_campaign_id.value_or(""));
  add_line(lines, "total_cost", amount_on_page(call, request.costs.total()));
  if (const auto end = sync::next_end(row.gift, status))
    add_time(lines, end->status == Status::refunded ? "refunded_at" : "expires_at", end->at);
  if (mail && may(viewer.roles, Permission::act_on_gifts)) add_line(lines, "message_id", mail->message_id);
  if (mail) add_line(lines, "attempts_made", std::to_string(mail->attempts()));
  add_line(lines, "source", transaction.gift_source);
  add_line(lines, "external_id", store::shown_text(viewer, transaction.external_id));
  add_line(lines, "gift_request", std::to_string(request.id.value));
  add_line(lines, "credential", request.credential_prefix);
  add_line(lines, "http_request", request.http_request_id);
  store::each_listed(row.gift, [&](const auto& field, const auto& value) {
    add_titled_line(lines, std::string(field.title), field_text(value));
  });
  return lines;
}

/// "Coffee for Maria Santos", or what of it is known.
std::string title_of(const ConsoleGift& row) {
  const store::RecipientTransaction& transaction = row.gift.transaction;
  const std::string name = recipient_name(transaction);
  const std::string& whom = !name.empty()                ? name
                            : !transaction.email.empty() ? transaction.email
                                                         : transaction.phone;
  const std::string& item = row.gift.request.item_name;
  if (item.empty() || whom.empty())
    return texts().text("gift_number", {{"id", std::to_string(transaction.id.value)}});
  return texts().text("gift_for", {{"item", item}, {"who", whom}});
}

/// [{text, icon, tint, at, class}] of what the gift goes through: reached steps with their time, a fault in
/// place of the step that it prevents, else those that may follow, the next one with the time at which the
/// gift ends.
Data steps_of(const ConsoleGift& row, const sync::FoldedStatus& now) {
  Data steps(Data::type::list);
  const auto add = [&](Status status, bool is_reached, std::optional<UtcMillis> at) {
    const std::string key = "status_" + std::string(to_word(status));
    const Data look = badge_data(key);
    Data step;
    step.set("text", texts().text(key));
    step.set("icon", is_reached ? look.get("icon")->string_value() : std::string("none"));
    step.set("tint", *look.get("tint"));
    step.set("class", is_reached ? "reached" : "later");
    if (at && is_reached) step.set("at", time_data(*at));
    if (at && !is_reached) step.set("until", time_data(*at));
    steps << step;
  };
  const bool is_fault =
      now.status == Status::undelivered || now.status == Status::expired || now.status == Status::refunded;
  const bool is_donated = now.status == Status::donated || now.times[Status::donated].has_value();
  const std::array all{Status::sent, Status::delivered, Status::opened,
                       is_donated ? Status::donated : Status::redeemed};
  const UtcMillis sent_at = *row.gift.transaction.times[Status::sent];
  std::size_t last = 0;  // that was reached
  for (std::size_t i = 1; i < all.size(); ++i)
    if (now.times[all[i]] || now.status == all[i]) last = i;
  for (std::size_t i = 0; i <= last; ++i) add(all[i], true, i == 0 ? sent_at : now.times[all[i]]);
  if (is_fault) {
    add(now.status, true, now.times[now.status]);
    return steps;
  }
  const auto end = sync::next_end(row.gift, now);
  for (std::size_t i = last + 1; i < all.size(); ++i)
    add(all[i], false, i == last + 1 && end ? std::optional(end->at) : std::nullopt);
  return steps;
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
Data crm_of(const PageCall& call, const ConsoleGift& row) {
  store::Store& store = call.store();
  const store::Viewer& viewer = call.viewer();
  const TransactionId id = row.gift.transaction.id;
  const bool sees_crm = may(viewer.roles, Permission::see_crm);
  const auto shown = [&](const std::string& text) {
    return masked_text(viewer.is_masked(), with_readable_times(sees_crm ? text : without_command(text)));
  };
  const auto shown_fault = [&](const std::string& error) {
    return viewer.is_masked() ? store::error_code(error) : shown(error);
  };
  Data lines(Data::type::list);
  const auto states = store.sync.find_states(std::span(&id, 1));
  if (states.empty()) {
    add_line(lines, "state", texts().text("crm_none"));
  } else {
    const store::CrmSyncState& state = states.front();
    add_line(lines, "state", word_text("crm_state_", state.state));
    add_record_line(call, lines, "gift_record", state.crm_id);
    add_record_line(call, lines, "contact", state.decision.contact_id);
    add_record_line(call, lines, "lead", state.decision.lead_id);
    add_record_line(call, lines, "account", state.decision.account_id);
    add_record_line(call, lines, "opportunity", state.decision.opportunity_id);
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
  const store::RequestRecordEntry& entry = request->entry;
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
  data.set("heading", title_of(*found));
  data.set("number", call.parameter);
  data.set("sent", time_data(*found->gift.transaction.times[Status::sent]));
  const store::GiftRequest& request = found->gift.request;
  set_text(data, "sender", request.sender_name.empty() ? request.sender_email : request.sender_name);
  set_text(data, "cost", amount_on_page(call, request.costs.total()));
  data.set("status", badge_data("status_" + std::string(to_word(now.status))));
  data.set("steps", steps_of(*found, now));
  data.set("follows", now.status != found->gift.transaction.status);
  data.set("conflict", now.has_conflict);
  data.set("summary", summary_of(call, *found, now, mail));
  set_text(data, "message", found->gift.transaction.message);
  data.set("timeline", timeline_data(timeline_of(call.store(), *found, mail, is_masked)));
  add_request(call, *found, data);
  set_text(data, "audit_url", history_url(call, "gift", std::to_string(found->gift.transaction.id.value)));
  data.set("crm", crm_of(call, *found));
  data.set("masked", is_masked);
  add_gift_actions(call, *found, data);
  return page(call, "gift", texts().text("gift_number", {{"id", call.parameter}}), std::move(data));
}

// What the CRM holds of a gift beside what giftsync would write.

namespace {

constexpr int kMostCalls = 1;

/// What may name the recipient, and the link to the gift.
bool is_personal(GiftField field) {
  return field == GiftField::name || field == GiftField::message || field == GiftField::link ||
         field == GiftField::recipient_email || field == GiftField::recipient_phone_number;
}

store::MatchDecision decision_of(store::Store& store, TransactionId id) {
  const auto states = store.sync.find_states(std::span(&id, 1));
  return states.empty() ? store::MatchDecision() : states.front().decision;
}

/// The record that giftsync would write.
GiftRecord wanted_record(const PageCall& call, const store::Gift& gift) {
  const sync::SyncRules& rules = call.console.options.crm.rules;
  const std::string link = rules.link_of ? rules.link_of(gift.transaction) : std::string();
  return sync::draft_gift_record(gift, decision_of(call.store(), gift.transaction.id), link,
                                 rules.integration_user)
      .record;
}

/// The fields by what the comparison says of them, those that differ first (CON-43).
struct ComparedFields {
  struct Group {
    std::string_view title;  ///< the key of its text
    std::size_t count = 0;
    Data rows = Data(Data::type::list);
  };
  std::array<Group, 3> groups{Group{"fields_differing"}, Group{"fields_same"}, Group{"fields_not_compared"}};

  Group& of(sync::FieldVerdict verdict) {
    using V = sync::FieldVerdict;
    if (verdict == V::repaired || verdict == V::differs) return groups[0];
    return groups[verdict == V::same ? 1 : 2];
  }
};

/// One field, `in_crm` beside `ours`.
Data row_data(const PageCall& call, GiftField field, const std::string& in_crm, const std::string& ours) {
  const bool is_hidden = call.viewer().is_masked() && is_personal(field);
  Data row;
  row.set("field", std::string(descriptor_of(field).label));
  const auto shown = [&](const std::string& text) {
    return field == GiftField::recipient_email ? masked_address(is_hidden, text)
                                               : masked_text(is_hidden, with_readable_times(text));
  };
  set_text(row, "in_crm", shown(in_crm));
  set_text(row, "ours", shown(ours));
  return row;
}

/// For a gift without a record: the fields that giftsync wants to write (CON-62).
ComparedFields fields_to_write(const PageCall& call, const crm::GiftRecords& records,
                               const store::Gift& gift) {
  const GiftRecord wanted = wanted_record(call, gift);
  ComparedFields fields;
  ComparedFields::Group& group = fields.groups[0];
  group.title = "fields_to_write";
  for (std::size_t i = 0; i < kGiftFieldCount; ++i) {
    const auto field = static_cast<GiftField>(i);
    const std::string ours = sync::text_of(wanted.get(field));
    if (ours.empty() || !records.has_field(field)) continue;
    Data row = row_data(call, field, "", ours);
    row.set("verdict", texts().text("field_to_write"));
    group.rows << row;
    ++group.count;
  }
  return fields;
}

ComparedFields compare_fields(const PageCall& call, const crm::GiftRecords& records, const GiftRecord& record,
                              const store::Gift& gift) {
  GiftRecord wanted = wanted_record(call, gift);
  sync::accept_fallback_owner(record, call.console.options.crm.rules.fallback_owner, wanted);
  const bool knows_link = call.console.options.crm.rules.knows_link_of(gift);
  const bool is_adopted = gift.transaction.gift_source == store::kAdoptedGiftSource;
  ComparedFields compared;
  for (std::size_t i = 0; i < kGiftFieldCount; ++i) {
    const auto field = static_cast<GiftField>(i);
    const std::string in_crm = sync::text_in(record, field);
    const std::string ours = sync::text_of(wanted.get(field));
    if (in_crm.empty() && ours.empty()) continue;
    const sync::FieldVerdict verdict =
        sync::compare_field(records, record, wanted, field, is_adopted, knows_link);
    ComparedFields::Group& group = compared.of(verdict);
    Data row = row_data(call, field, in_crm, ours);
    row.set("verdict", word_text("field_", verdict));
    row.set("differs", &group == &compared.groups[0]);
    group.rows << row;
    ++group.count;
  }
  return compared;
}

void set_fields(Data& data, const ComparedFields& compared) {
  Data groups(Data::type::list);
  for (const ComparedFields::Group& group : compared.groups) {
    if (group.count == 0) continue;
    Data one;
    one.set("title", texts().text(group.title, {{"count", std::to_string(group.count)}}));
    one.set("open", &group == &compared.groups[0]);
    one.set("rows", group.rows);
    groups << one;
  }
  data.set("groups", groups);
  data.set("has_groups", true);
  data.set("none_differs", compared.groups[0].count == 0);
}

/// The key of the text for what was refused, or failed otherwise.
std::string_view failure_title(const store::SyncWait& wait) {
  if (wait.last_error.starts_with(sync::kTaskError)) return wait.is_rejected ? "task_refused" : "task_failed";
  return wait.is_rejected ? "record_refused" : "record_failed";
}

/// Why the CRM does not have the gift's current state: the last error of its write, with its class (CON-62).
void set_failure(const PageCall& call, TransactionId id, Data& data) {
  const auto wait = call.store().sync.find_wait(id);
  if (wait && wait->last_error.empty()) data.set("waiting", true);
  if (!wait || wait->last_error.empty()) return;
  Data failure;
  failure.set("title", texts().text(failure_title(*wait)));
  failure.set("error", shown_error(call.viewer(), wait->last_error));
  failure.set("number", failure_class_number(store::failure_class_of(wait->last_error)));
  failure.set("next", time_data(wait->next_attempt_at));
  data.set("failure", failure);
}

/// Whether giftsync makes the record that the CRM does not have.
bool will_be_written(const store::ConsoleGift& gift) {
  return gift.crm_state != store::CrmSyncStatus::deleted && gift.crm_state != store::CrmSyncStatus::skipped;
}

}  // namespace

http::HttpResponse gift_record_page(const PageCall& call) {
  const auto seen = find_gift(call);
  if (!seen) return not_found(call);
  const TransactionId id = seen->gift.transaction.id;
  const auto gifts = call.store().gifts.find(std::span(&id, 1));
  if (gifts.empty()) return not_found(call);
  Data data;
  data.set("gift_url", call.url().base + path_of(seen->gift));
  data.set("masked", call.viewer().is_masked());
  set_failure(call, id, data);
  set_ask(call, path_of(seen->gift) + "/record", kMostCalls, data);
  if (asks_crm(call)) {
    const std::string away = ask_crm(call, [&](crm::Crm& crm) {
      const auto records = crm.gift_records().find(std::span(&id, 1));
      data.set("missing", records.empty());
      if (!records.empty())
        set_fields(data, compare_fields(call, crm.gift_records(), records.front(), gifts.front()));
      else if (will_be_written(*seen))
        set_fields(data, fields_to_write(call, crm.gift_records(), gifts.front()));
    });
    set_outcome(call, away, data);
  }
  return page(call, "gift_record", texts().text("record_title", {{"id", call.parameter}}), std::move(data));
}

}  // namespace giftsync::console
