#include "schema/sql/bulk_insert.h"

#include <cstdlib>

namespace giftsync::schema::sql {

std::string array_text(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text += '"';
}

BulkInsert::BulkInsert(Dialect dialect, std::string_view table, std::vector<Column> columns,
                       std::string_view suffix)
    : dialect_(dialect),
      table_(table),
      columns_(std::move(columns)),
      suffix_(suffix),
      arrays_(columns_.size()) {}

void BulkInsert::add(std::initializer_list<Cell> cells) {
  if (cells.size() != columns_.size()) std::abort();  // a bug: the caller's columns and cells differ
  ++rows_;
  if (dialect_ == Dialect::postgresql) {
    std::size_t column = 0;
    for (const Cell& cell : cells) {
      std::string& array = arrays_[column++];
      array += array.empty() ? '{' : ',';
      if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
        array += std::to_string(*integer);
      } else if (const auto* text = std::get_if<std::string_view>(&cell)) {
        array += array_text(*text);
      } else {
        array += "NULL";
      }
    }
    return;
  }
  std::vector<Value>& row = table_rows_.emplace_back();
  row.reserve(cells.size());
  for (const Cell& cell : cells) {
    const auto* integer = std::get_if<std::int64_t>(&cell);
    const auto* text = std::get_if<std::string_view>(&cell);
    row.push_back({integer || text ? soci::i_ok : soci::i_null, integer ? *integer : 0,
                   text ? std::string(*text) : ""});
  }
}

void BulkInsert::forget() {
  rows_ = 0;
  table_rows_.clear();
  for (std::string& array : arrays_) array.clear();
}

std::int64_t BulkInsert::run(soci::session& session) {
  if (rows_ == 0) return 0;
  const std::int64_t inserted =
      dialect_ == Dialect::postgresql ? run_arrays(session, {this}) : run_row_by_row(session);
  forget();
  return inserted;
}

void BulkInsert::run_together(soci::session& session, std::initializer_list<BulkInsert*> inserts) {
  std::vector<BulkInsert*> arrays;
  for (BulkInsert* insert : inserts) {
    if (insert->dialect_ == Dialect::sqlite) {
      insert->run(session);
    } else if (!insert->empty()) {
      arrays.push_back(insert);
    }
  }
  if (arrays.empty()) return;
  run_arrays(session, arrays);
  for (BulkInsert* insert : arrays) insert->forget();
}

std::string BulkInsert::array_statement() const {
  std::string names;
  std::string arrays;
  for (const Column& column : columns_) {
    const std::string comma = names.empty() ? "" : ", ";
    names += comma + std::string(column.name);
    arrays += comma + "cast(:" + table_ + "_" + std::string(column.name) +
              (column.type == Type::integer ? " as bigint[])" : " as text[])");
  }
  return "INSERT INTO " + table_ + " (" + names + ") SELECT * FROM unnest(" + arrays + ") " + suffix_;
}

/// The rows of the last one are counted.
std::int64_t BulkInsert::run_arrays(soci::session& session, const std::vector<BulkInsert*>& inserts) {
  std::string text;
  soci::statement statement(session);
  for (BulkInsert* insert : inserts) {
    const bool is_last = insert == inserts.back();
    if (!is_last) text += (text.empty() ? "WITH " : ", ") + insert->table_ + "_rows AS (";
    text += (is_last && !text.empty() ? " " : "") + insert->array_statement() + (is_last ? "" : ")");
    for (std::string& array : insert->arrays_) {
      array += '}';
      statement.exchange(soci::use(array));
    }
  }
  statement.alloc();
  statement.prepare(text);
  statement.define_and_bind();
  statement.execute(true);
  return statement.get_affected_rows();
}

std::int64_t BulkInsert::run_row_by_row(soci::session& session) {
  std::string names;
  std::string parameters;
  for (const Column& column : columns_) {
    const std::string comma = names.empty() ? "" : ", ";
    names += comma + std::string(column.name);
    parameters += comma + ":" + std::string(column.name);
  }
  std::vector<Value> current(columns_.size());
  soci::statement statement(session);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].type == Type::integer) {
      statement.exchange(soci::use(current[i].integer, current[i].indicator));
    } else {
      statement.exchange(soci::use(current[i].text, current[i].indicator));
    }
  }
  statement.alloc();
  statement.prepare("INSERT INTO " + table_ + " (" + names + ") VALUES (" + parameters + ") " + suffix_);
  statement.define_and_bind();
  std::int64_t inserted = 0;
  for (std::vector<Value>& row : table_rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      current[i].indicator = row[i].indicator;
      current[i].integer = row[i].integer;
      current[i].text.swap(row[i].text);
    }
    statement.execute(true);
    inserted += statement.get_affected_rows();
  }
  return inserted;
}

}  // namespace giftsync::schema::sql
