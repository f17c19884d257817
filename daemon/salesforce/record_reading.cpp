// daemon/salesforce: the rows of queries as records.
#include <utility>

#include "daemon/salesforce/answers.h"
#include "daemon/salesforce/exact_number.h"
#include "daemon/salesforce/record_json.h"
#include "platform/iso8601.h"
#include "platform/text.h"
#include "schema/ids.h"

namespace giftsync::daemon::salesforce {
namespace {

using platform::JsonValue;
using schema::FieldType;
using schema::FieldValue;
using schema::GiftField;
using schema::RequestRecordField;

/// Rows have the names as the org spells them, settings may spell them with other capitals.
const JsonValue* member_of(const JsonValue& row, std::string_view name) {
  if (const JsonValue* exact = row.find(name)) return exact;
  const std::string lowered = platform::ascii_lower(name);
  for (const platform::JsonMember& member : row.members())
    if (platform::ascii_lower(member.name) == lowered) return &member.value;
  return nullptr;
}

/// Null when the org does not have the field.
const JsonValue* field_at(const JsonValue& row, const std::string& name) {
  return name.empty() ? nullptr : member_of(row, name);
}

std::optional<std::int64_t> whole_number_at(const JsonValue& row, const std::string& name) {
  const JsonValue* value = field_at(row, name);
  const std::optional<std::string> digits = value ? number_text(*value) : std::nullopt;
  return digits ? whole_number(*digits) : std::nullopt;
}

FieldValue number_value(const JsonValue& value) {
  const std::optional<std::string> digits = number_text(value);
  const auto number = digits ? whole_number(*digits) : std::nullopt;
  return number ? FieldValue(*number) : FieldValue();
}

FieldValue money_value(const JsonValue& value) {
  const std::optional<std::string> digits = number_text(value);
  const auto money = digits ? money_of(*digits) : std::nullopt;
  return money ? FieldValue(*money) : FieldValue();
}

FieldValue time_value(const JsonValue& value) {
  const auto time = read_time(value.text().value_or(""));
  return time ? FieldValue(*time) : FieldValue();
}

/// Absent when the value is none of the field's type. `value` is not null.
FieldValue value_of(const schema::FieldDescriptor& field, const JsonValue& value) {
  switch (field.type) {
    case FieldType::currency:
      return money_value(value);
    case FieldType::number:
      return number_value(value);
    case FieldType::date_time:
      return time_value(value);
    case FieldType::checkbox:
      return value.boolean() ? FieldValue(*value.boolean()) : FieldValue();
    default:
      return text_of_value(&value);
  }
}

/// A Transaction Id beyond what a double holds was rounded somewhere.
bool is_valid(GiftField field, const FieldValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return false;
  if (field != GiftField::transaction_id) return true;
  const std::int64_t id = std::get<std::int64_t>(value);
  return id >= 1 && id <= schema::kMaxId;
}

}  // namespace

ReadRecord<schema::GiftRecord> read_gift(const ApiNames& names, const JsonValue& row) {
  ReadRecord<schema::GiftRecord> read;
  read.id = text_at(row, "Id");
  read.last_modified = text_at(row, "LastModifiedDate");
  for (const GiftField field : names.gift_fields()) {
    const JsonValue* json = field_at(row, names.field(field));
    if (!json || json->is_null()) continue;
    FieldValue value = value_of(schema::descriptor_of(field), *json);
    if (is_valid(field, value))
      read.record.set(field, std::move(value));
    else
      read.record.unreadable.push_back({field, text_of_value(json)});
  }
  read.record.version = whole_number_at(row, names.field(OwnField::record_version)).value_or(0);
  return read;
}

std::optional<schema::crm::Task> read_task(const ApiNames& names, const JsonValue& row) {
  const auto transaction = whole_number_at(row, names.field(OwnField::task_transaction));
  if (!transaction || *transaction < 1 || *transaction > schema::kMaxId) return std::nullopt;
  const auto text = [&](std::string_view field) {
    return text_of_value(field_at(row, names.field("task", field)));
  };
  schema::crm::Task task;
  task.id = text_at(row, "Id");
  task.transaction = {*transaction};
  task.what_id = text("WhatId");
  task.who_id = text("WhoId");
  task.type = text("Type");
  task.status = text("Status");
  task.subject = text("Subject");
  task.owner_id = text("OwnerId");
  return task;
}

ReadRecord<schema::RequestRecord> read_request(const ApiNames& names, const JsonValue& row) {
  ReadRecord<schema::RequestRecord> read;
  read.id = text_at(row, "Id");
  read.record.id = read.id;
  read.last_modified = text_at(row, "LastModifiedDate");
  read.guard_mark = text_of_value(field_at(row, names.field(OwnField::guard_mark)));
  for (const RequestRecordField field : names.request_record_fields()) {
    const JsonValue* json = field_at(row, names.field(field));
    if (json && !json->is_null()) read.record.set(field, value_of(schema::descriptor_of(field), *json));
  }
  const JsonValue* claimed = field_at(row, names.field(OwnField::claimed));
  read.record.claimed = claimed && claimed->boolean().value_or(false);
  return read;
}

std::optional<platform::UtcMillis> read_time(std::string_view text) {
  return platform::from_iso8601(text);  // Salesforce writes no colon in the zone
}

const JsonValue* value_at(const JsonValue& row, std::string_view path) {
  const JsonValue* value = &row;
  while (value && !path.empty()) {
    const std::size_t dot = path.find('.');
    value = member_of(*value, path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return value;
}

std::string text_of_value(const JsonValue* value) {
  if (!value) return {};
  if (const auto text = value->text()) return std::string(*text);
  if (const auto checked = value->boolean()) return *checked ? "true" : "false";
  return number_text(*value).value_or("");
}

}  // namespace giftsync::daemon::salesforce
