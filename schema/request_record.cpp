#include "schema/request_record.h"

#include <algorithm>
#include <charconv>

#include "platform/text.h"
#include "schema/enums.h"

namespace giftsync {

// clang-format off
const std::array<FieldDescriptor, kRequestRecordFieldCount> kRequestRecordFields{{
    {"Request Number",              "Name",                        FieldType::text,       80,    FieldOwner::crm,      "name", true},
    {"Account",                     "Account",                     FieldType::lookup,     0,     FieldOwner::once,     "account"},
    {"Opportunity",                 "Opportunity",                 FieldType::lookup,     0,     FieldOwner::once,     "opportunity"},
    {"Auto-Approved",               "Auto_Approved",               FieldType::checkbox,   0,     FieldOwner::once,     "auto_approved"},
    {"Credit Card Id",              "Credit_Card_Id",              FieldType::text,       255,   FieldOwner::once,     "credit_card_id"},
    {"Gift Category Id",            "Gift_Category_Id",            FieldType::text,       255,   FieldOwner::once,     "gift_category_id"},
    {"Gift Id",                     "Gift_Id",                     FieldType::text,       255,   FieldOwner::once,     "gift_id"},
    {"Gift Item Description",       "Gift_Item_Description",       FieldType::text,       255,   FieldOwner::once,     "gift_item_description"},
    {"Include Shipping",            "Include_Shipping",            FieldType::checkbox,   0,     FieldOwner::once,     "include_shipping"},
    {"Include Carbon Neutral Cost", "Include_Carbon_Neutral_Cost", FieldType::checkbox,   0,     FieldOwner::once,     "include_carbon_neutral_cost"},
    {"Item link",                   "Item_Link",                   FieldType::url,        255,   FieldOwner::once,     "item_link"},
    {"Payment Method",              "Payment_Method",              FieldType::text,       255,   FieldOwner::once,     "payment_method"},
    {"Request Status",              "Request_Status",              FieldType::picklist,   255,   FieldOwner::giftsync, "request_status"},
    {"Root Gift Id",                "Root_Gift_Id",                FieldType::text,       255,   FieldOwner::once,     "root_gift_id"},
    {"Send Type",                   "Send_Type",                   FieldType::text,       255,   FieldOwner::once,     "send_type"},
    {"Third Party Gift Id",         "Third_Party_Gift_Id",         FieldType::text,       255,   FieldOwner::once,     "third_party_gift_id"},
    {"Third Party Vendor",          "Third_Party_Vendor",          FieldType::text,       255,   FieldOwner::once,     "third_party_vendor"},
    {"Error Log",                   "Error_Log",                   FieldType::text,       255,   FieldOwner::giftsync, "error_log"},
    {"Use User Balance",            "Use_User_Balance",            FieldType::checkbox,   0,     FieldOwner::once,     "use_user_balance"},
    {"Recipient Contact",           "Recipient_Contact",           FieldType::lookup,     0,     FieldOwner::once,     "recipient_contact"},
    {"Recipient Lead",              "Recipient_Lead",              FieldType::lookup,     0,     FieldOwner::once,     "recipient_lead"},
    {"Recipient Email",             "Recipient_Email",             FieldType::email,      254,   FieldOwner::once,     "recipient_email"},
    {"Recipient First Name",        "Recipient_First_Name",        FieldType::text,       255,   FieldOwner::once,     "recipient_first_name"},
    {"Recipient Last Name",         "Recipient_Last_Name",         FieldType::text,       255,   FieldOwner::once,     "recipient_last_name"},
    {"Message",                     "Message",                     FieldType::long_text,  131072,FieldOwner::once,     "message"},
    {"Sender",                      "Sender",                      FieldType::lookup,     0,     FieldOwner::once,     "sender"},
    {"Created By ID",               "CreatedById",                 FieldType::lookup,     0,     FieldOwner::once,     "createdbyid", true},
    {"Created Date",                "CreatedDate",                 FieldType::date_time,  0,     FieldOwner::crm,      "createddate", true},
    {"Last Modified By ID",         "LastModifiedById",            FieldType::lookup,     0,     FieldOwner::crm,      "lastmodifiedbyid", true},
    {"Last Modified Date",          "LastModifiedDate",            FieldType::date_time,  0,     FieldOwner::crm,      "lastmodifieddate", true},
    {"Owner ID",                    "OwnerId",                     FieldType::lookup,     0,     FieldOwner::once,     "ownerid", true},
    {"Utm Campaign Id",             "Utm_Campaign_Id",             FieldType::text,       255,   FieldOwner::once,     "utm_campaign_id"},
}};
// clang-format on

namespace {

using F = RequestRecordField;

/// First the fields that control links and approval, then the approved content.
constexpr F kGiven[] = {F::account,
                        F::opportunity,
                        F::auto_approved,
                        F::credit_card_id,
                        F::gift_category_id,
                        F::gift_id,
                        F::gift_item_description,
                        F::include_shipping,
                        F::include_carbon_neutral_cost,
                        F::payment_method,
                        F::root_gift_id,
                        F::send_type,
                        F::third_party_gift_id,
                        F::third_party_vendor,
                        F::use_user_balance,
                        F::recipient_contact,
                        F::recipient_lead,
                        F::recipient_email,
                        F::recipient_first_name,
                        F::recipient_last_name,
                        F::message,
                        F::sender,
                        F::utm_campaign_id};
constexpr std::size_t kNotApproved = 3;

constexpr auto kRequestRecordStatuses =
    enum_words<RequestRecordStatus>({{RequestRecordStatus::pending, "Pending"},
                                     {RequestRecordStatus::approved, "Approved"},
                                     {RequestRecordStatus::rejected, "Rejected"},
                                     {RequestRecordStatus::sent, "Sent"}});

/// "-" for an absent value; else its length, so that no content is mistaken for a separator.
void append_value(std::string& text, const FieldValue& value) {
  if (const auto* text_value = std::get_if<std::string>(&value)) {
    text += "t" + std::to_string(text_value->size()) + ":" + *text_value;
  } else if (const auto* yes = std::get_if<bool>(&value)) {
    text += *yes ? "y" : "n";
  } else if (const auto* time = std::get_if<UtcMillis>(&value)) {
    text += "m" + std::to_string(time->value) + ":";
  } else {
    text += "-";
  }
}

/// The number before the next ":", which is passed over.
std::int64_t read_number(std::string_view& text) {
  std::int64_t number = 0;
  const std::size_t end = text.find(':');
  if (end == std::string_view::npos) return 0;
  std::from_chars(text.data(), text.data() + end, number);
  text.remove_prefix(end + 1);
  return number;
}

FieldValue take_value(std::string_view& text) {
  if (text.empty()) return {};
  const char kind = text.front();
  text.remove_prefix(1);
  if (kind == 'y' || kind == 'n') return kind == 'y';
  if (kind == 'm') return UtcMillis{read_number(text)};
  if (kind != 't') return {};
  const auto size = static_cast<std::size_t>(read_number(text));
  std::string text_value(text.substr(0, size));
  text.remove_prefix(std::min(size, text.size()));
  return text_value;
}

}  // namespace

std::string request_record_api_name(RequestRecordField field, std::string_view name_space) {
  const std::string own(name_space);
  switch (field) {
    case F::send_type:
      return "Send_Type__c";
    case F::error_log:
      return own + "__" + own + "_Error_Log__c";
    case F::item_link:
      return own + "__Item_in_" + own + "__c";
    case F::include_shipping:
      return own + "__Include_" + own + "_Shipping__c";
    default:
      return api_name(descriptor_of(field), name_space);
  }
}

std::span<const RequestRecordField> approval_bound_fields() {
  return std::span(kGiven).subspan(kNotApproved);
}

std::span<const RequestRecordField> creatable_fields() {
  return kGiven;
}

std::string_view to_word(RequestRecordStatus status) {
  return kRequestRecordStatuses.word_of(status);
}

std::optional<RequestRecordStatus> request_record_status_from_word(std::string_view word) {
  const std::string given = ascii_lower(trimmed(word));
  if (given.empty()) return RequestRecordStatus::pending;
  for (const RequestRecordStatus status : kAllRequestRecordStatuses) {
    if (ascii_lower(to_word(status)) == given) return status;
  }
  return std::nullopt;
}

std::string RequestRecord::text(RequestRecordField field) const {
  const auto* text_value = std::get_if<std::string>(&get(field));
  return text_value ? *text_value : std::string();
}

std::optional<bool> RequestRecord::checkbox(RequestRecordField field) const {
  const auto* yes = std::get_if<bool>(&get(field));
  return yes ? std::optional(*yes) : std::nullopt;
}

std::string format_values(const RequestRecord& record, std::span<const RequestRecordField> fields) {
  std::string text;
  for (const RequestRecordField field : fields) {
    // The last one of every list.
    if (field == F::utm_campaign_id && std::holds_alternative<std::monostate>(record.get(field))) continue;
    append_value(text, record.get(field));
  }
  return text;
}

void parse_values(std::string_view text, std::span<const RequestRecordField> fields, RequestRecord& record) {
  for (const RequestRecordField field : fields) record.set(field, take_value(text));
}

std::string complete_request_number(const std::string& text) {
  constexpr std::size_t kDigits = 6;
  const std::string_view digits = std::string_view(text).substr(ascii_lower(text).starts_with("r-") ? 2 : 0);
  const auto number = parse_number<std::int64_t>(digits);
  if (!number || *number < 0) return text;
  const std::string shortest = std::to_string(*number);
  return "R-" + std::string(kDigits - std::min(kDigits, shortest.size()), '0') + shortest;
}

}  // namespace giftsync
