// schema: the gift record, one per recipient transaction (SYNC-3). kGiftFields is the only table of its
// fields.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "schema/enums.h"
#include "schema/field_descriptor.h"
#include "schema/ids.h"

namespace giftsync {

/// In the order of kGiftFields.
enum class GiftField : std::size_t {
  account,
  actual_sender,
  carbon_neutral_cost,
  deal_stage,
  delivered,
  delivered_by,
  delivered_time,
  description,
  donated_time,
  expired_time,
  item_cost,
  link,
  message,
  name,
  opened,
  opened_time,
  opportunity,
  recipient_contact,
  recipient_email,
  recipient_lead,
  recipient_phone_number,
  redeemed,
  redeemed_time,
  refunded_time,
  sender,
  sender_email,
  shipping_cost,
  status,
  item_id,
  sent_at,
  total_price,
  transaction_fee,
  transaction_id,
  undelivered_time,
  utm_campaign_id,
  created_by,
  last_modified_by,
  owner,
};
inline constexpr std::size_t kGiftFieldCount = static_cast<std::size_t>(GiftField::owner) + 1;

extern const std::array<FieldDescriptor, kGiftFieldCount> kGiftFields;
inline const FieldDescriptor& descriptor_of(GiftField field) {
  return kGiftFields[static_cast<std::size_t>(field)];
}

/// Whether an absent value leaves the record's value unchanged: the prices and the sent time of an
/// adopted record may be unknown to giftsync.
bool is_preserved_when_absent(GiftField field);

/// The timestamp field of a status; for sent it is Sent At.
GiftField time_field_of(Status status);

/// An invalid value that the CRM holds in the field; giftsync never writes one. The field reads as
/// absent.
struct UnreadableValue {
  GiftField field = GiftField::status;
  std::string text;
};

/// A gift record as values, one for each field; absent fields are std::monostate. `version` grows with
/// every fold that changed something: an older version never overwrites a newer one in the CRM.
class GiftRecord {
 public:
  const FieldValue& get(GiftField field) const { return values_[static_cast<std::size_t>(field)]; }
  /// The value must match the field's type. Text beyond the field's length is cut; returns true when it
  /// was cut.
  bool set(GiftField field, FieldValue value);

  TransactionId transaction() const;
  std::int64_t version = 0;
  std::vector<UnreadableValue> unreadable;

 private:
  std::array<FieldValue, kGiftFieldCount> values_;
};

/// The four lookups of a gift record that matching decides (MATCH-6). Empty ones are not set.
struct Associations {
  std::string contact_id;
  std::string account_id;
  std::string lead_id;
  std::string opportunity_id;
  friend bool operator==(const Associations&, const Associations&) = default;
};
Associations associations_of(const GiftRecord& record);
/// Clears the value of `lookup`, if it is one of the four.
void clear_lookup(Associations& links, GiftField lookup);

/// Why a CRM refuses a row whose Transaction Id belongs to a record that giftsync did not write. The text is
/// the same for the same gift, so that a stored refusal is recognised.
std::string id_conflict_reason(TransactionId transaction);

}  // namespace giftsync
