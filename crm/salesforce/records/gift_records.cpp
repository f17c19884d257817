#include "crm/salesforce/records/gift_records.h"

#include <optional>
#include <utility>

#include "crm/salesforce/calls/answers.h"
#include "crm/salesforce/calls/record_json.h"
#include "crm/salesforce/calls/soql.h"
#include "crm/salesforce/records/gift_upserts.h"
#include "crm/salesforce/records/lookup_targets.h"
#include "crm/salesforce/records/statements.h"
#include "platform/dependency_error.h"
#include "platform/http_client.h"
#include "platform/text.h"
#include "platform/time.h"

namespace giftsync::salesforce {
namespace {
using crm::GiftUpsert;
using crm::RowResult;

constexpr std::pair<GiftField, std::string Associations::*> kMatched[] = {
    {GiftField::recipient_contact, &Associations::contact_id},
    {GiftField::account, &Associations::account_id},
    {GiftField::recipient_lead, &Associations::lead_id},
    {GiftField::opportunity, &Associations::opportunity_id}};

/// Nullopt for a record without a valid Transaction Id.
std::optional<TransactionId> transaction_of(const GiftRecord& record) {
  const auto* id = std::get_if<std::int64_t>(&record.get(GiftField::transaction_id));
  return id ? std::optional(TransactionId{*id}) : std::nullopt;
}

/// An Id that no record can have is a lost target, which needs no query.
bool is_impossible(const std::string& id) {
  return !id.empty() && !is_record_id(id);
}

}  // namespace

std::vector<RowResult> SalesforceGiftRecords::upsert(std::span<const GiftUpsert> rows) {
  if (rows.empty()) return {};
  const WriteContext turn(control_);
  return GiftUpserts(calls_, names_, turn, has_tasks_).run(rows);
}

std::vector<std::vector<GiftField>> SalesforceGiftRecords::missing_lookups(
    std::span<const Associations> links) {
  TargetIds ids;
  for (const Associations& link : links) {
    for (const auto& [field, id] : kMatched)
      if (is_record_id(link.*id)) ids[std::string(target_object(field))].insert(link.*id);
  }
  TargetIds lost = surely_lost_targets(calls_, names_, ids, CallPurpose::backfill);
  std::vector<std::vector<GiftField>> missing(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    for (const auto& [field, id] : kMatched) {
      const std::string& target = links[i].*id;
      if (is_impossible(target) || lost[std::string(target_object(field))].contains(target))
        missing[i].push_back(field);
    }
  }
  return missing;
}

std::vector<GiftRecord> SalesforceGiftRecords::find(std::span<const TransactionId> transactions) {
  return records_of([&] {
    return query_of(transactions, [this](std::span<const TransactionId> some) {
      return gifts_by_transaction(names_, some);
    });
  });
}

std::vector<GiftRecord> SalesforceGiftRecords::records_of(const std::function<Query()>& query) {
  return with_shown_fields(control_.modes, [&] {
    std::vector<GiftRecord> found;
    each_row(calls_, query(), CallPurpose::backfill, [&](const JsonValue& row) {
      GiftRecord record = read_gift(names_, row).record;
      if (transaction_of(record)) found.push_back(std::move(record));
    });
    return found;
  });
}

std::vector<GiftRecord> SalesforceGiftRecords::page(TransactionId after, std::size_t limit) {
  if (limit == 0) return {};
  return records_of([&] { return query_of(gift_page(names_, after, limit)); });
}

std::vector<GiftRecord> SalesforceGiftRecords::page_in_status(Status status, TransactionId after,
                                                              std::size_t limit) {
  if (limit == 0 || !has_field(GiftField::status)) return {};
  return records_of([&] { return query_of(gift_page_in_status(names_, status, after, limit)); });
}

std::vector<TransactionId> SalesforceGiftRecords::transactions_of(const std::string& soql) {
  std::vector<TransactionId> ids;
  each_row(calls_, query_of(soql), CallPurpose::watch, [&](const JsonValue& row) {
    if (const auto id = transaction_of(read_gift(names_, row).record)) ids.push_back(*id);
  });
  return ids;
}

std::vector<TransactionId> SalesforceGiftRecords::transaction_ids_between(TransactionId from,
                                                                          TransactionId below,
                                                                          std::size_t limit) {
  if (limit == 0 || below <= from) return {};
  return transactions_of(transactions_between(names_, from, below, limit));
}

std::vector<TransactionId> SalesforceGiftRecords::transaction_ids_below(TransactionId below,
                                                                        std::size_t limit) {
  if (limit == 0) return {};
  return transactions_of(transactions_below(names_, below, limit));
}

std::vector<TransactionId> SalesforceGiftRecords::transaction_ids_by_email(const std::string& address) {
  const std::optional<std::string> soql = transactions_by_email(names_, address);
  return soql ? transactions_of(*soql) : std::vector<TransactionId>();
}

std::vector<TransactionId> SalesforceGiftRecords::transaction_ids_by_contact(const std::string& contact) {
  const std::optional<std::string> soql = transactions_by_contact(names_, contact);
  return soql ? transactions_of(*soql) : std::vector<TransactionId>();
}

FieldValue SalesforceGiftRecords::as_kept(GiftField field, FieldValue value) const {
  return salesforce::as_kept(descriptor_of(field), std::move(value));
}

/// An object without rows is missing in the answer.
std::int64_t SalesforceGiftRecords::count() {
  const std::string object = names_.object("gift_record");
  const AnswerBody body =
      calls_.get("/limits/recordCount", "sObjects=" + percent_encoded(object), CallPurpose::backfill);
  const JsonValue* counts = body.json()->find("sObjects");
  if (!counts || !counts->is_array())
    throw giftsync::DependencyError(true, "Salesforce did not answer with counts of records");
  for (const JsonValue& element : counts->elements()) {
    const JsonValue* number = element.find("count");
    if (ascii_lower(text_at(element, "name")) != ascii_lower(object) || !number) continue;
    const std::optional<std::string> digits = number_text(*number);
    return digits ? whole_number(*digits).value_or(0) : 0;
  }
  return 0;
}

// The rows of queries as records.

namespace {

/// Rows have the names as the org spells them, settings may spell them with other capitals.
const JsonValue* member_of(const JsonValue& row, std::string_view name) {
  if (const JsonValue* exact = row.find(name)) return exact;
  const std::string lowered = ascii_lower(name);
  for (const JsonMember& member : row.members())
    if (ascii_lower(member.name) == lowered) return &member.value;
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
FieldValue value_of(const FieldDescriptor& field, const JsonValue& value) {
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
  return id >= 1 && id <= kMaxId;
}

}  // namespace

ReadRecord<GiftRecord> read_gift(const ApiNames& names, const JsonValue& row) {
  ReadRecord<GiftRecord> read;
  read.id = text_at(row, "Id");
  read.last_modified = text_at(row, "LastModifiedDate");
  for (const GiftField field : names.gift_fields()) {
    const JsonValue* json = field_at(row, names.field(field));
    if (!json || json->is_null()) continue;
    FieldValue value = value_of(descriptor_of(field), *json);
    if (is_valid(field, value))
      read.record.set(field, std::move(value));
    else
      read.record.unreadable.push_back({field, text_of_value(json)});
  }
  read.record.version = whole_number_at(row, names.field(OwnField::record_version)).value_or(0);
  return read;
}

std::optional<crm::Task> read_task(const ApiNames& names, const JsonValue& row) {
  const auto transaction = whole_number_at(row, names.field(OwnField::task_transaction));
  if (!transaction || *transaction < 1 || *transaction > kMaxId) return std::nullopt;
  const auto text = [&](std::string_view field) {
    return text_of_value(field_at(row, names.field("task", field)));
  };
  crm::Task task;
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

ReadRecord<RequestRecord> read_request(const ApiNames& names, const JsonValue& row) {
  ReadRecord<RequestRecord> read;
  read.id = text_at(row, "Id");
  read.record.id = read.id;
  read.last_modified = text_at(row, "LastModifiedDate");
  read.guard_mark = text_of_value(field_at(row, names.field(OwnField::guard_mark)));
  for (const RequestRecordField field : names.request_record_fields()) {
    const JsonValue* json = field_at(row, names.field(field));
    if (json && !json->is_null()) read.record.set(field, value_of(descriptor_of(field), *json));
  }
  const JsonValue* claimed = field_at(row, names.field(OwnField::claimed));
  read.record.claimed = claimed && claimed->boolean().value_or(false);
  return read;
}

std::optional<UtcMillis> read_time(std::string_view text) {
  return from_iso8601(text);  // Salesforce writes no colon in the zone
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

}  // namespace giftsync::salesforce
