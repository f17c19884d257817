#include "schema/sql_crm/gift_table.h"

#include <cstdlib>

#include "schema/broken_world.h"
#include "schema/sql_crm/columns.h"
#include "schema/sql_crm/record_rows.h"

namespace giftsync::schema::sql_crm {
namespace {

constexpr std::string_view kTable = "crm_gift_record";

std::string column(GiftField field) {
  return std::string(field_of(field).column);
}

/// What a checkbox of the gift record is computed from (design 3.2).
std::string formula(std::string_view name) {
  if (name == field_of(GiftField::opened).column) return column(GiftField::opened_time) + " IS NOT NULL";
  if (name == field_of(GiftField::redeemed).column) return column(GiftField::redeemed_time) + " IS NOT NULL";
  if (name != field_of(GiftField::delivered).column) std::abort();  // a bug: a formula without its rule
  const std::string delivered = column(GiftField::delivered_time);
  const std::string undelivered = column(GiftField::undelivered_time);
  return delivered + " IS NOT NULL AND (" + undelivered + " IS NULL OR " + delivered + " >= " + undelivered +
         ")";
}

std::string definition(const RecordField& field, Dialect dialect) {
  const std::string head = std::string(field.column) + " " + std::string(sql_type(field.type, dialect));
  if (field.type == FieldType::checkbox) {
    const char* kept = dialect == Dialect::sqlite ? " VIRTUAL" : " STORED";
    return head + " GENERATED ALWAYS AS (" + formula(field.column) + ")" + kept;
  }
  return &field == &field_of(GiftField::transaction_id) ? head + " NOT NULL UNIQUE" : head;
}

std::string create_statement(Dialect dialect) {
  const std::string now = dialect == Dialect::sqlite ? "(strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))"
                                                     : "date_trunc('milliseconds', now())";
  const std::string time = std::string(time_type(dialect)) + " NOT NULL DEFAULT " + now;
  std::string text =
      "CREATE TABLE " + std::string(kTable) +
      " (id TEXT NOT NULL PRIMARY KEY, record_version BIGINT NOT NULL DEFAULT 0, createddate " + time +
      ", lastmodifieddate " + time;
  for (const RecordField& field : kGiftFields) text += ", " + definition(field, dialect);
  return text + ", CONSTRAINT contact_or_lead_never_both CHECK (" + column(GiftField::recipient_contact) +
         " IS NULL OR " + column(GiftField::recipient_lead) + " IS NULL))";
}

ColumnType column_type(FieldType type) {
  switch (type) {
    case FieldType::currency:
    case FieldType::number:
      return ColumnType::number;
    case FieldType::date_time:
      return ColumnType::date_time;
    case FieldType::checkbox:
      return ColumnType::checkbox;
    default:
      return ColumnType::text;
  }
}

FieldValue number_of(const std::string& text) {
  char* end = nullptr;
  const long long number = std::strtoll(text.c_str(), &end, 10);
  const bool is_number = end != text.c_str() && *end == '\0';
  return is_number ? FieldValue(std::int64_t{number}) : FieldValue();
}

}  // namespace

void ensure_gift_table(soci::session& session, Dialect dialect) {
  const std::vector<Column> columns = columns_of(session, dialect, std::string(kTable));
  if (columns.empty()) {
    session << create_statement(dialect);
    return;
  }
  const auto add = [&](const std::string& name, const std::string& what) {
    if (!find_column(columns, name)) session << "ALTER TABLE " + std::string(kTable) + " ADD COLUMN " + what;
  };
  // Older packages lack it: to them every record of giftsync is newer.
  add("record_version", "record_version BIGINT NOT NULL DEFAULT 0");
  // SQLite adds no column with a default that is computed.
  for (const std::string name : {"createddate", "lastmodifieddate"})
    add(name, name + " " + std::string(time_type(dialect)));
  for (const bool formulas : {false, true}) {  // last: they name the times
    for (const RecordField& field : kGiftFields) {
      if ((field.type == FieldType::checkbox) == formulas)
        add(std::string(field.column), definition(field, dialect));
    }
  }
}

std::string_view time_type(Dialect dialect) {
  return dialect == Dialect::sqlite ? "TEXT" : "TIMESTAMPTZ";
}

std::string_view sql_type(FieldType type, Dialect dialect) {
  switch (type) {
    case FieldType::currency:
      return dialect == Dialect::sqlite ? "TEXT" : "NUMERIC(16,2)";
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

std::string read_expression(const RecordField& field, Dialect dialect) {
  return as_text(dialect, std::string(field.column), column_type(field.type));
}

std::string raw_expression(const RecordField& field, Dialect dialect) {
  const std::string read = read_expression(field, dialect);
  const bool may_be_null = dialect == Dialect::sqlite && field.type == FieldType::date_time;
  return may_be_null ? "coalesce(" + read + ", " + std::string(field.column) + ")" : read;
}

std::optional<std::string> text_of(const FieldValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* money = std::get_if<Money>(&value)) return to_decimal(*money);
  if (const auto* time = std::get_if<UtcMillis>(&value)) return to_rfc3339(*time);
  if (const auto* checked = std::get_if<bool>(&value)) return *checked ? "true" : "false";
  return std::nullopt;
}

FieldValue value_of(const RecordField& field, const std::string& text) {
  FieldValue value;
  switch (field.type) {
    case FieldType::currency:
      if (const auto money = from_decimal(text)) value = *money;
      break;
    case FieldType::number:
      value = number_of(text);
      break;
    case FieldType::date_time:
      if (const auto time = from_rfc3339(text)) value = *time;
      break;
    case FieldType::checkbox:
      value = text == "true";
      break;
    default:
      value = text;
  }
  return value;
}

void FetchedGift::bind(soci::statement& statement) {
  for (std::optional<std::string>& text : texts_) statement.exchange(soci::into(text));
}

GiftRecord FetchedGift::record() const {
  GiftRecord record;
  for (std::size_t i = 0; i < kGiftFieldCount; ++i) {
    if (!texts_[i]) continue;
    const auto field = static_cast<GiftField>(i);
    FieldValue value = value_of(field_of(field), *texts_[i]);
    if (std::holds_alternative<std::monostate>(value))
      record.unreadable.push_back({field, *texts_[i]});
    else
      record.set(field, std::move(value));
  }
  return record;
}

std::string gift_record_id(TransactionId transaction) {
  return derived_id("a0G", transaction);
}

}  // namespace giftsync::schema::sql_crm
