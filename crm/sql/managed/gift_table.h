// crm/sql/managed: crm_gift_record, created from kGiftFields: its columns, their types and the
// conversion of values. Money is NUMERIC(16,2) on PostgreSQL and exact decimal text ("5.50") on SQLite;
// times are TIMESTAMPTZ and RFC 3339 UTC text with milliseconds; formulas are generated columns, so that
// plain SQL sees their values. Included by schema/'s .cpp files only.
#pragma once

#include <string>

#include "crm/sql/transaction_rows.h"
#include "schema/gift_record.h"
#include "schema/sql/database.h"

namespace giftsync::crm::managed {

/// Creates the table, or adds the missing columns.
void ensure_gift_table(soci::session& session);

/// The time type's name in a column definition and in a cast.
std::string_view time_type(sql::Dialect dialect);

/// The column's type in a cast from text.
std::string_view sql_type(FieldType type, sql::Dialect dialect);

/// The column as text, an SQL expression that value_of() parses; null for a time that SQLite cannot
/// parse.
std::string read_expression(const FieldDescriptor& field, sql::Dialect dialect);
/// The same; such a time is returned unmodified.
std::string raw_expression(const FieldDescriptor& field, sql::Dialect dialect);

/// A table of the managed CRM with one row for each transaction: crm_gift_record or crm_task.
crm::sql_crm::TransactionTable transaction_table(sql::Dialect dialect, const std::string& name);

/// The record's Id, 18 characters, always the same for the same transaction.
std::string gift_record_id(TransactionId transaction);

}  // namespace giftsync::crm::managed
