// sync: a gift's record in the CRM beside the record that giftsync would write. SYNC-4 lists the fields that
// giftsync owns. Pure.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "crm/gift_records.h"
#include "schema/gift_record.h"
#include "schema/store/crm/backfill_store.h"

namespace giftsync::sync {

struct FieldDrift {
  GiftField field = GiftField::status;
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

/// Wants the owner that the record has, if that is the fallback: it replaced another user (SYNC-75).
void accept_fallback_owner(const GiftRecord& record, const std::string& fallback, GiftRecord& wanted);

/// As compare_record().
FieldVerdict compare_field(const crm::GiftRecords& records, const GiftRecord& record,
                           const GiftRecord& wanted, GiftField field, bool is_adopted, bool knows_link);

/// The fields in which the record differs from the wanted one, in the order of the fields. `is_adopted`: of
/// an adopted record only status and times are giftsync's. Link is compared if `knows_link`.
RecordDrift compare_record(const crm::GiftRecords& records, const GiftRecord& record,
                           const GiftRecord& wanted, bool is_adopted, bool knows_link);

/// Empty when absent.
std::string text_of(const FieldValue& value);
/// What the record has in the field, also a text that is not a value of it.
std::string text_in(const GiftRecord& record, GiftField field);

// Converts a gift record that was in the CRM before giftsync into a transaction of the store (SYNC-52,
// SYNC-53). Its timestamps become changes of the source "crm", so that later changes fold together with them.
// A status without a time stays until a change of the same or a higher rank is known. Pure.

/// The adoption, or a phrase that says why the record cannot be adopted.
tl::expected<store::Adoption, std::string> plan_adoption(const GiftRecord& record, UtcMillis now);

/// Whether the adopted gift's sent_at is an estimate because its record has no Sent At.
bool is_sent_time_estimated(const store::Gift& gift, const GiftRecord& record);

/// The timestamps that the record has and `known` lacks, as changes.
std::vector<store::StatusChange> changes_from_record(const GiftRecord& record, const StatusTimes& known,
                                                     UtcMillis now);

}  // namespace giftsync::sync
