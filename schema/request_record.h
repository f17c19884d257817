// schema: the request record (Spec 2.6, design 3.3): a gift that the CRM asks for, sent once it is approved.
// kRequestFields is the one table of its fields; names of whole APIs with the package's namespace in the
// middle are made by request_api_name().
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "schema/record_field.h"

namespace giftsync::schema {

/// In the order of kRequestFields: Spec 2.6, then what design 3.3 adds, then the standard fields.
enum class RequestField : std::size_t {
  number,
  account,
  opportunity,
  auto_approved,
  credit_card_id,
  gift_category_id,
  gift_id,
  gift_item_description,
  include_shipping,
  include_carbon_neutral_cost,
  item_link,
  payment_method,
  status,
  root_gift_id,
  send_type,
  third_party_gift_id,
  third_party_vendor,
  error_log,
  use_user_balance,
  recipient_contact,
  recipient_lead,
  recipient_email,
  recipient_first_name,
  recipient_last_name,
  message,
  sender,
  created_by,
  created_date,
  last_modified_by,
  last_modified_date,
  owner,
};
inline constexpr std::size_t kRequestFieldCount = static_cast<std::size_t>(RequestField::owner) + 1;

extern const std::array<RecordField, kRequestFieldCount> kRequestFields;
inline const RecordField& field_of(RequestField field) {
  return kRequestFields[static_cast<std::size_t>(field)];
}
/// "giftsync__Gift_Id__c", "giftsync__giftsync_Error_Log__c", "Send_Type__c".
std::string request_api_name(RequestField field, std::string_view name_space);

/// What an approval is bound to: whoever changes one of these asks for approval again (design 3.3).
std::span<const RequestField> approved_fields();
/// What a caller may give when a request is made.
std::span<const RequestField> given_fields();

/// Request Status (Spec 3.2).
enum class RequestStatus { pending, approved, rejected, sent };
inline constexpr std::array<RequestStatus, 4> kAllRequestStatuses{
    RequestStatus::pending, RequestStatus::approved, RequestStatus::rejected, RequestStatus::sent};
std::string_view to_word(RequestStatus status);
/// Case and white space around it do not count; an empty one is Pending.
std::optional<RequestStatus> request_status_from_word(std::string_view word);

/// A request record as values, one for each field; absent ones are std::monostate.
class RequestRecord {
 public:
  const FieldValue& get(RequestField field) const { return values_[static_cast<std::size_t>(field)]; }
  void set(RequestField field, FieldValue value) {
    values_[static_cast<std::size_t>(field)] = std::move(value);
  }
  /// Of a text field; empty when absent.
  std::string text(RequestField field) const;
  /// Of a checkbox; nullopt when it was never set.
  std::optional<bool> checked(RequestField field) const;

  std::string id;        ///< the CRM's own, which a request is known by for ever
  bool claimed = false;  ///< a daemon has taken it for sending: nobody can reject it any more
  /// The label of a field that holds bytes which are no text; nothing can be done with such a record.
  std::string unreadable = {};

 private:
  std::array<FieldValue, kRequestFieldCount> values_;
};

/// The values of some fields as one text: equal exactly when all of them are. read_values() is its opposite.
std::string write_values(const RequestRecord& record, std::span<const RequestField> fields);
void read_values(std::string_view text, std::span<const RequestField> fields, RequestRecord& record);

}  // namespace giftsync::schema
