// crm/salesforce: the SOQL of queries about people, opportunities and permission sets.
#include "crm/salesforce/records/statements.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "schema/contact_normalization.h"

namespace giftsync::salesforce {
namespace {

using crm::OrderBy;
using crm::PersonMatchFields;
using crm::PersonObject;

constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

std::string_view object_word(PersonObject object) {
  return object == PersonObject::contact ? "contact" : "lead";
}

std::vector<std::string> mapped(const ApiNames& names, std::string_view object,
                                const std::vector<std::string>& fields) {
  std::vector<std::string> mapped;
  for (const std::string& field : fields) mapped.push_back(names.field(object, field));
  return mapped;
}

void append(std::vector<std::string>& all, const std::vector<std::string>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

ValueLiterals text_literals(std::span<const std::vector<std::string>> texts) {
  ValueLiterals values(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (const std::string& text : texts[i]) {
      const std::optional<std::string> literal = text.empty() ? std::nullopt : text_literal(text);
      if (literal) values[i].push_back(*literal);
    }
  }
  return values;
}

ValueLiterals email_literals(std::span<const std::string> keys) {
  std::vector<std::vector<std::string>> spellings;
  for (const std::string& key : keys) {
    std::string unicode = email_key_in_unicode(key);
    spellings.push_back({key});
    if (unicode != key) spellings.back().push_back(std::move(unicode));
  }
  return text_literals(spellings);
}

Select persons(const ApiNames& names, PersonObject object, const PersonMatchFields& fields) {
  const std::string_view word = object_word(object);
  const std::string order = names.field(word, fields.order_by.field);
  Select select{{"Id", names.field(word, "Name")}, names.object(word), {}, {}, 0};
  if (object == PersonObject::contact) select.fields.push_back(names.field(word, "AccountId"));
  append(select.fields, mapped(names, word, fields.email_fields));
  append(select.fields, mapped(names, word, fields.phone_fields));
  select.fields.push_back(order);
  select.order = order_by(order, fields.order_by.descending);
  if (object == PersonObject::contact) return select;
  // Converted ones never match, but explain why nothing does: they come last.
  select.fields.emplace_back("IsConverted");
  select.order = "IsConverted ASC, " + select.order;
  return select;
}

/// Nothing to ask of an object that the org does not have.
std::vector<Statement> ask(const Select& select, const std::vector<std::string>& fields,
                           const ValueLiterals& values) {
  if (select.from.empty()) return {};
  return split(select, fields, values, kAnyNumber);
}

std::string over(std::string_view lookup, const std::string& field) {
  return field.empty() ? field : std::string(lookup) + "." + field;
}

Select open_roles(const ApiNames& names, const OrderBy& order) {
  const std::string order_field = over("Opportunity", names.field("opportunity", order.field));
  Select select{{"ContactId", "OpportunityId"}, names.object("opportunity_contact_role"), {}, {}, 0};
  for (const char* field : {"Name", "StageName", "AccountId"})
    select.fields.push_back(over("Opportunity", names.field("opportunity", field)));
  select.fields.push_back(order_field);
  select.conditions.emplace_back("Opportunity.IsClosed = false");
  select.order = order_by(order_field, order.descending, "OpportunityId");
  return select;
}

Select users(const ApiNames& names) {
  return {{"Id", "Name", names.field("user", "Email"), "IsActive"},
          names.object("user"),
          {},
          "IsActive DESC, Id ASC",
          0};
}

}  // namespace

std::vector<Statement> persons_by_email(const ApiNames& names, PersonObject object,
                                        const PersonMatchFields& fields,
                                        std::span<const std::string> email_keys) {
  return ask(persons(names, object, fields), mapped(names, object_word(object), fields.email_fields),
             email_literals(email_keys));
}

std::vector<Statement> persons_by_phone(const ApiNames& names, PersonObject object,
                                        const PersonMatchFields& fields,
                                        std::span<const std::vector<std::string>> spellings) {
  return ask(persons(names, object, fields), mapped(names, object_word(object), fields.phone_fields),
             text_literals(spellings));
}

std::vector<Statement> roles_by_email(const ApiNames& names, const std::vector<std::string>& email_fields,
                                      const OrderBy& order, std::span<const std::string> email_keys) {
  std::vector<std::string> fields;
  for (const std::string& field : mapped(names, "contact", email_fields))
    fields.push_back(over("Contact", field));
  return ask(open_roles(names, order), fields, email_literals(email_keys));
}

std::vector<Statement> roles_by_contact(const ApiNames& names, const OrderBy& order,
                                        std::span<const std::string> contact_ids) {
  return ask(open_roles(names, order), {"ContactId"}, id_literals(contact_ids));
}

std::vector<Statement> users_by_email(const ApiNames& names, std::span<const std::string> email_keys) {
  return ask(users(names), {names.field("user", "Email")}, email_literals(email_keys));
}

std::vector<Statement> users_by_id(const ApiNames& names, std::span<const std::string> ids) {
  return ask(users(names), {"Id"}, id_literals(ids));
}

std::vector<Statement> accounts_of_contacts(const ApiNames& names, std::span<const std::string> contact_ids) {
  return ask({{"Id", names.field("contact", "AccountId")}, names.object("contact"), {}, "Id ASC", 0}, {"Id"},
             id_literals(contact_ids));
}

std::vector<Statement> owners_of_accounts(const ApiNames& names, std::span<const std::string> account_ids) {
  return ask({{"Id", names.field("account", "OwnerId")}, names.object("account"), {}, "Id ASC", 0}, {"Id"},
             id_literals(account_ids));
}

std::vector<Statement> converted_leads(const ApiNames& names, std::span<const std::string> lead_ids) {
  const Select select{{"Id", "ConvertedContactId", "ConvertedContact.Name", "ConvertedContact.AccountId"},
                      names.object("lead"),
                      {"IsConverted = true"},
                      "Id ASC",
                      0};
  return ask(select, {"Id"}, id_literals(lead_ids));
}

std::vector<Statement> persons_by_id(const ApiNames& names, PersonObject object,
                                     std::span<const std::string> ids) {
  const std::string_view word = object_word(object);
  Select select{
      {"Id", names.field(word, "Email"), names.field(word, "FirstName"), names.field(word, "LastName")},
      names.object(word),
      {},
      "Id ASC",
      0};
  if (object == PersonObject::contact) select.fields.push_back(names.field(word, "AccountId"));
  return ask(select, {"Id"}, id_literals(ids));
}

std::vector<Statement> opportunities_by_id(const ApiNames& names, std::span<const std::string> ids) {
  Select select{{"Id"}, names.object("opportunity"), {}, "Id ASC", 0};
  append(select.fields, mapped(names, "opportunity", {"Name", "AccountId", "StageName"}));
  return ask(select, {"Id"}, id_literals(ids));
}

std::vector<Statement> permission_set_assignments(std::span<const std::string> user_ids) {
  const Select select{{"AssigneeId", "PermissionSet.Name", "PermissionSet.NamespacePrefix",
                       "PermissionSetGroupId", "IsActive", "ExpirationDate"},
                      "PermissionSetAssignment",
                      {},
                      "AssigneeId ASC, Id ASC",
                      0};
  return ask(select, {"AssigneeId"}, id_literals(user_ids));
}

std::vector<Statement> permission_set_assignments_by_email(const ApiNames& names,
                                                           std::span<const std::string> email_keys) {
  const std::string email = over("Assignee", names.field("user", "Email"));
  const Select select{{"AssigneeId", email, "PermissionSet.Name", "PermissionSet.NamespacePrefix",
                       "PermissionSetGroupId", "IsActive", "ExpirationDate"},
                      "PermissionSetAssignment",
                      {"Assignee.IsActive = true"},
                      "AssigneeId ASC, Id ASC",
                      0};
  return ask(select, {email}, email_literals(email_keys));
}

std::vector<Statement> permission_set_group_parts(std::span<const std::string> group_ids) {
  const Select select{{"PermissionSetGroupId", "PermissionSet.Name", "PermissionSet.NamespacePrefix"},
                      "PermissionSetGroupComponent",
                      {},
                      "PermissionSetGroupId ASC, Id ASC",
                      0};
  return ask(select, {"PermissionSetGroupId"}, id_literals(group_ids));
}

std::vector<Statement> lookup_targets(const ApiNames& names, std::string_view object,
                                      std::span<const std::string> ids) {
  Select select{{"Id"}, names.object(object), {}, "Id ASC", 0};
  if (object != "user") select.fields.emplace_back("IsDeleted");
  if (object == "contact" || object == "account" || object == "lead")
    select.fields.emplace_back("MasterRecordId");
  return ask(select, {"Id"}, id_literals(ids));
}

// The SOQL of queries about gift records, tasks and request records.

namespace {

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
std::string has_status(const ApiNames& names, RequestRecordStatus status) {
  const std::string& field = names.field(RequestRecordField::status);
  const std::string literal = *text_literal(giftsync::to_word(status));
  if (status == RequestRecordStatus::pending)
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
  for (const Status status : kAllStatuses) fields.push_back(time_field_of(status));
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

std::string gift_page_in_status(const ApiNames& names, Status status, TransactionId after,
                                std::size_t limit) {
  Select select = gifts(names, names.gift_fields());
  select.conditions = {fmt::format("{} = {}", names.field(GiftField::status),
                                   text_literal(giftsync::to_word(status)).value_or("''")),
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
  const std::string unicode = email_key_in_unicode(email_key);
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
                                        std::optional<RequestRecordStatus> status, std::size_t limit) {
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
  const std::string pending = has_status(names, RequestRecordStatus::pending);
  const std::string approved = has_status(names, RequestRecordStatus::approved);
  return to_soql({{"Id", "LastModifiedDate", "SystemModstamp"},
                  names.object("request_record"),
                  {fmt::format("({} OR {})", pending, approved)},
                  "SystemModstamp ASC, Id ASC",
                  0});
}

std::string changed_requests(const ApiNames& names, UtcMillis since) {
  Select select = requests(names);
  select.fields.insert(select.fields.begin() + 1, {"IsDeleted", "SystemModstamp"});
  select.conditions = {"SystemModstamp >= " + time_literal(since)};
  select.order = "SystemModstamp ASC, Id ASC";
  return to_soql(select);
}

}  // namespace giftsync::salesforce
