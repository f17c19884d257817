#include "sync/record_comparison.h"

#include <array>

#include "schema/contact_normalization.h"
#include "schema/crm_id.h"

namespace giftsync::sync {
namespace {

/// Of an adopted record the store computes only these fields; all others were read from the record.
bool is_status_field(schema::GiftField field) {
  if (field == schema::GiftField::status) return true;
  return schema::descriptor_of(field).type == schema::FieldType::date_time &&
         field != schema::GiftField::sent_at;
}

/// Fields of an adopted record that the store keeps too. When the record has another value now, the
/// difference is reported and the record is not changed.
bool is_reported_when_adopted(schema::GiftField field) {
  return field == schema::GiftField::sent_at || field == schema::GiftField::total_price;
}

/// An Id has two forms, many CRMs store whole seconds, and e-mail addresses in lower case.
bool is_same(schema::GiftField field, const schema::FieldValue& in_crm, const schema::FieldValue& wanted) {
  if (schema::descriptor_of(field).type == schema::FieldType::email)
    return schema::email_key(text_of(in_crm)) == schema::email_key(text_of(wanted));
  if (schema::descriptor_of(field).type == schema::FieldType::lookup &&
      schema::long_crm_id(text_of(in_crm)) == schema::long_crm_id(text_of(wanted)))
    return true;
  const auto* one = std::get_if<platform::UtcMillis>(&in_crm);
  const auto* other = std::get_if<platform::UtcMillis>(&wanted);
  if (!one || !other) return in_crm == wanted;
  const bool is_whole = one->value % platform::kSecondMillis == 0;
  return *one == *other || (is_whole && platform::are_within_a_second(*one, *other));
}

/// Whether the field holds this value, or what the CRM makes of it.
bool holds(const schema::crm::GiftRecords& records, const schema::GiftRecord& record, schema::GiftField field,
           const schema::FieldValue& wanted) {
  const schema::FieldValue& in_crm = record.get(field);
  return is_same(field, in_crm, wanted) || is_same(field, in_crm, records.as_kept(field, wanted));
}

/// The text in the CRM that is not a value of the field.
const std::string* unreadable_text_of(const schema::GiftRecord& record, schema::GiftField field) {
  for (const schema::UnreadableValue& cell : record.unreadable) {
    if (cell.field == field) return &cell.text;
  }
  return nullptr;
}

bool has_value(const schema::GiftRecord& record, schema::GiftField field) {
  return !std::holds_alternative<std::monostate>(record.get(field));
}

/// An unknown price may have been entered in the CRM by a user. A CRM gives each record an owner, and says
/// who created it.
bool keeps_crm_value(const schema::GiftRecord& wanted, schema::GiftField field) {
  return !has_value(wanted, field) &&
         (schema::is_preserved_when_absent(field) || field == schema::GiftField::owner ||
          field == schema::GiftField::created_by);
}

}  // namespace

std::string text_of(const schema::FieldValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* money = std::get_if<schema::Money>(&value)) return schema::to_decimal(*money);
  if (const auto* time = std::get_if<platform::UtcMillis>(&value)) return platform::to_rfc3339(*time);
  if (const auto* checked = std::get_if<bool>(&value)) return *checked ? "true" : "false";
  return "";
}

std::string text_in(const schema::GiftRecord& record, schema::GiftField field) {
  const std::string* unreadable = unreadable_text_of(record, field);
  return unreadable ? *unreadable : text_of(record.get(field));
}

std::string_view to_word(FieldVerdict verdict) {
  constexpr std::array<std::string_view, 8> kWords{"same",       "repaired",  "differs",    "of_crm",
                                                   "not_in_crm", "not_known", "of_adopted", "link_unknown"};
  return kWords[static_cast<std::size_t>(verdict)];
}

FieldVerdict compare_field(const schema::crm::GiftRecords& records, const schema::GiftRecord& record,
                           const schema::GiftRecord& wanted, schema::GiftField field, bool is_adopted,
                           bool knows_link) {
  const schema::FieldOwner owner = schema::descriptor_of(field).owner;
  const std::string* unreadable = unreadable_text_of(record, field);
  if (owner == schema::FieldOwner::crm) return FieldVerdict::of_crm;
  if (!records.has_field(field)) return FieldVerdict::not_in_crm;
  if (!unreadable && holds(records, record, field, wanted.get(field))) return FieldVerdict::same;
  if (!unreadable && keeps_crm_value(wanted, field)) return FieldVerdict::not_known;
  if (field == schema::GiftField::link && !knows_link) return FieldVerdict::link_unknown;
  // An adopted record without Sent At may have an estimated time in the store.
  const bool is_only_reported = is_adopted && is_reported_when_adopted(field) && has_value(record, field);
  if (is_adopted && !is_status_field(field) && !is_only_reported) return FieldVerdict::of_adopted;
  const bool is_enforced =
      owner == schema::FieldOwner::giftsync && !is_only_reported && !keeps_crm_value(wanted, field);
  // An empty text and no value are the same.
  if (!is_enforced && unreadable && unreadable->empty() && !has_value(wanted, field))
    return FieldVerdict::same;
  return is_enforced ? FieldVerdict::repaired : FieldVerdict::differs;
}

RecordDrift compare_record(const schema::crm::GiftRecords& records, const schema::GiftRecord& record,
                           const schema::GiftRecord& wanted, bool is_adopted, bool knows_link) {
  RecordDrift drift;
  for (std::size_t i = 0; i < schema::kGiftFieldCount; ++i) {
    const auto field = static_cast<schema::GiftField>(i);
    const FieldVerdict verdict = compare_field(records, record, wanted, field, is_adopted, knows_link);
    if (verdict != FieldVerdict::repaired && verdict != FieldVerdict::differs) continue;
    (verdict == FieldVerdict::repaired ? drift.repaired : drift.differences)
        .push_back({field, text_in(record, field), text_of(wanted.get(field))});
  }
  return drift;
}

}  // namespace giftsync::sync
