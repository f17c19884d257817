#include "daemon/exports/gift_detail.h"

#include "matching/rematch.h"
#include "platform/dependency_error.h"
#include "platform/time.h"
#include "schema/store/gift/gift_fields.h"
#include "sync/crm/record_comparison.h"
#include "sync/mail/delivery_rules.h"
#include "sync/status/status_rules.h"

namespace giftsync::exports {
namespace {

std::vector<HistoryEntry> history_of(store::ChangeLog& log, TransactionId id) {
  const std::vector<store::StatusChange> changes = log.history(id);
  std::vector<HistoryEntry> entries;
  for (const store::StatusChange& change : changes)
    entries.push_back({change, sync::conflict_reason(change, changes)});
  return entries;
}

Json lines_of(std::string_view text) {
  Json lines = Json::array();
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(std::string(text.substr(0, end)));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

Json request_json(const store::GiftRequest& request, const std::string& currency) {
  Json json = {{"id", request.id.value},
               {"account_id", request.account.value},
               {"mode", to_word(request.mode)},
               {"gift_id", request.gift.value},
               {"item_name", request.item_name},
               {"item_description", request.item_description},
               {"costs", costs_json(request.costs, currency)},
               {"sender_email", request.sender_email},
               {"sender_name", request.sender_name},
               {"utm_campaign_id", request.utm_campaign_id ? Json(*request.utm_campaign_id) : Json(nullptr)},
               {"created_at", json_time(request.created_at)},
               {"credential_prefix", text_or_null(request.credential_prefix)},
               {"http_request_id", text_or_null(request.http_request_id)}};
  add_listed(json, store::kGiftRequestFields, request);
  return json;
}

Json recipient_json(const store::RecipientTransaction& transaction) {
  Json json = {{"email", transaction.email},
               {"first_name", text_or_null(transaction.first_name)},
               {"last_name", text_or_null(transaction.last_name)},
               {"message", transaction.message},
               {"phone", text_or_null(transaction.phone)},
               {"origin", text_or_null(transaction.gift_source)},
               {"external_id", text_or_null(transaction.external_id)}};
  add_listed(json, store::kRecipientTransactionFields, transaction);
  return json;
}

Json times_json(const StatusTimes& times) {
  Json json = Json::object();
  for (const Status status : kAllStatuses) json[std::string(to_word(status))] = json_time(times[status]);
  return json;
}

Json delivery_json(const store::DeliveryRow& row) {
  return {{"state", to_word(row.state)},
          {"attempts", row.attempts()},
          {"uncertain_retries", row.uncertain_retries},
          {"kind", to_word(row.kind)},
          {"mail_number", row.number},
          {"message_id", text_or_null(row.message_id)},
          {"last_reply", text_or_null(row.last_reply)},
          {"next_attempt_at", json_time(row.next_attempt_at)},
          {"updated_at", json_time(row.updated_at)}};
}

Json donation_json(const store::Donation& donation) {
  return {{"charity", text_or_null(donation.charity)}, {"link", text_or_null(donation.link)}};
}

Json history_entry_json(const HistoryEntry& entry) {
  Json json = change_json(entry.change);
  json["conflict"] = text_or_null(entry.conflict);
  return json;
}

/// Computed from the history, because the gift's row may not include the latest changes yet.
void compute_next_steps(GiftDetail& detail) {
  const store::RecipientTransaction& transaction = detail.gift.transaction;
  const auto terms = sync::parse_terms(detail.gift.request.terms);
  if (!terms || !transaction.gift_source.empty() || !transaction.due_at) return;
  std::vector<store::StatusChange> changes;
  for (const HistoryEntry& entry : detail.history) changes.push_back(entry.change);
  const sync::FoldedStatus state = sync::fold(*transaction.times[Status::sent], changes);
  detail.next = sync::next_outcome(*terms, state, transaction.resent_at, transaction.extended_until);
  detail.reminder = sync::next_reminder(*terms, detail.gift.request.mode, state, transaction.resent_at,
                                        transaction.last_reminder_day, {0}, transaction.extended_until);
}

Json actions_json(const std::vector<store::GiftAction>& actions) {
  Json json = Json::array();
  for (const store::GiftAction& action : actions) {
    json.push_back({{"at", json_time(action.at)},
                    {"action", to_word(action.kind)},
                    {"actor", action.actor},
                    {"comment", text_or_null(action.comment)}});
  }
  return json;
}

Json next_steps_json(const GiftDetail& detail) {
  Json json = {{"status", nullptr}, {"at", nullptr}, {"premise", nullptr}, {"reminder_at", nullptr}};
  if (detail.next) {
    json["status"] = to_word(detail.next->status);
    json["at"] = json_time(detail.next->at);
    json["premise"] = to_word(detail.next->premise);
  }
  if (detail.reminder) json["reminder_at"] = json_time(detail.reminder->at);
  return json;
}

/// The number of the request record that the gift request was sent for; empty for others.
std::string request_record_of(store::Store& store, GiftRequestId request) {
  const auto sent = store.request_records.find_gifts_by_request(std::span(&request, 1));
  if (sent.empty()) return {};
  const auto known = store.request_records.find(std::span(&sent.front().link.record_id, 1));
  return known.empty() ? sent.front().link.record_id : known.front().number;
}

constexpr std::int64_t kMostCrmMillis = 15 * kSecondMillis;

void read_crm_part(crm::Crm& crm, GiftDetail& detail) {
  const ThreadCallDeadline deadline(kMostCrmMillis);
  try {
    crm::GiftRecords& records = crm.gift_records();
    detail.record = find_gift_record(records, detail.gift.transaction.id);
    if (detail.sync_state && detail.record)
      detail.manual_links = manual_links(records, *detail.sync_state, *detail.record);
  } catch (const DependencyError& fault) {
    if (!fault.of_external_crm()) throw;
    detail.record.reset();
    detail.crm_fault = fault.what();
    detail.crm_error = std::current_exception();
  }
}

/// Empty for a mail that does not wait.
std::string mail_pause_of(store::Store& store, const store::DeliveryRow& row) {
  const bool is_waiting = row.state == DeliveryState::queued || row.state == DeliveryState::uncertain;
  if (!is_waiting) return {};
  if (const auto pause = store.mail_pauses.state().pause) return sync::describe(*pause);
  const auto pauses = store.deliveries.breakers();
  return pauses.empty() ? std::string() : pauses.front().reason;
}

}  // namespace

std::optional<GiftRecord> find_gift_record(crm::GiftRecords& records, TransactionId id) {
  const auto found = records.page({id.value - 1}, 1);
  if (found.empty() || found.front().transaction() != id) return std::nullopt;
  return found.front();
}

std::string manual_links(const crm::GiftRecords& records, const store::CrmSyncState& sync_state,
                         const GiftRecord& record) {
  if (sync_state.state != store::CrmSyncStatus::written) return {};
  const Associations links = associations_of(record);
  return links == matching::visible_associations(records, sync_state.decision) ? std::string()
                                                                               : matching::describe(links);
}

std::optional<GiftDetail> find_gift_detail(store::Store& store, crm::Crm& crm, TransactionId id,
                                           const std::string& crm_left_out) {
  auto gifts = store.gifts.find(std::span(&id, 1));
  if (gifts.empty()) return std::nullopt;
  auto sync_states = store.sync.find_states(std::span(&id, 1));
  GiftDetail detail{std::move(gifts.front()),      std::nullopt, std::nullopt, store.deliveries.find(id),
                    history_of(store.changes, id), {},           {},           {}};
  detail.actions = store.lifecycle.find_actions(id);
  compute_next_steps(detail);
  detail.donation = store.donations.find(id);
  detail.has_code = store.codes.find_code(id).has_value();
  if (!sync_states.empty()) detail.sync_state = std::move(sync_states.front());
  detail.sync_wait = store.sync.find_wait(id);
  detail.request_record = request_record_of(store, detail.gift.request.id);
  if (detail.delivery) detail.mail_pause = mail_pause_of(store, *detail.delivery);
  if (crm_left_out.empty())
    read_crm_part(crm, detail);
  else
    detail.crm_fault = crm_left_out;
  if (detail.record) detail.is_sent_at_estimated = sync::is_sent_time_estimated(detail.gift, *detail.record);
  return detail;
}

Json match_json(const std::optional<store::CrmSyncState>& known, const std::optional<store::SyncWait>& wait,
                const std::string& manual_links) {
  if (!known) return nullptr;
  const store::CrmSyncState& sync_state = *known;
  const store::MatchDecision& decision = sync_state.decision;
  const bool has_failed = wait && wait->attempts > 0;
  return {{"state", to_word(sync_state.state)},
          {"decided_at", json_time(sync_state.decided_at)},
          {"contact_id", text_or_null(decision.contact_id)},
          {"account_id", text_or_null(decision.account_id)},
          {"lead_id", text_or_null(decision.lead_id)},
          {"opportunity_id", text_or_null(decision.opportunity_id)},
          {"deal_stage", text_or_null(decision.deal_stage)},
          {"sender_id", text_or_null(decision.sender_id)},
          {"reason", decision.reason},
          {"warnings", lines_of(decision.warnings)},
          {"linked_by", text_or_null(sync_state.linked_by)},
          {"manual_links", text_or_null(manual_links)},
          {"needs_relink", sync_state.needs_relink},
          {"task", to_word(sync_state.task)},
          {"written_version", sync_state.written_version},
          {"error", text_or_null(sync_state.error)},
          {"failed_attempts", wait ? wait->attempts : 0},
          {"next_attempt_at",
           json_time(has_failed ? std::optional(wait->next_attempt_at) : std::optional<UtcMillis>())}};
}

Json gift_detail_json(const GiftDetail& detail, const std::string& currency) {
  const store::RecipientTransaction& transaction = detail.gift.transaction;
  Json history = Json::array();
  for (const HistoryEntry& entry : detail.history) history.push_back(history_entry_json(entry));
  return {{"recipient_transaction_id", transaction.id.value},
          {"status", to_word(transaction.status)},
          {"times", times_json(transaction.times)},
          {"sent_at_estimated", detail.is_sent_at_estimated},
          {"has_conflict", transaction.has_conflict},
          {"version", transaction.version},
          {"recipient", recipient_json(transaction)},
          {"request", request_json(detail.gift.request, currency)},
          {"request_record", text_or_null(detail.request_record)},
          {"match", match_json(detail.sync_state, detail.sync_wait, detail.manual_links)},
          {"delivery", detail.delivery ? delivery_json(*detail.delivery) : Json(nullptr)},
          {"mail_pause", text_or_null(detail.mail_pause)},
          {"history", history},
          {"donation", detail.donation ? donation_json(*detail.donation) : Json(nullptr)},
          {"has_code", detail.has_code},
          {"actions", actions_json(detail.actions)},
          {"next", next_steps_json(detail)},
          {"terms", text_or_null(detail.gift.request.terms)},
          {"record_version", detail.record ? Json(detail.record->version) : Json(nullptr)},
          {"record", detail.record ? gift_record_json(*detail.record) : Json(nullptr)},
          {"record_fault", text_or_null(detail.crm_fault)}};
}

namespace {

struct ValueAsJson {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(const std::string& text) const { return text; }
  Json operator()(std::int64_t number) const { return number; }
  Json operator()(Money amount) const { return to_decimal(amount); }
  Json operator()(UtcMillis time) const { return to_rfc3339(time); }
  Json operator()(bool checked) const { return checked; }
};

}  // namespace

Json gift_record_json(const GiftRecord& record) {
  Json json = Json::object();
  for (std::size_t i = 0; i < kGiftFieldCount; ++i) {
    const auto field = static_cast<GiftField>(i);
    json[std::string(descriptor_of(field).name)] = std::visit(ValueAsJson{}, record.get(field));
  }
  return json;
}

Json costs_json(const store::GiftCosts& costs, const std::string& currency) {
  Json json{{"item", json_amount(costs.item)},
            {"shipping", json_amount(costs.shipping)},
            {"carbon_neutral", json_amount(costs.carbon_neutral)},
            {"transaction_fee", json_amount(costs.transaction_fee)},
            {"total", json_amount(costs.total())}};
  add_currency(json, currency);
  return json;
}

namespace {

Json void_json(const store::StatusChange& change) {
  if (!change.voiding) return nullptr;
  return {{"at", json_time(change.voiding->at)},
          {"by", change.voiding->by},
          {"reason", text_or_null(change.voiding->reason)}};
}

Json audit_json(const store::StatusChange& change) {
  Json json = Json::array();
  for (const store::ChangeAuditEntry& entry : change.audit) {
    json.push_back({{"kind", to_word(entry.kind)},
                    {"at", json_time(entry.at)},
                    {"by", entry.by},
                    {"reason", text_or_null(entry.reason)}});
  }
  return json;
}

}  // namespace

Json change_json(const store::StatusChange& change) {
  return {{"id", change.id.value},
          {"recipient_transaction_id", change.transaction.value},
          {"source", change.source},
          {"status", to_word(change.status)},
          {"premise", change.premise == Premise::none ? Json(nullptr) : Json(to_word(change.premise))},
          {"occurred_at", json_time(change.occurred_at)},
          {"received_at", json_time(change.received_at)},
          {"event_ids", change.event_ids},
          {"orphaned", change.orphaned},
          {"voided", void_json(change)},
          {"audit", audit_json(change)}};
}

}  // namespace giftsync::exports
