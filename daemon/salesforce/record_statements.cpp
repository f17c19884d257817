// daemon/salesforce: the SOQL of questions about gift records, tasks and request records.
#include <fmt/format.h>

#include "daemon/salesforce/soql_text.h"
#include "daemon/salesforce/statements.h"
#include "schema/contact_normalization.h"
#include "schema/enums.h"

namespace giftsync::daemon::salesforce {
namespace {

using schema::GiftField;
using schema::RequestRecordField;
using schema::TransactionId;

ValueLiterals number_literals(std::span<const TransactionId> transactions) {
  ValueLiterals values;
  for (const TransactionId id : transactions) values.push_back({number_literal(id.value)});
  return values;
}

const std::string& transaction_field(const ApiNames& names) {
  return names.field(GiftField::transaction_id);
}

Select gifts(const ApiNames& names, const std::vector<GiftField>& fields) {
  Select select{{"Id", transaction_field(names), names.field(OwnField::record_version)},
                names.object("gift_record"),
                {},
                order_by(transaction_field(names), false),
                0};
  for (const GiftField field : fields) select.fields.push_back(names.field(field));
  return select;
}

/// Salesforce reads numbers as doubles: kMaxId + 1, an allowed bound, is not one.
std::string is_below(const std::string& field, TransactionId below) {
  return fmt::format("{} <= {}", field, below.value - 1);
}

Select transactions(const ApiNames& names) {
  const std::string& field = transaction_field(names);
  return {{field}, names.object("gift_record"), {}, order_by(field, false), 0};
}

std::vector<Statement> gifts_of(const ApiNames& names, const std::vector<GiftField>& fields,
                                std::span<const TransactionId> ids) {
  return split(gifts(names, fields), {transaction_field(names)}, number_literals(ids), kPageRows);
}

Select tasks(const ApiNames& names) {
  const std::string& key = names.field(OwnField::task_transaction);
  Select select{{"Id", key}, names.object("task"), {}, order_by(key, false), 0};
  for (const char* field : {"WhatId", "WhoId", "Type", "Status", "Subject", "OwnerId"})
    select.fields.push_back(names.field("task", field));
  return select;
}

Select requests(const ApiNames& names) {
  Select select{{"Id", "LastModifiedDate", names.field(OwnField::claimed), names.field(OwnField::guard_mark)},
                names.object("request_record"),
                {},
                "Id ASC",
                0};
  for (const RequestRecordField field : names.request_record_fields())
    select.fields.push_back(names.field(field));
  return select;
}

/// An empty status is Pending.
std::string has_status(const ApiNames& names, schema::RequestRecordStatus status) {
  const std::string& field = names.field(RequestRecordField::status);
  const std::string literal = *text_literal(schema::to_word(status));
  if (status == schema::RequestRecordStatus::pending)
    return fmt::format("({} = {} OR {} = null)", field, literal, field);
  return fmt::format("{} = {}", field, literal);
}

}  // namespace

std::vector<Statement> gifts_by_transaction(const ApiNames& names, std::span<const TransactionId> ids) {
  return gifts_of(names, names.gift_fields(), ids);
}

std::vector<Statement> gift_keys_by_transaction(const ApiNames& names, std::span<const TransactionId> ids) {
  return gifts_of(names, {GiftField::recipient_email, GiftField::sent_at}, ids);
}

std::vector<Statement> gift_times_by_transaction(const ApiNames& names, std::span<const TransactionId> ids) {
  std::vector<GiftField> fields;
  for (const schema::Status status : schema::kAllStatuses) fields.push_back(schema::time_field_of(status));
  Select select = gifts(names, fields);
  select.fields.emplace_back("LastModifiedDate");
  return split(select, {transaction_field(names)}, number_literals(ids), kPageRows);
}

std::vector<Statement> gift_links_by_transaction(const ApiNames& names, std::span<const TransactionId> ids) {
  Select select = gifts(names, {GiftField::recipient_contact, GiftField::account, GiftField::recipient_lead,
                                GiftField::opportunity, GiftField::deal_stage});
  select.fields.emplace_back("LastModifiedDate");
  return split(select, {transaction_field(names)}, number_literals(ids), kPageRows);
}

std::string gift_page_in_status(const ApiNames& names, schema::Status status, TransactionId after,
                                std::size_t limit) {
  Select select = gifts(names, names.gift_fields());
  select.conditions = {fmt::format("{} = {}", names.field(GiftField::status),
                                   text_literal(schema::to_word(status)).value_or("''")),
                       fmt::format("{} > {}", transaction_field(names), after.value)};
  select.limit = limit;
  return to_soql(select);
}

std::string gift_page(const ApiNames& names, TransactionId after, std::size_t limit) {
  Select select = gifts(names, names.gift_fields());
  select.conditions = {fmt::format("{} > {}", transaction_field(names), after.value)};
  select.limit = limit;
  return to_soql(select);
}

std::string transactions_between(const ApiNames& names, TransactionId from, TransactionId below,
                                 std::size_t limit) {
  Select select = transactions(names);
  const std::string& field = transaction_field(names);
  select.conditions = {fmt::format("{} >= {}", field, from.value), is_below(field, below)};
  select.limit = limit;
  return to_soql(select);
}

std::string transactions_below(const ApiNames& names, TransactionId below, std::size_t limit) {
  Select select = transactions(names);
  const std::string& field = transaction_field(names);
  select.conditions = {is_below(field, below), field + " != null"};
  select.order = order_by(field, true);
  select.limit = limit;
  return to_soql(select);
}

std::optional<std::string> transactions_by_email(const ApiNames& names, const std::string& email_key) {
  const std::string unicode = schema::email_key_in_unicode(email_key);
  const std::string& field = names.field(GiftField::recipient_email);
  const std::optional<std::string> literal = text_literal(email_key);
  const std::optional<std::string> other = text_literal(unicode);
  if (email_key.empty() || field.empty() || !literal || !other) return std::nullopt;
  Select select = transactions(names);
  select.conditions = {unicode == email_key ? fmt::format("{} = {}", field, *literal)
                                            : fmt::format("{} IN ({},{})", field, *literal, *other)};
  select.conditions.push_back(transaction_field(names) + " != null");
  return to_soql(select);
}

std::optional<std::string> transactions_by_contact(const ApiNames& names, const std::string& contact_id) {
  const std::string& field = names.field(GiftField::recipient_contact);
  const std::optional<std::string> literal = id_literal(contact_id);
  if (field.empty() || !literal) return std::nullopt;
  Select select = transactions(names);
  select.conditions = {fmt::format("{} = {}", field, *literal), transaction_field(names) + " != null"};
  return to_soql(select);
}

std::string task_page(const ApiNames& names, TransactionId after, std::size_t limit) {
  Select select = tasks(names);
  select.conditions = {fmt::format("{} > {}", names.field(OwnField::task_transaction), after.value),
                       "IsDeleted = false"};
  select.limit = limit;
  return to_soql(select);
}

std::vector<Statement> tasks_by_transaction(const ApiNames& names, std::span<const TransactionId> ids) {
  Select select = tasks(names);
  select.conditions = {"IsDeleted = false"};
  return split(select, {names.field(OwnField::task_transaction)}, number_literals(ids), kPageRows);
}

std::vector<Statement> requests_by_id(const ApiNames& names, std::span<const std::string> ids) {
  return split(requests(names), {"Id"}, id_literals(ids), kPageRows);
}

std::vector<Statement> requests_by_key(const ApiNames& names, std::span<const std::string> creation_keys) {
  Select select = requests(names);
  const std::string& field = names.field(OwnField::creation_key);
  select.fields.push_back(field);
  ValueLiterals values;
  for (const std::string& key : creation_keys) {
    const std::optional<std::string> literal = text_literal(key);
    values.push_back(literal ? std::vector{*literal} : std::vector<std::string>());
  }
  return split(select, {field}, values, kPageRows);
}

std::optional<std::string> request_by_number(const ApiNames& names, const std::string& number) {
  const std::optional<std::string> literal = text_literal(number);
  if (number.empty() || !literal) return std::nullopt;
  Select select = requests(names);
  select.conditions = {fmt::format("{} = {}", names.field(RequestRecordField::number), *literal)};
  return to_soql(select);
}

std::optional<std::string> request_page(const ApiNames& names, const std::string& after,
                                        std::optional<schema::RequestRecordStatus> status,
                                        std::size_t limit) {
  Select select = requests(names);
  const std::string& number = names.field(RequestRecordField::number);
  const std::optional<std::string> literal = text_literal(after);
  if (!literal) return std::nullopt;
  if (!after.empty()) select.conditions.push_back(fmt::format("{} > {}", number, *literal));
  if (status) select.conditions.push_back(has_status(names, *status));
  select.order = order_by(number, false);
  select.limit = limit;
  return to_soql(select);
}

std::string open_requests(const ApiNames& names) {
  const std::string pending = has_status(names, schema::RequestRecordStatus::pending);
  const std::string approved = has_status(names, schema::RequestRecordStatus::approved);
  return to_soql({{"Id", "LastModifiedDate", "SystemModstamp"},
                  names.object("request_record"),
                  {fmt::format("({} OR {})", pending, approved)},
                  "SystemModstamp ASC, Id ASC",
                  0});
}

std::string changed_requests(const ApiNames& names, platform::UtcMillis since) {
  Select select = requests(names);
  select.fields.insert(select.fields.begin() + 1, {"IsDeleted", "SystemModstamp"});
  select.conditions = {"SystemModstamp >= " + time_literal(since)};
  select.order = "SystemModstamp ASC, Id ASC";
  return to_soql(select);
}

}  // namespace giftsync::daemon::salesforce
