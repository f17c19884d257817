#include "crm/sql/table_rows.h"

#include <algorithm>
#include <cstdlib>

#include "crm/number_text.h"
#include "crm/row_import.h"
#include "platform/text.h"
#include "schema/gift_record.h"
#include "schema/ids.h"
#include "schema/request_record.h"
#include "schema/sql/bulk_rows.h"

namespace giftsync::crm::sql_crm {
namespace {

template <class Descriptors>
std::vector<std::string> names_of(const Descriptors& fields) {
  std::vector<std::string> names;
  for (const FieldDescriptor& field : fields) names.emplace_back(field.name);
  return names;
}

/// Null stays null. SQLite's columns hold values of other types too: those are read as they are.
std::string value_text(sql::Dialect dialect, const Column& column) {
  const std::string name = quoted(column.name);
  const std::string text = as_text(dialect, name, column.type);
  const std::string plain = "cast(" + name + " as text)";
  return dialect == sql::Dialect::sqlite && text != plain ? "coalesce(" + text + ", " + plain + ")" : text;
}

/// The key as text; a text column as it is, so that its index is used.
std::string key_text(const Column& key) {
  const std::string name = quoted(key.name);
  return key.type == ColumnType::text && key.sql_type != "uuid" ? name : "cast(" + name + " as text)";
}

std::vector<CrmRow> read_where(soci::session& session, const TableToRead& table, const std::string& condition,
                               const std::string& value, std::size_t limit) {
  std::string list = key_text(table.key);
  for (const Column& column : table.columns) list += ", " + value_text(session, column);
  const std::size_t count = table.columns.size();
  std::string id;
  std::vector<std::string> values(count);
  std::vector<soci::indicator> found(count);
  soci::statement statement(session);
  statement.exchange(soci::into(id));
  for (std::size_t i = 0; i < count; ++i) statement.exchange(soci::into(values[i], found[i]));
  statement.exchange(soci::use(value));
  statement.alloc();
  const std::string key = bytewise(session, key_text(table.key));
  statement.prepare("SELECT " + list + " FROM " + table.table + " t WHERE " + quoted(table.key.name) +
                        " IS NOT NULL AND " + table.condition + " AND " + condition + " ORDER BY " + key +
                        " LIMIT " + std::to_string(limit),
                    sql::kRunOnce);
  statement.define_and_bind();
  std::vector<CrmRow> rows;
  sql::each_row(statement, [&] {
    CrmRow& row = rows.emplace_back();
    row.id = id;
    for (std::size_t i = 0; i < count; ++i) {
      const Column& column = table.columns[i];
      const auto name = table.field_names.find(ascii_lower(column.name));
      std::optional<std::string> text;
      if (found[i] == soci::i_ok)
        text = column.type == ColumnType::number ? trim_trailing_zeros(values[i]) : values[i];
      row.fields.emplace_back(name == table.field_names.end() ? column.name : name->second, std::move(text));
    }
  });
  return rows;
}

}  // namespace

std::vector<std::string> known_fields(const std::string& object) {
  if (const auto import = parse_import_object(object)) {
    std::vector<std::string> names = standard_columns(*import);
    names.erase(names.begin());
    return names;
  }
  std::vector<std::string> names{"CreatedDate", "LastModifiedDate"};
  std::vector<std::string> more;
  if (object == "gift_record") more = names_of(kGiftFields);
  if (object == "request_record") more = names_of(kRequestRecordFields);
  if (object == "task")
    more = {"WhatId",  "WhoId",        "Type",
            "Status",  "Subject",      "Description",
            "OwnerId", "ActivityDate", "RecipientTransactionId"};
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

std::vector<Column> readable_columns(soci::session& session, const std::string& table) {
  std::vector<Column> columns = columns_of(session, table);
  if (sql::Dialect(session) == sql::Dialect::sqlite) return columns;
  std::map<std::string, std::string> names;  // by lower case
  std::string name;
  soci::statement statement = sql::bound(session,
                                         "SELECT cast(attname as text) FROM pg_attribute WHERE attrelid = "
                                         "to_regclass(:table) AND attnum > 0 AND NOT attisdropped AND "
                                         "has_column_privilege(attrelid, attnum, 'SELECT')",
                                         soci::into(name), soci::use(table));
  sql::each_row(statement, [&] { names[ascii_lower(name)] = name; });
  std::erase_if(columns, [&](const Column& column) { return !names.contains(column.name); });
  for (Column& column : columns) column.name = names[column.name];
  return columns;
}

std::vector<CrmRow> read_page(soci::session& session, const TableToRead& table, const std::string& after,
                              std::size_t limit) {
  return read_where(session, table, bytewise(session, key_text(table.key)) + " > :after", after, limit);
}

std::optional<CrmRow> read_row(soci::session& session, const TableToRead& table, const std::string& id) {
  for (const std::string& form : crm_id_forms(std::span(&id, 1))) {
    std::vector<CrmRow> rows =
        read_where(session, table, key_text(table.key) + " = cast(:id as text)", form, 1);
    if (!rows.empty()) return std::move(rows.front());
  }
  return std::nullopt;
}

TextRows::TextRows(sql::Dialect dialect, std::size_t columns)
    : dialect_(dialect),
      columns_(columns),
      lists_(dialect == sql::Dialect::sqlite ? 1 : columns, dialect == sql::Dialect::sqlite ? "[" : "{") {}

void TextRows::add(const Row& row) {
  if (row.size() != columns_) std::abort();  // a bug: the caller's columns and cells differ
  const bool sqlite = dialect_ == sql::Dialect::sqlite;
  const char* comma = rows_++ == 0 ? "" : ",";
  if (sqlite) lists_[0].append(comma).append("[");
  for (std::size_t i = 0; i < columns_; ++i) {
    std::string& list = lists_[sqlite ? 0 : i];
    list += sqlite ? (i == 0 ? "" : ",") : comma;
    if (!row[i]) {
      list += sqlite ? "null" : "NULL";
    } else {
      list += sqlite ? sql::json_text(*row[i]) : sql::array_text(*row[i]);
    }
  }
  if (sqlite) lists_[0] += ']';
}

std::string TextRows::as_table() const {
  std::string names;
  std::string sources;
  for (std::size_t i = 0; i < columns_; ++i) {
    const std::string comma = i == 0 ? "" : ", ";
    const std::string name = "c" + std::to_string(i);
    names += comma + name;
    sources += dialect_ == sql::Dialect::sqlite
                   ? comma + "json_extract(value, '$[" + std::to_string(i) + "]') AS " + name
                   : comma + "cast(:" + name + " as text[])";
  }
  if (dialect_ == sql::Dialect::sqlite) return "(SELECT " + sources + " FROM json_each(:rows)) AS given";
  return "unnest(" + sources + ") AS given(" + names + ")";
}

void TextRows::bind(soci::statement& statement) {
  for (std::string& list : lists_) {
    if (!closed_) list += dialect_ == sql::Dialect::sqlite ? ']' : '}';
    statement.exchange(soci::use(list));
  }
  closed_ = true;
}

namespace {

constexpr int kMaxRows = 10'000;
constexpr std::size_t kMaxShownValueLength = 60;

}  // namespace

TextNumbers read_text_numbers(soci::session& session, const std::string& table, const std::string& id,
                              const std::string& column) {
  TextNumbers found;
  std::string row;
  std::string value;
  // All rows of the inner query are read, so that a large table with few values costs no more.
  soci::statement statement =
      sql::bound(session,
                 "SELECT row_id, row_value FROM (SELECT " + id + " AS row_id, " + column +
                     " AS row_value FROM " + table + " LIMIT " + std::to_string(kMaxRows) +
                     ") AS sampled WHERE row_value IS NOT NULL AND row_id IS NOT NULL",
                 soci::into(row), soci::into(value));
  sql::each_row(statement, [&] {
    const std::string_view text = trimmed(value);
    if (text.empty()) return;
    ++found.values;
    if (normalize_number(text)) {
      ++found.numbers;
    } else if (found.other_id.empty()) {
      found.other_id = row;
      found.other_value = truncated(text, kMaxShownValueLength);
    }
  });
  return found;
}

std::string text_order_sentence(const std::string& key, const std::string& field, const std::string& object,
                                const TextNumbers& found) {
  const bool all = found.other_id.empty();
  return key + ": " + field + " is text" +
         (all ? "" : ", because " + object + " " + found.other_id + " has \"" + found.other_value + "\"") +
         ", but " + (all ? "its values" : "most of its values") +
         " are numbers; they are ordered as text, 10 before 9";
}

}  // namespace giftsync::crm::sql_crm
