#include "crm/salesforce/calls/record_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <variant>

#include "crm/salesforce/calls/soql.h"
#include "platform/json.h"
#include "platform/text.h"

namespace giftsync::salesforce {
namespace {

constexpr std::size_t kSubjectLength = 255;
constexpr std::size_t kTaskDescriptionLength = 32'000;
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

bool has_length(const FieldDescriptor& field) {
  return field.type == FieldType::text || field.type == FieldType::long_text;
}

/// Salesforce refuses a row with a text that is too long.
FieldValue cut(const FieldDescriptor& field, FieldValue value) {
  auto* text = std::get_if<std::string>(&value);
  if (text && has_length(field))
    text->resize(cut_to_utf16(*text, static_cast<std::size_t>(field.length)).size());
  return value;
}

void add_cut(JsonRow& row, const ApiNames& names, RequestRecordField field, const std::string& text) {
  row.add(names.field(field), cut(descriptor_of(field), text));
}

/// All that a caller may give, the link and the owner. Salesforce itself sets who created a record.
std::vector<RequestRecordField> request_create_fields() {
  const auto given = creatable_fields();
  std::vector<RequestRecordField> fields(given.begin(), given.end());
  fields.push_back(RequestRecordField::item_link);
  fields.push_back(RequestRecordField::owner);
  return fields;
}

}  // namespace

FieldValue as_kept(const FieldDescriptor& field, FieldValue value) {
  value = cut(field, std::move(value));
  if (auto* time = std::get_if<UtcMillis>(&value)) time->value -= time->value % kSecondMillis;
  if (const auto* given = std::get_if<std::string>(&value)) {
    std::string text(trimmed(*given));
    // An address that is cut is another address.
    const bool is_too_long = field.type == FieldType::email && utf16_length(text) > kEmailLength;
    if (text.empty() || is_too_long) return {};
    return text;
  }
  return value;
}

std::string gift_create_row(const ApiNames& names, const GiftRecord& record,
                            const std::vector<GiftField>& left_out) {
  JsonRow row = gift_row(names);
  for (const GiftField field : names.gift_fields()) {
    const bool is_written = descriptor_of(field).owner != FieldOwner::crm && !is_in(left_out, field);
    if (is_written) row.add_if_present(names.field(field), cut(descriptor_of(field), record.get(field)));
  }
  add_version(row, names, record.version);
  return row.text();
}

std::string gift_update_row(const ApiNames& names, std::string_view id, const GiftRecord& record,
                            const std::vector<GiftField>& left_out) {
  JsonRow row = existing_row(names.object("gift_record"), id);
  // The rule Same_Gift refuses the row where the Id names the record of another gift. Without giftsync's
  // rules, in bare mode, the row would overwrite that record's Transaction Id.
  if (!names.field(OwnField::record_version).empty())
    row.add_if_present(names.field(GiftField::transaction_id), record.get(GiftField::transaction_id));
  for (const GiftField field : names.gift_fields()) {
    if (descriptor_of(field).owner != FieldOwner::giftsync || is_in(left_out, field)) continue;
    if (is_preserved_when_absent(field))
      row.add_if_present(names.field(field), record.get(field));
    else
      row.add(names.field(field), record.get(field));
  }
  add_version(row, names, record.version);
  return row.text();
}

std::string gift_relink_row(const ApiNames& names, std::string_view id, const crm::GiftRelink& relink) {
  JsonRow row = id.empty() ? gift_row(names) : existing_row(names.object("gift_record"), id);
  row.add(names.field(GiftField::recipient_contact), relink.to.contact_id);
  row.add(names.field(GiftField::account), relink.to.account_id);
  row.add(names.field(GiftField::recipient_lead), relink.to.lead_id);
  row.add(names.field(GiftField::opportunity), relink.to.opportunity_id);
  if (relink.changes_stage())
    row.add(names.field(GiftField::deal_stage), cut(descriptor_of(GiftField::deal_stage), relink.stage_to));
  return row.text();
}

std::string gift_times_row(const ApiNames& names, std::string_view id, const StatusTimes& times,
                           std::int64_t version_as_read) {
  JsonRow row = id.empty() ? gift_row(names) : existing_row(names.object("gift_record"), id);
  for (const Status status : kAllStatuses) {
    if (times[status]) row.add(names.field(time_field_of(status)), *times[status]);
  }
  add_version(row, names, version_as_read);
  return row.text();
}

std::string task_create_row(const ApiNames& names, const crm::TaskUpsert& task, std::string_view gift_id) {
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
  add("Description", cut_to_utf16(task.description, kTaskDescriptionLength));
  add("ActivityDate", task.due_date);
  row.add_number(names.field(OwnField::task_transaction), task.transaction.value);
  return row.text();
}

std::string task_update_row(const ApiNames& names, std::string_view id, const crm::TaskUpsert& task,
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

std::string request_create_row(const ApiNames& names, const crm::NewRequestRecord& request) {
  JsonRow row(names.object("request_record"));
  for (const RequestRecordField field : request_create_fields())
    row.add_if_present(names.field(field), cut(descriptor_of(field), request.record.get(field)));
  row.add_text(names.field(OwnField::creation_key), request.creation_key);
  return row.text();
}

std::string request_update_row(const ApiNames& names, const crm::RequestRecordUpdate& update,
                               const WriteGuard& guard) {
  JsonRow row = existing_row(names.object("request_record"), update.expected.id);
  if (update.status) row.add_text(names.field(RequestRecordField::status), giftsync::to_word(*update.status));
  if (update.error_log) add_cut(row, names, RequestRecordField::error_log, *update.error_log);
  if (update.auto_approved)
    row.add_bool(names.field(RequestRecordField::auto_approved), *update.auto_approved);
  if (update.item_link) add_cut(row, names, RequestRecordField::item_link, *update.item_link);
  if (update.claimed) row.add_bool(names.field(OwnField::claimed), *update.claimed);
  row.add_text(names.field(OwnField::guard_modified), guard.last_modified);
  row.add_text(names.field(OwnField::guard_mark), guard.mark);
  return row.text();
}

namespace {

std::string json_of(const FieldValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return text->empty() ? "null" : json_text(*text);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* money = std::get_if<Money>(&value)) return to_decimal(*money);
  if (const auto* time = std::get_if<UtcMillis>(&value)) return json_text(to_rfc3339(*time));
  if (const auto* checked = std::get_if<bool>(&value)) return *checked ? "true" : "false";
  return "null";
}

}  // namespace

JsonRow::JsonRow(std::string_view object) : text_("{\"attributes\":{\"type\":" + json_text(object) + "}") {}

void JsonRow::add_raw(std::string_view name, std::string_view value) {
  if (name.empty()) return;
  text_ += ',';
  text_ += json_text(name);
  text_ += ':';
  text_ += value;
}

void JsonRow::add_text(std::string_view name, std::string_view value) {
  add_raw(name, json_text(value));
}

void JsonRow::add_number(std::string_view name, std::int64_t value) {
  add_raw(name, std::to_string(value));
}

void JsonRow::add_bool(std::string_view name, bool value) {
  add_raw(name, value ? "true" : "false");
}

void JsonRow::add_null(std::string_view name) {
  add_raw(name, "null");
}

void JsonRow::add(std::string_view name, const FieldValue& value) {
  add_raw(name, json_of(value));
}

void JsonRow::add_if_present(std::string_view name, const FieldValue& value) {
  if (!is_absent(value)) add(name, value);
}

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool is_absent(const FieldValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return std::holds_alternative<std::monostate>(value) || (text && text->empty());
}

namespace {

constexpr int kMaxDigits = 40;

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<int> exponent_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const bool is_negative = text.starts_with('-');
  if (!all_digits(text.substr(is_negative ? 1 : 0))) return std::nullopt;
  const std::optional<int> exponent = parse_number<int>(text);
  return exponent && *exponent >= -kMaxDigits && *exponent <= kMaxDigits ? exponent : std::nullopt;
}

/// The digits with a point after `whole` of them; `whole` may lie outside the digits.
std::string with_point(std::string digits, int whole) {
  if (whole < 1) {
    digits.insert(0, static_cast<std::size_t>(1 - whole), '0');
    whole = 1;
  }
  const auto point = static_cast<std::size_t>(whole);
  if (digits.size() < point) digits.append(point - digits.size(), '0');
  std::string front = digits.substr(0, point);
  std::string fraction = digits.substr(point);
  front.erase(0, std::min(front.find_first_not_of('0'), front.size() - 1));
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return fraction.empty() ? front : front + "." + fraction;
}

}  // namespace

std::optional<std::string> number_text(const JsonValue& value) {
  if (const auto whole = value.integer()) return std::to_string(*whole);
  if (const auto digits = value.text()) return plain_number(*digits);
  const auto real = value.real();
  if (!real) return std::nullopt;
  // The shortest text of a double is the number's own: it has at most 15 digits, or it came as text.
  std::array<char, 64> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), *real);
  return plain_number({buffer.data(), written.ptr});
}

std::optional<std::string> plain_number(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  const std::size_t letter = text.find_first_of("eE");
  const std::optional<int> exponent =
      letter == std::string_view::npos ? std::optional(0) : exponent_of(text.substr(letter + 1));
  const std::string_view mantissa = text.substr(0, letter);
  const std::size_t dot = mantissa.find('.');
  const std::string_view whole = mantissa.substr(0, dot);
  const std::string_view fraction = dot == std::string_view::npos ? "0" : mantissa.substr(dot + 1);
  if (!exponent || !all_digits(whole) || !all_digits(fraction)) return std::nullopt;
  if (whole.size() + fraction.size() > kMaxDigits) return std::nullopt;
  std::string plain =
      with_point(std::string(whole) + std::string(fraction), static_cast<int>(whole.size()) + *exponent);
  return is_negative && plain != "0" ? "-" + plain : std::move(plain);
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  const std::optional<std::string> plain = plain_number(text);
  return plain ? parse_number<std::int64_t>(*plain) : std::nullopt;
}

std::optional<Money> money_of(std::string_view text) {
  const std::optional<std::string> plain = plain_number(text);
  return plain ? from_decimal(*plain) : std::nullopt;
}

}  // namespace giftsync::salesforce
