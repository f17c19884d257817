#include "crm/sql/managed/gift_table.h"

#include <cstdlib>
#include <utility>

#include "crm/sql/columns.h"
#include "platform/dependency_error.h"

namespace giftsync::crm::managed {
namespace {

constexpr std::string_view kTable = "crm_gift_record";

std::string column(GiftField field) {
  return std::string(descriptor_of(field).column);
}

/// The fields that a checkbox of the gift record is computed from (SYNC-6).
std::string formula(std::string_view name) {
  if (name == descriptor_of(GiftField::opened).column) return column(GiftField::opened_time) + " IS NOT NULL";
  if (name == descriptor_of(GiftField::redeemed).column)
    return column(GiftField::redeemed_time) + " IS NOT NULL";
  if (name != descriptor_of(GiftField::delivered).column) std::abort();  // a bug: a formula without its rule
  const std::string delivered = column(GiftField::delivered_time);
  const std::string undelivered = column(GiftField::undelivered_time);
  return delivered + " IS NOT NULL AND (" + undelivered + " IS NULL OR " + delivered + " >= " + undelivered +
         ")";
}

std::string definition(const FieldDescriptor& field, sql::Dialect dialect) {
  const std::string head = std::string(field.column) + " " + std::string(sql_type(field.type, dialect));
  if (field.type == FieldType::checkbox) {
    const char* storage = dialect == sql::Dialect::sqlite ? " VIRTUAL" : " STORED";
    return head + " GENERATED ALWAYS AS (" + formula(field.column) + ")" + storage;
  }
  return &field == &descriptor_of(GiftField::transaction_id) ? head + " NOT NULL UNIQUE" : head;
}

std::string create_statement(sql::Dialect dialect) {
  const std::string now = dialect == sql::Dialect::sqlite ? "(strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))"
                                                          : "date_trunc('milliseconds', now())";
  const std::string time = std::string(time_type(dialect)) + " NOT NULL DEFAULT " + now;
  std::string text =
      "CREATE TABLE " + std::string(kTable) +
      " (id TEXT NOT NULL PRIMARY KEY, record_version BIGINT NOT NULL DEFAULT 0, createddate " + time +
      ", lastmodifieddate " + time;
  for (const FieldDescriptor& field : kGiftFields) text += ", " + definition(field, dialect);
  return text + ", CONSTRAINT contact_or_lead_never_both CHECK (" + column(GiftField::recipient_contact) +
         " IS NULL OR " + column(GiftField::recipient_lead) + " IS NULL))";
}

crm::sql_crm::ColumnType column_type(FieldType type) {
  switch (type) {
    case FieldType::currency:
    case FieldType::number:
      return crm::sql_crm::ColumnType::number;
    case FieldType::date_time:
      return crm::sql_crm::ColumnType::date_time;
    case FieldType::checkbox:
      return crm::sql_crm::ColumnType::checkbox;
    default:
      return crm::sql_crm::ColumnType::text;
  }
}

/// What "gift list" searches by.
void ensure_gift_indexes(soci::session& session) {
  const std::string email = crm::sql_crm::email_key_expression(session, column(GiftField::recipient_email));
  const std::pair<std::string, std::string> indexes[] = {
      {"email", email},
      {"contact", column(GiftField::recipient_contact)},
      {"status", column(GiftField::status) + ", " + column(GiftField::transaction_id)}};
  for (const auto& [name, columns] : indexes) {
    session << "CREATE INDEX IF NOT EXISTS " + std::string(kTable) + "_" + name + " ON " +
                   std::string(kTable) + " (" + columns + ")";
  }
}

void ensure_gift_columns(soci::session& session) {
  const std::vector<crm::sql_crm::Column> columns = crm::sql_crm::columns_of(session, std::string(kTable));
  if (columns.empty()) {
    session << create_statement(session);
    return;
  }
  const auto add = [&](const std::string& name, const std::string& what) {
    if (!crm::sql_crm::find_column(columns, name))
      session << "ALTER TABLE " + std::string(kTable) + " ADD COLUMN " + what;
  };
  // Older packages lack it: to them every record of giftsync is newer.
  add("record_version", "record_version BIGINT NOT NULL DEFAULT 0");
  // SQLite adds no column with a default that is computed.
  for (const std::string name : {"createddate", "lastmodifieddate"})
    add(name, name + " " + std::string(time_type(session)));
  for (const bool formulas : {false, true}) {  // last: they name the times
    for (const FieldDescriptor& field : kGiftFields) {
      if ((field.type == FieldType::checkbox) == formulas)
        add(std::string(field.column), definition(field, session));
    }
  }
}

}  // namespace

void ensure_gift_table(soci::session& session) {
  ensure_gift_columns(session);
  ensure_gift_indexes(session);
}

std::string_view time_type(sql::Dialect dialect) {
  return dialect == sql::Dialect::sqlite ? "TEXT" : "TIMESTAMPTZ";
}

std::string_view sql_type(FieldType type, sql::Dialect dialect) {
  switch (type) {
    case FieldType::currency:
      return dialect == sql::Dialect::sqlite ? "TEXT" : "NUMERIC(16,2)";
    case FieldType::number:
      return "BIGINT";
    case FieldType::date_time:
      return time_type(dialect);
    case FieldType::checkbox:
      return "BOOLEAN";
    default:
      return "TEXT";
  }
}

std::string read_expression(const FieldDescriptor& field, sql::Dialect dialect) {
  return crm::sql_crm::as_text(dialect, std::string(field.column), column_type(field.type));
}

std::string raw_expression(const FieldDescriptor& field, sql::Dialect dialect) {
  const std::string read = read_expression(field, dialect);
  const bool may_be_null = dialect == sql::Dialect::sqlite && field.type == FieldType::date_time;
  return may_be_null ? "coalesce(" + read + ", " + std::string(field.column) + ")" : read;
}

crm::sql_crm::TransactionTable transaction_table(sql::Dialect dialect, const std::string& name) {
  return {name, "t.recipienttransactionid", "cast(c0 as BIGINT)", "recipienttransactionid",
          "lastmodifieddate = " + crm::sql_crm::now_expression(dialect)};
}

std::string gift_record_id(TransactionId transaction) {
  return crm::sql_crm::derived_id("a0G", transaction);
}

}  // namespace giftsync::crm::managed
