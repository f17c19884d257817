#include "sync/gift_record_draft.h"

namespace giftsync::sync {
namespace {

schema::FieldValue text_or_absent(const std::string& text) {
  return text.empty() ? schema::FieldValue() : schema::FieldValue(text);
}

std::string recipient_name(const schema::store::RecipientTransaction& transaction) {
  std::string name = transaction.first_name;
  if (!name.empty() && !transaction.last_name.empty()) name += " ";
  name += transaction.last_name;
  if (!name.empty()) return name;
  return transaction.email.empty() ? transaction.phone : transaction.email;
}

/// Sets fields and records which texts were cut.
class DraftBuilder {
 public:
  void set(schema::GiftField field, schema::FieldValue value) {
    if (draft_.record.set(field, std::move(value)) && field != schema::GiftField::name) {
      const schema::FieldDescriptor& described = schema::descriptor_of(field);
      draft_.warnings.push_back(std::string(described.label) + " was cut to its " +
                                std::to_string(described.length) + " characters in the CRM");
    }
  }
  void set_text(schema::GiftField field, const std::string& text) { set(field, text_or_absent(text)); }
  void set_money(schema::GiftField field, std::optional<schema::Money> amount) {
    set(field, amount ? schema::FieldValue(*amount) : schema::FieldValue());
  }
  GiftRecordDraft finish(std::int64_t version) {
    draft_.record.version = version;
    return std::move(draft_);
  }

 private:
  GiftRecordDraft draft_;
};

void set_costs(DraftBuilder& builder, const schema::store::GiftCosts& costs) {
  builder.set_money(schema::GiftField::item_cost, costs.item);
  builder.set_money(schema::GiftField::shipping_cost, costs.shipping);
  builder.set_money(schema::GiftField::carbon_neutral_cost, costs.carbon_neutral);
  builder.set_money(schema::GiftField::transaction_fee, costs.transaction_fee);
  builder.set_money(schema::GiftField::total_price, costs.total());
}

/// Who triggered the gift, as a CRM user: the sender for a gift from a web or mobile application, the CRM
/// user for a gift sent from inside the CRM, else giftsync (SYNC-13).
const std::string& actual_sender(const schema::store::GiftRequest& request,
                                 const schema::store::MatchDecision& decision,
                                 const std::string& integration_user) {
  if (!request.triggered_by.empty()) return request.triggered_by;
  const bool is_external = request.mode == schema::SendMode::external;
  const bool by_sender = integration_user.empty() || (is_external && !decision.sender_id.empty());
  return by_sender ? decision.sender_id : integration_user;
}

void set_associations(DraftBuilder& builder, const schema::store::MatchDecision& decision,
                      const std::string& trigger) {
  builder.set_text(schema::GiftField::recipient_contact, decision.contact_id);
  builder.set_text(schema::GiftField::account, decision.account_id);
  builder.set_text(schema::GiftField::recipient_lead, decision.lead_id);
  builder.set_text(schema::GiftField::opportunity, decision.opportunity_id);
  builder.set_text(schema::GiftField::deal_stage, decision.deal_stage);
  builder.set_text(schema::GiftField::sender, decision.sender_id);
  builder.set_text(schema::GiftField::actual_sender, trigger);
  builder.set_text(schema::GiftField::created_by, trigger);
  builder.set_text(schema::GiftField::owner, trigger);
}

}  // namespace

GiftRecordDraft draft_gift_record(const schema::store::Gift& gift,
                                  const schema::store::MatchDecision& decision, const std::string& link,
                                  const std::string& integration_user) {
  const schema::store::GiftRequest& request = gift.request;
  const schema::store::RecipientTransaction& transaction = gift.transaction;
  DraftBuilder builder;
  builder.set(schema::GiftField::transaction_id, transaction.id.value);
  builder.set(schema::GiftField::status, std::string(to_word(transaction.status)));
  for (const schema::Status status : schema::kAllStatuses) {
    if (const auto& time = transaction.times[status]) builder.set(schema::time_field_of(status), *time);
  }
  set_costs(builder, request.costs);
  set_associations(builder, decision, actual_sender(request, decision, integration_user));
  builder.set_text(schema::GiftField::delivered_by, request.mode == schema::SendMode::email ? "email" : "");
  builder.set_text(schema::GiftField::description, request.item_description);
  builder.set_text(schema::GiftField::link, link);
  builder.set_text(schema::GiftField::message, transaction.message);
  const std::string& item = request.item_name.empty() ? "Gift" : request.item_name;
  builder.set_text(schema::GiftField::name, item + " for " + recipient_name(transaction));
  builder.set_text(schema::GiftField::recipient_email, transaction.email);
  builder.set_text(schema::GiftField::recipient_phone_number, transaction.phone);
  builder.set_text(schema::GiftField::sender_email, request.sender_email);
  if (request.gift.value != 0) builder.set(schema::GiftField::item_id, request.gift.value);
  return builder.finish(transaction.version);
}

}  // namespace giftsync::sync
