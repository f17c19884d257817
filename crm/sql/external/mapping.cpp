#include "crm/sql/external/mapping.h"

#include <algorithm>
#include <set>

#include "platform/text.h"

namespace giftsync::crm::external {
namespace {

/// "OpportunityContactRole" is Salesforce's own name of the object, and so of its table.
std::string default_table(const std::string& object, const std::string& name_space) {
  if (object == "permission_set_assignment") return "-";
  if (object == "gift_record") return ascii_lower(name_space) + "__gift_record__c";
  std::string name;
  for (const char c : object) {
    if (c != '_') name += c;
  }
  return name;
}

const FieldDescriptor* gift_field(const std::string& field) {
  for (const FieldDescriptor& known : kGiftFields) {
    if (ascii_lower(known.name) == ascii_lower(field)) return &known;
  }
  return nullptr;
}

/// Written only where the settings name their columns: the CRM maintains them itself, or tables made for an
/// older giftsync lack them.
bool must_be_named(GiftField field) {
  return field == GiftField::created_by || field == GiftField::owner ||
         field == GiftField::last_modified_by || field == GiftField::utm_campaign_id;
}

}  // namespace

Mapping::Mapping(ExternalCrmNames names) : names_(std::move(names)) {
  for (const auto& [field, column] : names_.columns) columns_[ascii_lower(field)] = column;
}

std::string Mapping::table_name(const std::string& object) const {
  const auto given = names_.tables.find(object);
  std::string name = given == names_.tables.end() ? default_table(object, names_.name_space) : given->second;
  if (name == "-") return {};
  return names_.schema.empty() || name.find('.') != std::string::npos ? name : names_.schema + "." + name;
}

std::string Mapping::table(const std::string& object) const {
  const std::string name = table_name(object);
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) return crm::sql_crm::quoted(name);
  return crm::sql_crm::quoted(name.substr(0, dot)) + "." + crm::sql_crm::quoted(name.substr(dot + 1));
}

std::string Mapping::column_name(const std::string& object, const std::string& field) const {
  const FieldDescriptor* gift = object == "gift_record" ? gift_field(field) : nullptr;
  const auto given = columns_.find(ascii_lower(object + "." + field));
  if (given != columns_.end()) return given->second == "-" ? std::string() : given->second;
  if (gift) {
    if (gift->owner == FieldOwner::crm || must_be_named(static_cast<GiftField>(gift - kGiftFields.data())))
      return {};
    return ascii_lower(api_name(*gift, names_.name_space));
  }
  if (field == "Id") return names_.id_column;
  if (object == "task" && field == "RecipientTransactionId")
    return ascii_lower(names_.name_space) + "__recipienttransactionid__c";
  return ascii_lower(field);
}

std::string Mapping::gift_column(GiftField field) const {
  return column_name("gift_record", std::string(descriptor_of(field).name));
}

std::vector<crm::sql_crm::Column> Mapping::columns(soci::session& session, const std::string& object) const {
  return crm::sql_crm::columns_of(
      session, sql::Dialect(session) == sql::Dialect::sqlite ? table_name(object) : table(object));
}

std::vector<GiftField> written_gift_fields(const Mapping& mapping) {
  std::vector<GiftField> fields;
  for (std::size_t i = 0; i < kGiftFieldCount; ++i) {
    const auto field = static_cast<GiftField>(i);
    if (kGiftFields[i].owner != FieldOwner::crm && !mapping.gift_column(field).empty())
      fields.push_back(field);
  }
  return fields;
}

std::vector<UsedField> used_fields(const ExternalCrmOptions& options) {
  std::vector<UsedField> wanted;
  const auto want = [&](const std::string& object, std::initializer_list<const char*> fields,
                        FieldType type = FieldType::text) {
    for (const char* field : fields) wanted.push_back({object, field, type, ""});
  };
  const auto person = [&](const std::string& object, const PersonMatchFields& fields) {
    const std::string key = "matching." + object + ".";
    for (const std::string& field : fields.email_fields)
      wanted.push_back({object, field, FieldType::email, key + "email_fields"});
    for (const std::string& field : fields.phone_fields)
      wanted.push_back({object, field, FieldType::phone, key + "phone_fields"});
    wanted.push_back({object, fields.order_by.field, FieldType::long_text, key + "order_by.field"});
    want(object, {"Id", "Name"});
  };
  person("contact", options.match_fields.contact);
  want("contact", {"AccountId"});
  person("lead", options.match_fields.lead);
  want("lead", {"IsConverted"}, FieldType::checkbox);
  want("lead", {"ConvertedContactId"});
  want("account", {"Id"});
  if (options.match_fields.opportunity.enabled) {
    want("opportunity", {"Id", "Name", "AccountId", "StageName"});
    want("opportunity", {"IsClosed"}, FieldType::checkbox);
    wanted.push_back({"opportunity", options.match_fields.opportunity.order_by.field, FieldType::long_text,
                      "matching.opportunity.order_by.field"});
    want("opportunity_contact_role", {"ContactId", "OpportunityId"});
  }
  want("user", {"Id", "Name", "Email"});
  want("user", {"IsActive"}, FieldType::checkbox);
  want("permission_set_assignment", {"AssigneeId", "PermissionSetName"});
  want("permission_set_assignment", {"IsActive"}, FieldType::checkbox);
  want("permission_set_assignment", {"ExpirationDate"}, FieldType::date_time);
  if (options.tasks) {
    want("task", {"Id", "WhatId", "WhoId", "Type", "Status", "Subject", "OwnerId"});
    want("task", {"RecipientTransactionId"}, FieldType::number);
    for (const std::string& field : options.task_fields)
      wanted.push_back({"task", field, field == kDueDate ? FieldType::date_time : FieldType::long_text,
                        field == kDueDate ? "tasks.due_days" : "tasks.description"});
    if (options.account_owners) wanted.push_back({"account", "OwnerId", FieldType::text, "tasks.assignee"});
  }
  want("gift_record", {"Id"});
  for (const FieldDescriptor& field : kGiftFields)
    if (field.owner != FieldOwner::crm)
      wanted.push_back({"gift_record", std::string(field.name), field.type, ""});
  std::set<std::string> objects;
  for (const UsedField& field : wanted) objects.insert(field.object);
  for (const std::string& object : objects) want(object, {kDeletionMark}, FieldType::checkbox);
  return wanted;
}

MappedTables::MappedTables(const Mapping& mapping, soci::session& session)
    : dialect_(session), mapping_(mapping) {
  for (const std::string& object : kExternalCrmObjects) {
    if (mapping_.has(object)) columns_[object] = mapping_.columns(session, object);
  }
  if (dialect_ == sql::Dialect::sqlite) return;
  std::string encoding;
  soci::statement statement =
      sql::bound(session, "SELECT current_setting('server_encoding')", soci::into(encoding));
  sql::each_row(statement, [] {});
  is_unicode_ = encoding == "UTF8";
}

std::string MappedTables::column(const std::string& alias, const std::string& object,
                                 const std::string& field) const {
  const std::string name = mapping_.column_name(object, field);
  return name.empty() ? "NULL" : alias + "." + crm::sql_crm::quoted(name);
}

const crm::sql_crm::Column* MappedTables::type(const std::string& object, const std::string& field) const {
  const auto columns = columns_.find(object);
  return columns == columns_.end()
             ? nullptr
             : crm::sql_crm::find_column(columns->second, mapping_.column_name(object, field));
}

std::string MappedTables::text(const std::string& alias, const std::string& object,
                               const std::string& field) const {
  const crm::sql_crm::Column* found = type(object, field);
  return found ? "coalesce(" + as_text(dialect_, column(alias, object, field), *found) + ", '')" : "''";
}

std::string MappedTables::cast(const std::string& cell, const std::string& object,
                               const std::string& field) const {
  const crm::sql_crm::Column* found = type(object, field);
  // SQLite stores text according to the column's affinity.
  const std::string to = dialect_ == sql::Dialect::postgresql && found              ? found->sized_type
                         : found && found->type == crm::sql_crm::ColumnType::number ? "NUMERIC"
                                                                                    : "TEXT";
  return "cast(" + cell + " as " + to + ")";
}

std::string MappedTables::not_deleted(const std::string& alias, const std::string& object) const {
  const crm::sql_crm::Column* mark = type(object, kDeletionMark);
  if (!mark) return "true";
  return crm::sql_crm::not_deleted_condition(dialect_, column(alias, object, kDeletionMark), mark->type);
}

std::string MappedTables::gift_text(GiftField field) const {
  const std::string name(descriptor_of(field).name);
  const crm::sql_crm::Column* found = type("gift_record", name);
  if (!found) return "cast(NULL as text)";
  const std::string value = column("t", "gift_record", name);
  const bool sqlite = dialect_ == sql::Dialect::sqlite;
  // In a numeric column SQLite stores a text that is no number as text, and would convert it to 0.
  const std::string unless_text = "CASE WHEN typeof(" + value + ") = 'text' THEN " + value + " ";
  if (descriptor_of(field).type == FieldType::number)
    return sqlite ? unless_text + "ELSE cast(cast(" + value + " as integer) as text) END"
                  : "cast(cast(" + value + " as bigint) as text)";
  if (descriptor_of(field).type == FieldType::currency && found->type == crm::sql_crm::ColumnType::number) {
    return sqlite ? unless_text + "WHEN " + value + " IS NOT NULL THEN printf('%.2f', " + value + ") END"
                  : "cast(round(cast(" + value + " as numeric), 2) as text)";
  }
  // SQLite stores times in text columns, in giftsync's form or another one that SQLite parses.
  if (descriptor_of(field).type == FieldType::date_time && sqlite) {
    const crm::sql_crm::Column time{found->name, crm::sql_crm::ColumnType::date_time, "text"};
    return "coalesce(" + as_text(dialect_, value, time) + ", cast(" + value + " as text))";
  }
  return as_text(dialect_, value, *found);
}

std::string as_text(sql::Dialect dialect, const std::string& expression, const crm::sql_crm::Column& column) {
  if (dialect == sql::Dialect::postgresql && column.sql_type == "timestamp without time zone")
    return "to_char(" + expression + ", 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')";
  return as_text(dialect, expression, column.type);
}

}  // namespace giftsync::crm::external
