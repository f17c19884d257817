#include "schema/gift_record.h"

#include <cstdlib>

#include "platform/text.h"

namespace giftsync {

// clang-format off
const std::array<FieldDescriptor, kGiftFieldCount> kGiftFields{{
    {"Account",               "Account",                       FieldType::lookup,     0,     FieldOwner::once,     "account"},
    {"Actual Sender",         "Actual_Sender",                 FieldType::lookup,     0,     FieldOwner::once,     "actual_sender"},
    {"Carbon Neutral Cost",   "Carbon_Neutral_Cost",           FieldType::currency,  16,     FieldOwner::giftsync, "carbon_neutral_cost"},
    {"Deal Stage",            "Deal_Stage",                    FieldType::text,      255,    FieldOwner::once,     "deal_stage"},
    {"Delivered",             "Delivered",                     FieldType::checkbox,  0,      FieldOwner::crm,      "delivered"},
    {"Delivered By",          "DeliveryType",                  FieldType::picklist,  255,    FieldOwner::once,     "deliverytype"},
    {"Delivered Date/Time",   "Delivered_Date_Time",           FieldType::date_time, 0,      FieldOwner::giftsync, "delivered_date_time"},
    {"Description",           "Description",                   FieldType::long_text, 131072, FieldOwner::once,     "description"},
    {"Donated Date/Time",     "Donated_Date_Time",             FieldType::date_time, 0,      FieldOwner::giftsync, "donated_date_time"},
    {"Expired Date/Time",     "Expired_Date_Time",             FieldType::date_time, 0,      FieldOwner::giftsync, "expired_date_time"},
    {"Item Cost",             "Item_Cost",                     FieldType::currency,  16,     FieldOwner::giftsync, "item_cost"},
    {"Link",                  "RecipientTransactionLink",      FieldType::url,       255,    FieldOwner::once,     "recipienttransactionlink"},
    {"Message",               "Message",                       FieldType::long_text, 131072, FieldOwner::once,     "message"},
    {"Name",                  "Name",                          FieldType::text,      80,     FieldOwner::once,     "name", true},
    {"Opened",                "Opened",                        FieldType::checkbox,  0,      FieldOwner::crm,      "opened"},
    {"Opened Date/Time",      "Opened_Date_Time",              FieldType::date_time, 0,      FieldOwner::giftsync, "opened_date_time"},
    {"Opportunity",           "Opportunity",                   FieldType::lookup,     0,     FieldOwner::once,     "opportunity"},
    {"Recipient Contact",     "RecipientContactId",            FieldType::lookup,     0,     FieldOwner::once,     "recipientcontactid"},
    {"Recipient Email",       "Recipient_Email",               FieldType::email,     254,    FieldOwner::giftsync, "recipient_email"},
    {"Recipient Lead",        "RecipientLeadId",               FieldType::lookup,     0,     FieldOwner::once,     "recipientleadid"},
    {"Recipient Phone Number","Recipient_Phone_Number",        FieldType::phone,     40,     FieldOwner::once,     "recipient_phone_number"},
    {"Redeemed",              "Redeemed",                      FieldType::checkbox,  0,      FieldOwner::crm,      "redeemed"},
    {"Redeemed Date/Time",    "Redeemed_Date_Time",            FieldType::date_time, 0,      FieldOwner::giftsync, "redeemed_date_time"},
    {"Refunded Date/Time",    "Refunded_Date_Time",            FieldType::date_time, 0,      FieldOwner::giftsync, "refunded_date_time"},
    {"Sender",                "SenderId",                      FieldType::lookup,     0,     FieldOwner::once,     "senderid"},
    {"Sender Email",          "Sender_Email",                  FieldType::email,     254,    FieldOwner::once,     "sender_email"},
    {"Shipping Cost",         "Shipping_Cost",                 FieldType::currency,  16,     FieldOwner::giftsync, "shipping_cost"},
    {"Status",                "RecipientTransactionStatus",    FieldType::picklist,  255,    FieldOwner::giftsync, "recipienttransactionstatus"},
    {"Item Id",               "GiftId",                        FieldType::number,    18,     FieldOwner::once,     "giftid"},
    {"Sent At",               "RecipientTransactionCreatedAt", FieldType::date_time, 0,      FieldOwner::giftsync, "recipienttransactioncreatedat"},
    {"Total Price",           "RecipientTransactionPrice",     FieldType::currency,  16,     FieldOwner::giftsync, "recipienttransactionprice"},
    {"Transaction Fee",       "Transaction_Fee",               FieldType::currency,  16,     FieldOwner::giftsync, "transaction_fee"},
    {"Transaction Id",        "RecipientTransactionId",        FieldType::number,    18,     FieldOwner::once,     "recipienttransactionid"},
    {"Undelivered Date/Time", "Undelivered_Date_Time",         FieldType::date_time, 0,      FieldOwner::giftsync, "undelivered_date_time"},
    {"Utm Campaign Id",       "Utm_Campaign_Id",               FieldType::text,      255,    FieldOwner::once,     "utm_campaign_id"},
    {"Created By ID",         "CreatedById",                   FieldType::lookup,     0,     FieldOwner::once,     "createdbyid", true},
    {"Last Modified By ID",   "LastModifiedById",              FieldType::lookup,     0,     FieldOwner::crm,      "lastmodifiedbyid", true},
    {"Owner ID",              "OwnerId",                       FieldType::lookup,     0,     FieldOwner::once,     "ownerid", true},
}};
// clang-format on

namespace {

bool has_type(FieldType type, const FieldValue& value) {
  switch (type) {
    case FieldType::currency:
      return std::holds_alternative<Money>(value);
    case FieldType::number:
      return std::holds_alternative<std::int64_t>(value);
    case FieldType::date_time:
      return std::holds_alternative<UtcMillis>(value);
    case FieldType::checkbox:
      return std::holds_alternative<bool>(value);
    default:
      return std::holds_alternative<std::string>(value);
  }
}

}  // namespace

std::string api_name(const FieldDescriptor& field, std::string_view name_space) {
  if (field.standard) return std::string(field.name);
  return std::string(name_space) + "__" + std::string(field.name) + "__c";
}

GiftField time_field_of(Status status) {
  switch (status) {
    case Status::sent:
      return GiftField::sent_at;
    case Status::delivered:
      return GiftField::delivered_time;
    case Status::undelivered:
      return GiftField::undelivered_time;
    case Status::opened:
      return GiftField::opened_time;
    case Status::redeemed:
      return GiftField::redeemed_time;
    case Status::donated:
      return GiftField::donated_time;
    case Status::expired:
      return GiftField::expired_time;
    case Status::refunded:
      return GiftField::refunded_time;
  }
  std::abort();  // a value outside its enumeration: a bug
}

bool GiftRecord::set(GiftField field, FieldValue value) {
  const FieldDescriptor& descriptor = descriptor_of(field);
  if (!std::holds_alternative<std::monostate>(value) && !has_type(descriptor.type, value))
    std::abort();  // a bug
  bool is_truncated = false;
  if (auto* text = std::get_if<std::string>(&value); text && descriptor.length > 0) {
    const std::size_t length = truncated(*text, static_cast<std::size_t>(descriptor.length)).size();
    is_truncated = length < text->size();
    text->resize(length);
  }
  values_[static_cast<std::size_t>(field)] = std::move(value);
  return is_truncated;
}

Associations associations_of(const GiftRecord& record) {
  const auto id_in = [&](GiftField field) {
    const auto* id = std::get_if<std::string>(&record.get(field));
    return id ? *id : std::string();
  };
  return {id_in(GiftField::recipient_contact), id_in(GiftField::account), id_in(GiftField::recipient_lead),
          id_in(GiftField::opportunity)};
}

void clear_lookup(Associations& links, GiftField lookup) {
  if (lookup == GiftField::recipient_contact) links.contact_id.clear();
  if (lookup == GiftField::account) links.account_id.clear();
  if (lookup == GiftField::recipient_lead) links.lead_id.clear();
  if (lookup == GiftField::opportunity) links.opportunity_id.clear();
}

bool is_preserved_when_absent(GiftField field) {
  return field == GiftField::sent_at || descriptor_of(field).type == FieldType::currency;
}

std::string id_conflict_reason(TransactionId transaction) {
  return "the CRM has a gift record with the Transaction Id " + std::to_string(transaction.value) +
         " that giftsync did not write; it stays unchanged. Give it another Transaction Id in the CRM, one "
         "that no gift has: then giftsync creates this gift's record within minutes";
}

TransactionId GiftRecord::transaction() const {
  const auto* number = std::get_if<std::int64_t>(&get(GiftField::transaction_id));
  return {number ? *number : 0};
}

}  // namespace giftsync
