#include "schema/request_record.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "schema/spelling.h"
#include "schema/text.h"

namespace giftsync::schema {

// clang-format off
const std::array<RecordField, kRequestFieldCount> kRequestFields{{
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
}};
// clang-format on

namespace {

using F = RequestField;

/// First what only steers links and approval, then what an approval binds to.
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
                        F::sender};
constexpr std::size_t kNotApproved = 3;

constexpr auto kStatusWords = spelling<RequestStatus>({{RequestStatus::pending, "Pending"},
                                                       {RequestStatus::approved, "Approved"},
                                                       {RequestStatus::rejected, "Rejected"},
                                                       {RequestStatus::sent, "Sent"}});

/// "-" for an absent value; else its length, so that no content looks like a border.
void append_value(std::string& text, const FieldValue& value) {
  if (const auto* words = std::get_if<std::string>(&value)) {
    text += "t" + std::to_string(words->size()) + ":" + *words;
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
  std::string words(text.substr(0, size));
  text.remove_prefix(std::min(size, text.size()));
  return words;
}

}  // namespace

std::string request_api_name(RequestField field, std::string_view name_space) {
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
      return api_name(field_of(field), name_space);
  }
}

std::span<const RequestField> approved_fields() {
  return std::span(kGiven).subspan(kNotApproved);
}

std::span<const RequestField> given_fields() {
  return kGiven;
}

std::string_view to_word(RequestStatus status) {
  return kStatusWords.of(status);
}

std::optional<RequestStatus> request_status_from_word(std::string_view word) {
  const std::string given = ascii_lower(trimmed(word));
  if (given.empty()) return RequestStatus::pending;
  for (const RequestStatus status : kAllRequestStatuses) {
    if (ascii_lower(to_word(status)) == given) return status;
  }
  return std::nullopt;
}

std::string RequestRecord::text(RequestField field) const {
  const auto* words = std::get_if<std::string>(&get(field));
  return words ? *words : std::string();
}

std::optional<bool> RequestRecord::checked(RequestField field) const {
  const auto* yes = std::get_if<bool>(&get(field));
  return yes ? std::optional(*yes) : std::nullopt;
}

std::string write_values(const RequestRecord& record, std::span<const RequestField> fields) {
  std::string text;
  for (const RequestField field : fields) append_value(text, record.get(field));
  return text;
}

void read_values(std::string_view text, std::span<const RequestField> fields, RequestRecord& record) {
  for (const RequestField field : fields) record.set(field, take_value(text));
}

}  // namespace giftsync::schema
