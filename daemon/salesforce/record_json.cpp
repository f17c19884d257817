#include "daemon/salesforce/record_json.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "daemon/salesforce/json_row.h"
#include "daemon/salesforce/soql_text.h"
#include "platform/text.h"

namespace giftsync::daemon::salesforce {
namespace {

using schema::FieldOwner;
using schema::GiftField;
using schema::RequestRecordField;

constexpr std::size_t kSubjectLength = 255;
constexpr std::size_t kEmailLength = 80;

bool is_in(const std::vector<GiftField>& fields, GiftField field) {
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

void add_version(JsonRow& row, const ApiNames& names, std::int64_t version) {
  if (version > 0) row.add_number(names.field(OwnField::record_version), version);
}

JsonRow gift_row(const ApiNames& names) {
  return JsonRow(names.object("gift_record"));
}

JsonRow existing_row(const std::string& object, std::string_view id) {
  JsonRow row(object);
  row.add_text("id", id);
  return row;
}

bool has_length(const schema::FieldDescriptor& field) {
  return field.type == schema::FieldType::text || field.type == schema::FieldType::long_text;
}

/// Salesforce refuses a row with a text that is too long.
schema::FieldValue cut(const schema::FieldDescriptor& field, schema::FieldValue value) {
  auto* text = std::get_if<std::string>(&value);
  if (text && has_length(field))
    text->resize(cut_to_utf16(*text, static_cast<std::size_t>(field.length)).size());
  return value;
}

void add_cut(JsonRow& row, const ApiNames& names, RequestRecordField field, const std::string& text) {
  row.add(names.field(field), cut(schema::descriptor_of(field), text));
}

/// All that a caller may give, the link and the owner. Salesforce itself sets who created a record.
std::vector<RequestRecordField> request_create_fields() {
  const auto given = schema::creatable_fields();
  std::vector<RequestRecordField> fields(given.begin(), given.end());
  fields.push_back(RequestRecordField::item_link);
  fields.push_back(RequestRecordField::owner);
  return fields;
}

}  // namespace

schema::FieldValue as_kept(const schema::FieldDescriptor& field, schema::FieldValue value) {
  value = cut(field, std::move(value));
  if (auto* time = std::get_if<platform::UtcMillis>(&value))
    time->value -= time->value % platform::kSecondMillis;
  if (const auto* given = std::get_if<std::string>(&value)) {
    std::string text(platform::trimmed(*given));
    // An address that is cut is another address.
    const bool is_too_long = field.type == schema::FieldType::email && utf16_length(text) > kEmailLength;
    if (text.empty() || is_too_long) return {};
    return text;
  }
  return value;
}

std::string gift_create_row(const ApiNames& names, const schema::GiftRecord& record,
                            const std::vector<GiftField>& left_out) {
  JsonRow row = gift_row(names);
  for (const GiftField field : names.gift_fields()) {
    const bool is_written = schema::descriptor_of(field).owner != FieldOwner::crm && !is_in(left_out, field);
    if (is_written)
      row.add_if_present(names.field(field), cut(schema::descriptor_of(field), record.get(field)));
  }
  add_version(row, names, record.version);
  return row.text();
}

std::string gift_update_row(const ApiNames& names, std::string_view id, const schema::GiftRecord& record,
                            const std::vector<GiftField>& left_out) {
  JsonRow row = existing_row(names.object("gift_record"), id);
  // The rule Same_Gift refuses the row where the Id names the record of another gift. Without giftsync's
  // rules, in bare mode, the row would overwrite that record's Transaction Id.
  if (!names.field(OwnField::record_version).empty())
    row.add_if_present(names.field(GiftField::transaction_id), record.get(GiftField::transaction_id));
  for (const GiftField field : names.gift_fields()) {
    if (schema::descriptor_of(field).owner != FieldOwner::giftsync || is_in(left_out, field)) continue;
    if (schema::is_preserved_when_absent(field))
      row.add_if_present(names.field(field), record.get(field));
    else
      row.add(names.field(field), record.get(field));
  }
  add_version(row, names, record.version);
  return row.text();
}

std::string gift_relink_row(const ApiNames& names, std::string_view id,
                            const schema::crm::GiftRelink& relink) {
  JsonRow row = id.empty() ? gift_row(names) : existing_row(names.object("gift_record"), id);
  row.add(names.field(GiftField::recipient_contact), relink.to.contact_id);
  row.add(names.field(GiftField::account), relink.to.account_id);
  row.add(names.field(GiftField::recipient_lead), relink.to.lead_id);
  row.add(names.field(GiftField::opportunity), relink.to.opportunity_id);
  if (relink.changes_stage())
    row.add(names.field(GiftField::deal_stage),
            cut(schema::descriptor_of(GiftField::deal_stage), relink.stage_to));
  return row.text();
}

std::string gift_times_row(const ApiNames& names, std::string_view id, const schema::StatusTimes& times,
                           std::int64_t version_as_read) {
  JsonRow row = id.empty() ? gift_row(names) : existing_row(names.object("gift_record"), id);
  for (const schema::Status status : schema::kAllStatuses) {
    if (times[status]) row.add(names.field(schema::time_field_of(status)), *times[status]);
  }
  add_version(row, names, version_as_read);
  return row.text();
}

std::string task_create_row(const ApiNames& names, const schema::crm::TaskUpsert& task,
                            std::string_view gift_id) {
  JsonRow row(names.object("task"));
  const auto add = [&](std::string_view field, std::string_view text) {
    row.add_if_present(names.field("task", field), std::string(text));
  };
  add("WhatId", gift_id);
  add("WhoId", task.contact_id);
  add("OwnerId", task.owner_id);
  add("Type", task.type);
  add("Status", task.status);
  add("Subject", cut_to_utf16(task.subject, kSubjectLength));
  row.add_number(names.field(OwnField::task_transaction), task.transaction.value);
  return row.text();
}

std::string task_update_row(const ApiNames& names, std::string_view id, const schema::crm::TaskUpsert& task,
                            const std::string& gift_id) {
  JsonRow row = existing_row(names.object("task"), id);
  if (task.completed) row.add(names.field("task", "Status"), task.status);
  row.add_if_present(names.field("task", "WhatId"), gift_id);
  return row.text();
}

std::string task_relink_row(const ApiNames& names, std::string_view id, const std::string& contact_id) {
  JsonRow row = existing_row(names.object("task"), id);
  row.add(names.field("task", "WhoId"), contact_id);
  return row.text();
}

std::string request_create_row(const ApiNames& names, const schema::crm::NewRequestRecord& request) {
  JsonRow row(names.object("request_record"));
  for (const RequestRecordField field : request_create_fields())
    row.add_if_present(names.field(field), cut(schema::descriptor_of(field), request.record.get(field)));
  row.add_text(names.field(OwnField::creation_key), request.creation_key);
  return row.text();
}

std::string request_update_row(const ApiNames& names, const schema::crm::RequestRecordUpdate& update,
                               const WriteGuard& guard) {
  JsonRow row = existing_row(names.object("request_record"), update.expected.id);
  if (update.status) row.add_text(names.field(RequestRecordField::status), schema::to_word(*update.status));
  if (update.error_log) add_cut(row, names, RequestRecordField::error_log, *update.error_log);
  if (update.auto_approved)
    row.add_bool(names.field(RequestRecordField::auto_approved), *update.auto_approved);
  if (update.item_link) add_cut(row, names, RequestRecordField::item_link, *update.item_link);
  if (update.claimed) row.add_bool(names.field(OwnField::claimed), *update.claimed);
  row.add_text(names.field(OwnField::guard_modified), guard.last_modified);
  row.add_text(names.field(OwnField::guard_mark), guard.mark);
  return row.text();
}

}  // namespace giftsync::daemon::salesforce
