#include "sync/crm/gift_record_draft.h"

#include <algorithm>

#include "platform/text.h"

namespace giftsync::sync {

namespace {

FieldValue text_or_absent(const std::string& text) {
  return text.empty() ? FieldValue() : FieldValue(text);
}

std::string item_name(const store::GiftRequest& request) {
  return request.item_name.empty() ? "Gift" : request.item_name;
}

std::string recipient_name(const store::RecipientTransaction& transaction) {
  std::string name = transaction.first_name;
  if (!name.empty() && !transaction.last_name.empty()) name += " ";
  name += transaction.last_name;
  if (!name.empty()) return name;
  return transaction.email.empty() ? transaction.phone : transaction.email;
}

/// Sets fields and records which texts were cut.
class DraftBuilder {
 public:
  void set(GiftField field, FieldValue value) {
    if (draft_.record.set(field, std::move(value)) && field != GiftField::name) {
      const FieldDescriptor& described = descriptor_of(field);
      draft_.warnings.push_back(std::string(described.label) + " was cut to its " +
                                std::to_string(described.length) + " characters in the CRM");
    }
  }
  void set_text(GiftField field, const std::string& text) { set(field, text_or_absent(text)); }
  void set_money(GiftField field, std::optional<Money> amount) {
    set(field, amount ? FieldValue(*amount) : FieldValue());
  }
  GiftRecordDraft finish(std::int64_t version) {
    draft_.record.version = version;
    return std::move(draft_);
  }

 private:
  GiftRecordDraft draft_;
};

void set_costs(DraftBuilder& builder, const store::GiftCosts& costs) {
  builder.set_money(GiftField::item_cost, costs.item);
  builder.set_money(GiftField::shipping_cost, costs.shipping);
  builder.set_money(GiftField::carbon_neutral_cost, costs.carbon_neutral);
  builder.set_money(GiftField::transaction_fee, costs.transaction_fee);
  builder.set_money(GiftField::total_price, costs.total());
}

/// Who triggered the gift, as a CRM user: the sender for a gift from a web or mobile application, the CRM
/// user for a gift sent from inside the CRM, else giftsync (SYNC-13).
const std::string& actual_sender(const store::GiftRequest& request, const store::MatchDecision& decision,
                                 const std::string& integration_user) {
  if (!request.triggered_by.empty()) return request.triggered_by;
  const bool is_external = request.mode == SendMode::external;
  const bool by_sender = integration_user.empty() || (is_external && !decision.sender_id.empty());
  return by_sender ? decision.sender_id : integration_user;
}

void set_associations(DraftBuilder& builder, const store::MatchDecision& decision,
                      const std::string& trigger) {
  builder.set_text(GiftField::recipient_contact, decision.contact_id);
  builder.set_text(GiftField::account, decision.account_id);
  builder.set_text(GiftField::recipient_lead, decision.lead_id);
  builder.set_text(GiftField::opportunity, decision.opportunity_id);
  builder.set_text(GiftField::deal_stage, decision.deal_stage);
  builder.set_text(GiftField::sender, decision.sender_id);
  builder.set_text(GiftField::actual_sender, trigger);
  builder.set_text(GiftField::created_by, trigger);
  builder.set_text(GiftField::owner, trigger);
}

}  // namespace

GiftRecordDraft draft_gift_record(const store::Gift& gift, const store::MatchDecision& decision,
                                  const std::string& link, const std::string& integration_user) {
  const store::GiftRequest& request = gift.request;
  const store::RecipientTransaction& transaction = gift.transaction;
  DraftBuilder builder;
  builder.set(GiftField::transaction_id, transaction.id.value);
  builder.set(GiftField::status, std::string(to_word(transaction.status)));
  for (const Status status : kAllStatuses) {
    if (const auto& time = transaction.times[status]) builder.set(time_field_of(status), *time);
  }
  set_costs(builder, request.costs);
  set_associations(builder, decision, actual_sender(request, decision, integration_user));
  builder.set_text(GiftField::delivered_by, request.mode == SendMode::email ? "email" : "");
  builder.set_text(GiftField::description, request.item_description);
  builder.set_text(GiftField::link, link);
  builder.set_text(GiftField::message, transaction.message);
  builder.set_text(GiftField::name, item_name(request) + " for " + recipient_name(transaction));
  builder.set_text(GiftField::recipient_email, transaction.email);
  builder.set_text(GiftField::recipient_phone_number, transaction.phone);
  builder.set_text(GiftField::sender_email, request.sender_email);
  builder.set_text(GiftField::utm_campaign_id, request.utm_campaign_id.value_or(""));
  if (request.gift.value != 0) builder.set(GiftField::item_id, request.gift.value);
  return builder.finish(transaction.version);
}

bool is_complete(Status status) {
  return status == Status::redeemed || status == Status::donated || status == Status::expired ||
         status == Status::refunded;
}

namespace {

constexpr std::size_t kSubjectCodePoints = 255;
constexpr std::size_t kDescriptionCodePoints = 32'000;
constexpr std::size_t kDateLength = 10;  // 2026-11-30
constexpr std::size_t kShownCodePoints = 40;

/// The text behind "{" up to "}"; nothing when no placeholder begins there.
std::optional<std::string_view> placeholder_at(std::string_view text, std::size_t at) {
  const std::size_t end = text.find('}', at);
  if (text[at] != '{' || end == std::string_view::npos) return std::nullopt;
  const std::string_view name = text.substr(at + 1, end - at - 1);
  const bool is_known = std::ranges::find(kTaskPlaceholders, name) != kTaskPlaceholders.end();
  return is_known ? std::optional(name) : std::nullopt;
}

std::string task_value(std::string_view name, const store::Gift& gift, const GiftRecord& record) {
  const auto text = [&](GiftField field) {
    const auto* value = std::get_if<std::string>(&record.get(field));
    return value ? *value : std::string();
  };
  const store::GiftRequest& request = gift.request;
  if (name == "name") return text(GiftField::name);
  if (name == "item") return item_name(request);
  if (name == "recipient") return recipient_name(gift.transaction);
  if (name == "sender") return request.sender_name.empty() ? request.sender_email : request.sender_name;
  if (name == "campaign") return request.utm_campaign_id.value_or("");
  if (name == "price") return to_decimal(request.costs.total());
  if (name == "status") return std::string(to_word(gift.transaction.status));
  return text(GiftField::link);
}

/// Values are not read again, so that braces in a recipient's name stay text.
std::string task_text(std::string_view form, std::size_t length, const store::Gift& gift,
                      const GiftRecord& record) {
  std::string text;
  for (std::size_t at = 0; at < form.size(); ++at) {
    const auto name = placeholder_at(form, at);
    if (!name) {
      text += form[at];
      continue;
    }
    text += task_value(*name, gift, record);
    at += name->size() + 1;
  }
  return std::string(truncated(text, length));
}

void set_texts(crm::TaskUpsert& row, const store::Gift& gift, const GiftRecord& record,
               const TaskRules& rules) {
  row.subject = task_text(rules.subject, kSubjectCodePoints, gift, record);
  row.description = task_text(rules.description, kDescriptionCodePoints, gift, record);
  if (rules.due_days == 0) return;
  const UtcMillis due = *gift.transaction.times[Status::sent] + rules.due_days * kDayMillis;
  row.due_date = to_rfc3339(due).substr(0, kDateLength);
}

}  // namespace

std::string task_text_fault(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (const auto name = placeholder_at(text, at)) {
      at += name->size() + 1;
    } else if (text[at] == '{' || text[at] == '}') {
      const std::size_t end = std::min(text.find('}', at), text.size() - 1);
      const std::string_view rest = text.substr(at, end - at + 1);
      return "in which \"" + std::string(truncated(rest, kShownCodePoints)) + "\" is no placeholder";
    }
  }
  return {};
}

Owners owners_of(const std::string& record_owner, const store::MatchDecision& decision, TaskAssignee assignee,
                 const std::string& fallback, const OwnerFacts& facts) {
  const auto usable = [&](const std::string& user) {
    const bool is_replaced = !fallback.empty() && (user.empty() || facts.unusable.contains(user));
    return is_replaced ? fallback : user;
  };
  std::string assigned;
  if (assignee == TaskAssignee::sender) assigned = decision.sender_id;
  const auto account = facts.of_account.find(decision.account_id);
  if (assignee == TaskAssignee::account_owner && account != facts.of_account.end())
    assigned = account->second;
  return {usable(record_owner), usable(assigned.empty() ? record_owner : assigned)};
}

std::optional<crm::TaskUpsert> next_task_write(const store::Gift& gift, const store::CrmSyncState& sync_state,
                                               const GiftRecord& record, const TaskRules& rules,
                                               bool creates_record) {
  const bool complete = is_complete(gift.transaction.status);
  const bool has_record = creates_record || sync_state.state == store::CrmSyncStatus::written;
  const bool to_make = sync_state.task == store::TaskState::wanted && rules.enabled && has_record;
  const bool to_complete = sync_state.task == store::TaskState::open && complete;
  if (!to_make && !to_complete) return std::nullopt;
  const auto text = [&](GiftField field) {
    const auto* value = std::get_if<std::string>(&record.get(field));
    return value ? *value : std::string();
  };
  crm::TaskUpsert row;
  row.transaction = gift.transaction.id;
  row.exists = !to_make;
  row.completed = complete;
  row.status = complete ? rules.completed_status : rules.initial_status;
  row.type = rules.type;
  if (to_make) set_texts(row, gift, record, rules);
  row.contact_id = sync_state.decision.contact_id;
  row.owner_id = text(GiftField::owner);
  row.crm_id = sync_state.task_crm_id;
  row.gift_crm_id = sync_state.crm_id;
  return row;
}

store::TaskState task_state_after(const crm::TaskUpsert& row, const crm::RowResult& result) {
  if (result.kind == crm::RowResult::Kind::not_found) return store::TaskState::deleted;
  return row.completed ? store::TaskState::completed : store::TaskState::open;
}

namespace {

using Times = std::map<TransactionId, UtcMillis>;

bool is_external(const store::RecipientTransaction& gift) {
  return !gift.gift_source.empty() && gift.gift_source != store::kAdoptedGiftSource;
}

void keep_earliest(Times& times, TransactionId id, UtcMillis time) {
  const auto [known, is_first] = times.emplace(id, time);
  if (!is_first) known->second = std::min(known->second, time);
}

/// A "sent" change creates a gift. Older stores have only the gift's own time.
bool has_sent_report(const store::Gift& gift, std::span<const store::StatusChange> changes) {
  return std::any_of(changes.begin(), changes.end(), [&](const store::StatusChange& change) {
    return change.transaction == gift.transaction.id && change.status == Status::sent &&
           change.occurred_at == gift.request.created_at;
  });
}

}  // namespace

Times reported_sent_times(store::ChangeLog& log, std::span<const store::Gift* const> gifts,
                          std::span<const store::ChangeSpan> effective_spans) {
  Times times;
  for (const store::ChangeSpan& span : effective_spans) {
    if (span.status == Status::sent) keep_earliest(times, span.transaction, span.earliest);
  }
  std::vector<const store::Gift*> unconfirmed;  // the change that created them does not seem to count
  std::vector<TransactionId> ids;
  for (const store::Gift* gift : gifts) {
    const TransactionId id = gift->transaction.id;
    const auto earliest = times.find(id);
    if (!is_external(gift->transaction)) {
      if (earliest != times.end()) times.erase(earliest);
    } else if (earliest == times.end() || earliest->second > gift->request.created_at) {
      unconfirmed.push_back(gift);
      ids.push_back(id);
    }
  }
  if (unconfirmed.empty()) return times;
  const std::vector<store::StatusChange> changes = log.changes_of(ids);
  for (const store::Gift* gift : unconfirmed) {
    if (!has_sent_report(*gift, changes))
      keep_earliest(times, gift->transaction.id, gift->request.created_at);
  }
  Times voided;
  for (const store::StatusChange& change : changes) {
    if (change.status == Status::sent && !times.contains(change.transaction))
      keep_earliest(voided, change.transaction, change.occurred_at);
  }
  times.merge(voided);
  return times;
}

}  // namespace giftsync::sync
