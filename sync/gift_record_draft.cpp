#include "sync/gift_record_draft.h"

namespace giftsync::sync {
namespace {

using schema::FieldValue;
using schema::GiftField;
using schema::Status;

FieldValue text_or_absent(const std::string& text) {
  return text.empty() ? FieldValue() : FieldValue(text);
}

std::string recipient_name(const schema::RecipientTransaction& transaction) {
  std::string name = transaction.first_name;
  if (!name.empty() && !transaction.last_name.empty()) name += " ";
  name += transaction.last_name;
  if (!name.empty()) return name;
  return transaction.email.empty() ? transaction.phone : transaction.email;
}

/// Sets fields and keeps account of what did not fit.
class Drafting {
 public:
  void set(GiftField field, FieldValue value) {
    if (draft_.record.set(field, std::move(value)) && field != GiftField::name) {
      const schema::RecordField& described = schema::field_of(field);
      draft_.warnings.push_back(std::string(described.label) + " was cut to its " +
                                std::to_string(described.length) + " characters in the CRM");
    }
  }
  void set_text(GiftField field, const std::string& text) { set(field, text_or_absent(text)); }
  void set_money(GiftField field, std::optional<schema::Money> amount) {
    set(field, amount ? FieldValue(*amount) : FieldValue());
  }
  GiftRecordDraft finish(std::int64_t version) {
    draft_.record.version = version;
    return std::move(draft_);
  }

 private:
  GiftRecordDraft draft_;
};

void set_costs(Drafting& drafting, const schema::GiftCosts& costs) {
  drafting.set_money(GiftField::item_cost, costs.item);
  drafting.set_money(GiftField::shipping_cost, costs.shipping);
  drafting.set_money(GiftField::carbon_neutral_cost, costs.carbon_neutral);
  drafting.set_money(GiftField::transaction_fee, costs.transaction_fee);
  drafting.set_money(GiftField::total_price, costs.total());
}

/// Who triggered it, as a CRM user. A gift from a web or mobile application was triggered by its sender
/// (Spec 6.3.1), one from inside the CRM by the user there, others by giftsync.
const std::string& actual_sender(const schema::GiftRequest& request, const schema::MatchDecision& decision,
                                 const std::string& integration_user) {
  if (!request.triggered_by.empty()) return request.triggered_by;
  const bool is_external = request.mode == schema::SendMode::external;
  const bool by_sender = integration_user.empty() || (is_external && !decision.sender_id.empty());
  return by_sender ? decision.sender_id : integration_user;
}

void set_associations(Drafting& drafting, const schema::MatchDecision& decision, const std::string& trigger) {
  drafting.set_text(GiftField::recipient_contact, decision.contact_id);
  drafting.set_text(GiftField::account, decision.account_id);
  drafting.set_text(GiftField::recipient_lead, decision.lead_id);
  drafting.set_text(GiftField::opportunity, decision.opportunity_id);
  drafting.set_text(GiftField::deal_stage, decision.deal_stage);
  drafting.set_text(GiftField::sender, decision.sender_id);
  drafting.set_text(GiftField::actual_sender, trigger);
  drafting.set_text(GiftField::created_by, trigger);
  drafting.set_text(GiftField::owner, trigger);
}

}  // namespace

GiftRecordDraft draft_gift_record(const schema::Gift& gift, const schema::MatchDecision& decision,
                                  const std::string& link, const std::string& integration_user) {
  const schema::GiftRequest& request = gift.request;
  const schema::RecipientTransaction& transaction = gift.transaction;
  Drafting drafting;
  drafting.set(GiftField::transaction_id, transaction.id.value);
  drafting.set(GiftField::status, std::string(to_word(transaction.status)));
  for (const Status status : schema::kAllStatuses) {
    if (const auto& time = transaction.times[status]) drafting.set(schema::time_field_of(status), *time);
  }
  set_costs(drafting, request.costs);
  set_associations(drafting, decision, actual_sender(request, decision, integration_user));
  drafting.set_text(GiftField::delivered_by, request.mode == schema::SendMode::email ? "email" : "");
  drafting.set_text(GiftField::description, request.item_description);
  drafting.set_text(GiftField::link, link);
  drafting.set_text(GiftField::message, transaction.message);
  const std::string& item = request.item_name.empty() ? "Gift" : request.item_name;
  drafting.set_text(GiftField::name, item + " for " + recipient_name(transaction));
  drafting.set_text(GiftField::recipient_email, transaction.email);
  drafting.set_text(GiftField::recipient_phone_number, transaction.phone);
  drafting.set_text(GiftField::sender_email, request.sender_email);
  if (request.gift.value != 0) drafting.set(GiftField::item_id, request.gift.value);
  return drafting.finish(transaction.version);
}

}  // namespace giftsync::sync
