// schema: the request record: a CRM row that asks for a gift, which is sent after its approval (REQ-1).
// kRequestRecordFields is the only table of its fields. request_record_api_name() builds API names that
// have the package's namespace in the middle.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "schema/field_descriptor.h"

namespace giftsync {

/// In the order of kRequestRecordFields (REQ-1, REQ-2). New ones come last: stored texts have this order.
enum class RequestRecordField : std::size_t {
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
  utm_campaign_id,  ///< REQ-58
};
inline constexpr std::size_t kRequestRecordFieldCount =
    static_cast<std::size_t>(RequestRecordField::utm_campaign_id) + 1;

extern const std::array<FieldDescriptor, kRequestRecordFieldCount> kRequestRecordFields;
inline const FieldDescriptor& descriptor_of(RequestRecordField field) {
  return kRequestRecordFields[static_cast<std::size_t>(field)];
}
/// "giftsync__Gift_Id__c", "giftsync__giftsync_Error_Log__c", "Send_Type__c".
std::string request_record_api_name(RequestRecordField field, std::string_view name_space);

/// The content that an approval binds to: a change of one of these fields requires a new approval
/// (REQ-14).
std::span<const RequestRecordField> approval_bound_fields();
/// The fields that a caller may set when it creates a request record.
std::span<const RequestRecordField> creatable_fields();

/// Request Status (REQ-7).
enum class RequestRecordStatus { pending, approved, rejected, sent };
inline constexpr std::array<RequestRecordStatus, 4> kAllRequestRecordStatuses{
    RequestRecordStatus::pending, RequestRecordStatus::approved, RequestRecordStatus::rejected,
    RequestRecordStatus::sent};
std::string_view to_word(RequestRecordStatus status);
/// Ignores case and surrounding white space; an empty one is Pending.
std::optional<RequestRecordStatus> request_record_status_from_word(std::string_view word);

/// A request record as values, one for each field; absent fields are std::monostate.
class RequestRecord {
 public:
  const FieldValue& get(RequestRecordField field) const { return values_[static_cast<std::size_t>(field)]; }
  void set(RequestRecordField field, FieldValue value) {
    values_[static_cast<std::size_t>(field)] = std::move(value);
  }
  /// For a text field; empty when absent.
  std::string text(RequestRecordField field) const;
  /// For a checkbox; nullopt when it was never set.
  std::optional<bool> checkbox(RequestRecordField field) const;

  std::string id;        ///< the CRM's Id, which identifies the record permanently
  bool claimed = false;  ///< a daemon has claimed it for sending: it can no longer be rejected
  /// What the CRM says of the state that was read, for the CRM: an update brings it back. Empty where a CRM
  /// compares the values.
  std::string revision = {};
  /// The label of a field whose bytes are not valid text; such a record cannot be processed.
  std::string unreadable = {};

 private:
  std::array<FieldValue, kRequestRecordFieldCount> values_;
};

/// The values of some fields as one text: two texts are equal exactly when all values are. parse_values()
/// is the inverse. Without a campaign it is the text of the versions that had none, whose approvals hold.
std::string format_values(const RequestRecord& record, std::span<const RequestRecordField> fields);
void parse_values(std::string_view text, std::span<const RequestRecordField> fields, RequestRecord& record);

/// Error Logs that say that an edit withdrew the approval: the record waits again, which is no fault
/// (CON-57). Without apostrophes, because they are written into SQL.
inline constexpr std::string_view kUncheckedError = "Auto-Approved was unchecked: waits for approval.";
inline constexpr std::string_view kChangedError = "Changed after approval: approve it again.";

/// "R-000004" of "4", "r-4" and "000004", as the CRM of giftsync numbers its records; other texts stay.
std::string complete_request_number(const std::string& text);

}  // namespace giftsync
