#include "schema/sql/bulk_rows.h"

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

BulkRows::BulkRows(Dialect dialect, std::vector<Column> columns)
    : dialect_(dialect), columns_(std::move(columns)), arrays_(columns_.size()) {}

void BulkRows::add(std::span<const Cell> cells) {
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

std::string BulkRows::names() const {
  std::string text;
  for (const Column& column : columns_) text.append(text.empty() ? "" : ", ").append(column.name);
  return text;
}

std::string BulkRows::parameters() const {
  std::string text;
  for (const Column& column : columns_) text.append(text.empty() ? ":" : ", :").append(column.name);
  return text;
}

std::string BulkRows::as_table(const std::string& prefix) const {
  std::string arrays;
  for (const Column& column : columns_) {
    arrays.append(arrays.empty() ? "cast(:" : ", cast(:").append(prefix).append(column.name);
    arrays += column.type == Type::integer ? " as bigint[])" : " as text[])";
  }
  return "unnest(" + arrays + ") AS row_given (" + names() + ")";
}

std::int64_t BulkRows::run(soci::session& session, const std::string& row_statement,
                           const std::string& table_statement) {
  std::int64_t touched = 0;
  if (rows_ == 0) return touched;
  if (dialect_ == Dialect::sqlite) {
    run_row_by_row(session, row_statement, touched);
  } else {
    soci::statement statement(session);
    bind_arrays(statement, "");
    statement.alloc();
    statement.prepare(table_statement);
    statement.define_and_bind();
    statement.execute(true);
    touched = statement.get_affected_rows();
  }
  clear();
  return touched;
}

std::vector<std::int64_t> BulkRows::run_touching(soci::session& session, const std::string& row_statement,
                                                 const std::string& table_statement) {
  std::vector<std::int64_t> keys;
  if (rows_ == 0) return keys;
  if (dialect_ == Dialect::sqlite) {
    std::int64_t touched = 0;
    keys = run_row_by_row(session, row_statement, touched);
  } else {
    long long key = 0;
    soci::statement statement(session);
    statement.exchange(soci::into(key));
    bind_arrays(statement, "");
    statement.alloc();
    statement.prepare(table_statement);
    statement.define_and_bind();
    each_row(statement, [&] { keys.push_back(key); });
  }
  clear();
  return keys;
}

void BulkRows::bind_arrays(soci::statement& statement, const std::string& prefix) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    arrays_[i] += '}';
    statement.exchange(soci::use(arrays_[i], prefix + std::string(columns_[i].name)));
  }
}

std::vector<std::int64_t> BulkRows::run_row_by_row(soci::session& session, const std::string& text,
                                                   std::int64_t& touched) {
  std::vector<Value> current(columns_.size());
  soci::statement statement(session);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string name(columns_[i].name);
    if (columns_[i].type == Type::integer) {
      statement.exchange(soci::use(current[i].integer, current[i].indicator, name));
    } else {
      statement.exchange(soci::use(current[i].text, current[i].indicator, name));
    }
  }
  statement.alloc();
  statement.prepare(text);
  statement.define_and_bind();
  std::vector<std::int64_t> keys;
  for (std::vector<Value>& row : table_rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      current[i].indicator = row[i].indicator;
      current[i].integer = row[i].integer;
      current[i].text.swap(row[i].text);
    }
    statement.execute(true);
    const std::int64_t rows = statement.get_affected_rows();
    touched += rows;
    if (rows > 0) keys.push_back(current.front().integer);
  }
  return keys;
}

void BulkRows::clear() {
  rows_ = 0;
  table_rows_.clear();
  for (std::string& array : arrays_) array.clear();
}

}  // namespace giftsync::schema::sql
