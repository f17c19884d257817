// schema/sql_crm: crm_gift_record, made from kGiftFields: its columns, their types, and how a record's values
// travel. Money is NUMERIC(16,2) on PostgreSQL and exact decimal text ("5.50") on SQLite; times are
// TIMESTAMPTZ and RFC 3339 UTC text with milliseconds; formulas are generated columns, so that plain SQL sees
// the truth. Included by schema/'s .cpp files only.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "schema/gift_record.h"
#include "schema/sql/database.h"

namespace giftsync::schema::sql_crm {

/// Creates the table, or adds the columns that it lacks.
void ensure_gift_table(soci::session& session, Dialect dialect);

/// The time type's name in a column definition and in a cast.
std::string_view time_type(Dialect dialect);

/// The column's type in a cast from text.
std::string_view sql_type(FieldType type, Dialect dialect);

/// The column as text, an SQL expression that value_of() reads; null for a time that SQLite cannot read.
std::string read_expression(const RecordField& field, Dialect dialect);
/// The same, and such a time as it stands there.
std::string raw_expression(const RecordField& field, Dialect dialect);

/// A value as the text that is cast to the column's type; empty when absent.
std::optional<std::string> text_of(const FieldValue& value);

/// The value of a field from the text of read_expression(); absent when it is none.
FieldValue value_of(const RecordField& field, const std::string& text);

/// A record's fields as they are fetched, in the order of kGiftFields.
class FetchedGift {
 public:
  void bind(soci::statement& statement);
  /// Of the row at hand; what is no value of its field is noted as unreadable.
  GiftRecord record() const;

 private:
  std::array<std::optional<std::string>, kGiftFieldCount> texts_;
};

/// The record's Id, 18 characters, the same for the same transaction for ever.
std::string gift_record_id(TransactionId transaction);

}  // namespace giftsync::schema::sql_crm
