// One request record, and the decision on it. An approval applies to the content that the page showed: the
// form brings that content back, and another one is refused with the difference (CON-29).
#include "daemon/console/access.h"
#include "daemon/console/pages.h"
#include "daemon/console/request_access.h"
#include "platform/digest.h"
#include "platform/text.h"
#include "schema/money.h"
#include "sync/request_record_approval.h"
#include "sync/request_record_defaults.h"
#include "sync/request_record_state_machine.h"
#include "sync/request_record_to_gift_request.h"

namespace giftsync::daemon::console {
namespace {

using F = schema::RequestRecordField;
using Action = sync::RequestRecordAction;

constexpr std::size_t kMaxNoteCodePoints = 1'000;
constexpr int kMaxReads = 3;

struct ShownRequest {
  schema::store::RequestRecordEntry entry;
  std::vector<schema::store::RequestRecordTransition> transitions = {};
  std::optional<sync::LoadedRequestRecord> loaded = {};  ///< what a CRM of SQL has
  bool is_own = false;

  const std::string& name() const { return name_of_request(entry); }
  std::string content() const { return loaded ? sync::approved_content_of(loaded->completed) : ""; }
};

/// The state and the history of one moment: a request that is being sent changes between two reads (CON-46).
std::optional<ShownRequest> find_stored(const PageCall& call) {
  const auto owner = owner_of_requests(call);
  schema::store::RequestRecords& records = call.store().request_records;
  auto entry = records.find(call.viewer(), owner, call.parameter);
  for (int reads = 0; entry; ++reads) {
    ShownRequest shown{*entry, records.find_transitions(entry->record_id)};
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
  schema::crm::RequestRecords& records = *call.console.options.crm.crm->request_records();
  const auto rows = records.find(std::span(&shown.entry.record_id, 1));
  if (rows.empty()) return shown;
  shown.is_own = are_own_requests(call, rows).front();
  shown.loaded = sync::load_with_defaults(records, rows).front();
  return shown;
}

std::string value_text(const schema::FieldValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* yes = std::get_if<bool>(&value)) return texts().text(*yes ? "is_yes" : "is_no");
  return {};
}

bool is_of_recipient(F field) {
  return field == F::recipient_email || field == F::recipient_first_name || field == F::recipient_last_name ||
         field == F::message;
}

schema::RequestRecord parsed(const std::string& content) {
  schema::RequestRecord record;
  schema::parse_values(content, schema::approval_bound_fields(), record);
  return record;
}

/// The fields that an approval binds to; with `before` those that differ.
Data fields_data(const schema::RequestRecord& record, const schema::RequestRecord* before, bool is_masked) {
  Data rows(Data::type::list);
  for (const F field : schema::approval_bound_fields()) {
    const std::string now = value_text(record.get(field));
    const std::string old = before ? value_text(before->get(field)) : "";
    if (before ? old == now : now.empty()) continue;
    const bool is_hidden = is_masked && is_of_recipient(field);
    Data row;
    // Its name in the CRM means the item, not a gift of giftsync.
    row.set("label",
            field == F::gift_id ? texts().text("item") : std::string(schema::descriptor_of(field).label));
    row.set("value", masked_text(is_hidden, now));
    row.set("old", masked_text(is_hidden, old));
    rows << row;
  }
  return rows;
}

void add_costs(Data& lines, const PageCall& call, const schema::RequestRecord& record) {
  const auto id = sync::gift_id_of(record);
  const auto item = id ? call.store().catalogue.item(*id) : std::nullopt;
  if (!item) return add_line(lines, "item", texts().text("unknown_item"));
  const schema::store::GiftCosts costs = sync::request_costs(*item, record);
  const auto amount = [](const std::optional<schema::Money>& money) {
    return money ? schema::to_decimal(*money) : std::string();
  };
  add_line(lines, "item", item->name);
  add_line(lines, "total_cost", amount(costs.total()));
  add_line(lines, "cost_of_item", amount(costs.item));
  add_line(lines, "cost_of_shipping", amount(costs.shipping));
  add_line(lines, "cost_of_carbon", amount(costs.carbon_neutral));
  add_line(lines, "cost_of_transaction", amount(costs.transaction_fee));
}

Data summary_of(const PageCall& call, const ShownRequest& shown) {
  const bool is_masked = hides_recipients(call);
  Data lines(Data::type::list);
  if (shown.loaded) {
    add_costs(lines, call, shown.loaded->completed);
    add_line(lines, "recipient", masked_text(is_masked, shown.loaded->completed.text(F::recipient_email)));
    if (const auto* at = std::get_if<platform::UtcMillis>(&shown.loaded->row.get(F::created_date)))
      add_time(lines, "created_at", *at);
  }
  add_line(lines, "requested_by", shown.entry.requested_by);
  add_line(lines, "approved_by", shown.entry.approved_by);
  add_line(lines, "error", masked_text(is_masked, shown.entry.error));
  if (shown.entry.failures > 0) add_time(lines, "next_attempt", shown.entry.next_attempt_at);
  if (shown.entry.deleted) add_line(lines, "state", texts().text("request_deleted"));
  return lines;
}

/// Whether giftsync wrote the comment, and not a person: notes belong to decisions alone.
bool is_own_comment(const schema::store::RequestRecordTransition& one) {
  const bool is_decision = one.to == to_word(schema::store::RequestRecordState::approved) ||
                           one.to == to_word(schema::store::RequestRecordState::rejected);
  return !is_decision &&
         (one.comment == "made" || one.comment == "first seen" || one.comment.starts_with("gift request "));
}

Data history_of(const PageCall& call, const ShownRequest& shown) {
  Data list(Data::type::list);
  for (const auto& one : shown.transitions) {
    Data entry;
    entry.set("at", exact_time_data(one.at));
    entry.set("text", texts().text("request_" + one.to));
    const bool is_hidden = hides_recipients(call) && !is_own_comment(one);
    entry.set("detail", one.who + (one.comment.empty() ? "" : ": " + masked_text(is_hidden, one.comment)));
    list << entry;
  }
  return list;
}

/// Links to the gifts that were sent for the record, those that the user sees (CON-36).
void add_gifts(Data& data, const PageCall& call, const ShownRequest& shown) {
  Data gifts(Data::type::list);
  for (const auto& sent : call.store().request_records.find_gifts_by_record({&shown.entry.record_id, 1}))
    for (const auto& one : call.store().gifts.find_recipients(sent.gift_request)) {
      if (!call.store().console_gifts.find(call.viewer(), one.id)) continue;
      const std::string id = std::to_string(one.id.value);
      Data link;
      link.set("url", url_of(call, "/gifts/" + id));
      link.set("text", texts().text("gift_number", {{"id", id}}));
      gifts << link;
    }
  data.set("has_gifts", gifts.is_non_empty_list());
  data.set("gifts_sent", gifts);
}

/// What would keep the gift from being sent if a request that waits were approved now (CON-40): the findings,
/// that there are none, or that it was not checked.
void add_obstacles(Data& data, const PageCall& call, const ShownRequest& shown) {
  if (shown.entry.state != schema::store::RequestRecordState::pending || shown.entry.deleted) return;
  std::optional<std::vector<sync::RequestRecordFinding>> found;
  const auto& check = call.console.options.check_request;
  if (shown.loaded && check) ask_responding_crm([&] { found = check(*shown.loaded); });
  if (!found || found->empty()) {
    data.set("check_outcome", texts().text(found ? "obstacles_none" : "obstacles_unchecked"));
    return;
  }
  Data list(Data::type::list);
  for (const sync::RequestRecordFinding& one : *found) {
    // What is said of a recipient quotes the address.
    const bool is_hidden = hides_recipients(call) && one.check.starts_with("recipient");
    Data row;
    row.set("text", is_hidden ? one.check + ": ***" : with_readable_times(one.message));
    list << row;
  }
  data.set("obstacles", list);
  data.set("has_obstacles", true);
}

/// The button's form; nothing where the state does not allow the action.
void add_form(Data& data, const PageCall& call, const ShownRequest& shown, Action action) {
  const std::string name = action == Action::approve ? "approve" : "reject";
  if (!sync::state_after(shown.entry.state, action)) return;
  if (action == Action::approve && shown.is_own) return;
  Data form = form_data(call, path_of_request(shown.name()) + "/" + name);
  form.set("seen", platform::to_base64url(shown.content()));
  data.set(name, form);
  data.set("may_decide", true);
}

void add_difference(Data& data, const PageCall& call, const std::string& key, const std::string& before,
                    const ShownRequest& shown) {
  if (before.empty() || before == shown.content()) return;
  const schema::RequestRecord old = parsed(before);
  data.set(key, fields_data(shown.loaded->completed, &old, hides_recipients(call)));
  data.set("has_" + key, true);
}

/// `seen`: the content that a refused decision was about.
http::HttpResponse show(const PageCall& call, const ShownRequest& shown, const std::string& seen = {}) {
  const bool is_masked = hides_recipients(call);
  Data data;
  data.set("state", texts().text("request_" + std::string(to_word(shown.entry.state))));
  data.set("summary", summary_of(call, shown));
  data.set("history", history_of(call, shown));
  data.set("masked", is_masked);
  add_gifts(data, call, shown);
  set_text(data, "audit_url", history_url(call, "request", shown.name()));
  if (shown.loaded) {
    data.set("content", fields_data(shown.loaded->completed, nullptr, is_masked));
    data.set("has_content", true);
    add_difference(data, call, "seen_difference", seen, shown);
    add_difference(data, call, "difference", shown.entry.approved_content, shown);
  } else if (!shown.entry.approved_content.empty()) {
    data.set("content", fields_data(parsed(shown.entry.approved_content), nullptr, is_masked));
    data.set("has_content", true);
  }
  data.set("in_salesforce", uses_request_records(call) && !decides_requests_here(call));
  add_obstacles(data, call, shown);
  if (shown.loaded && may(call.viewer().roles, Permission::decide_requests)) {
    data.set("own", shown.is_own);
    add_form(data, call, shown, Action::approve);
    add_form(data, call, shown, Action::reject);
  }
  http::HttpResponse response =
      page(call, "request", texts().text("request_number", {{"number", shown.name()}}), std::move(data));
  if (!seen.empty()) response.status = 412;
  return response;
}

http::HttpResponse decide(const PageCall& call, Action action) {
  const auto shown = find_request(call);
  if (!shown || !shown->loaded) return not_found(call);
  const bool approves = action == Action::approve;
  const auto answer = [&](const std::string& notice) {
    return redirect_with_notice(call, path_of_request(shown->name()), notice);
  };
  schema::store::AuditEvent event = event_of(call, approves ? "request.approve" : "request.reject");
  event.object_kind = "request";
  event.object_id = shown->name();
  event.organization = owner_of_requests(call);
  if (approves && shown->is_own) {
    event.refused = true;
    event.rule = "REQ-46";
    call.store().audit.add(event);
    return answer("request_own");
  }
  const auto seen = platform::from_base64url(field(call.form, "seen"));
  const std::string note(
      platform::truncated(platform::trimmed(field(call.form, "note")), kMaxNoteCodePoints));
  if (!seen || seen->empty() || !platform::is_storable_text(note)) return answer("request_refused");
  const sync::ApprovalResult outcome = sync::decide_request_record(
      call.store(), *call.console.options.crm.crm->request_records(), shown->name(),
      {action, call.by->user.email, note, {sync::version_of_content(*seen)}, event},
      call.store().request_records.now());
  using Kind = sync::ApprovalResult::Kind;
  if (outcome.kind == Kind::other_content) {
    const auto again = find_request(call);
    return again && again->loaded ? show(call, *again, *seen) : not_found(call);
  }
  if (outcome.kind != Kind::done && !outcome.is_stored) return answer("request_refused");
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

}  // namespace giftsync::daemon::console
