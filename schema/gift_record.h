// schema: the gift record, one per recipient transaction (Spec 2.5). kGiftFields is the one table of its
// fields.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "schema/ids.h"
#include "schema/record_field.h"
#include "schema/words.h"

namespace giftsync::schema {

/// In the order of kGiftFields, which is the order of Spec 2.5.
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
  created_by,
  last_modified_by,
  owner,
};
inline constexpr std::size_t kGiftFieldCount = static_cast<std::size_t>(GiftField::owner) + 1;

extern const std::array<RecordField, kGiftFieldCount> kGiftFields;
inline const RecordField& field_of(GiftField field) {
  return kGiftFields[static_cast<std::size_t>(field)];
}

/// Whether giftsync, with no value for it, leaves what an existing record has: of an adopted record it does
/// not know how the prices came about, nor always when it was sent.
bool is_left_when_absent(GiftField field);

/// The timestamp field of a status; sent's is Sent At.
GiftField time_field_of(Status status);

/// What the CRM holds where a value of the field should be, which only somebody else can have written. The
/// field reads as absent.
struct UnreadableCell {
  GiftField field = GiftField::status;
  std::string text;
};

/// A gift record as values, one for each field; absent fields are std::monostate. `version` grows with every
/// fold that changed something: a CRM never lets an older version overwrite a newer one.
class GiftRecord {
 public:
  const FieldValue& get(GiftField field) const { return values_[static_cast<std::size_t>(field)]; }
  /// The value must suit the field's type; text beyond the field's length is cut. Returns true when it was
  /// cut.
  bool set(GiftField field, FieldValue value);

  TransactionId transaction() const;
  std::int64_t version = 0;
  std::vector<UnreadableCell> unreadable;

 private:
  std::array<FieldValue, kGiftFieldCount> values_;
};

/// What a gift record is associated with: its four lookups that matching decides (Spec 6.4). Empty ones are
/// not set.
struct Associations {
  std::string contact_id;
  std::string account_id;
  std::string lead_id;
  std::string opportunity_id;
  friend bool operator==(const Associations&, const Associations&) = default;
};
Associations associations_of(const GiftRecord& record);
/// Empties what `lookup` stands for, if it is one of the four.
void clear(Associations& links, GiftField lookup);

}  // namespace giftsync::schema
