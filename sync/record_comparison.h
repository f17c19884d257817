// sync: a gift's record in the CRM beside the record that giftsync would write. SYNC-4 lists the fields that
// giftsync owns. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schema/crm/gift_records.h"
#include "schema/gift_record.h"

namespace giftsync::sync {

struct FieldDrift {
  schema::GiftField field = schema::GiftField::status;
  std::string in_crm;  ///< as text; empty when absent
  std::string wanted;
};

struct RecordDrift {
  std::vector<FieldDrift> repaired;     ///< fields that giftsync owns: a backfill writes them
  std::vector<FieldDrift> differences;  ///< other fields: never changed
};

/// What the comparison says of one field.
enum class FieldVerdict {
  same,
  repaired,  ///< differs; giftsync owns the field: a backfill writes it
  differs,   ///< differs, and is never changed
  // Not compared:
  of_crm,        ///< the CRM computes it
  not_in_crm,    ///< the CRM has no such field
  not_known,     ///< giftsync has no value for it, and one that people entered stays
  of_adopted,    ///< giftsync adopted the record, which keeps it
  link_unknown,  ///< the link cannot be made here
};
/// "not_in_crm"
std::string_view to_word(FieldVerdict verdict);

/// As compare_record().
FieldVerdict compare_field(const schema::crm::GiftRecords& records, const schema::GiftRecord& record,
                           const schema::GiftRecord& wanted, schema::GiftField field, bool is_adopted,
                           bool knows_link);

/// The fields in which the record differs from the wanted one, in the order of the fields. `is_adopted`: of
/// an adopted record only status and times are giftsync's. Link is compared if `knows_link`.
RecordDrift compare_record(const schema::crm::GiftRecords& records, const schema::GiftRecord& record,
                           const schema::GiftRecord& wanted, bool is_adopted, bool knows_link);

/// Empty when absent.
std::string text_of(const schema::FieldValue& value);
/// What the record has in the field, also a text that is not a value of it.
std::string text_in(const schema::GiftRecord& record, schema::GiftField field);

}  // namespace giftsync::sync
