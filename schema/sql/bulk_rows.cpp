#include "schema/sql/bulk_rows.h"

#include <cstdlib>

#include "schema/sql/session.h"

namespace giftsync::sql {

using namespace sqlite_api;  // SOCI's namespace for the declarations of sqlite3.h

namespace {

/// A statement cached with its SQLite connection, while rows are run through it.
class PreparedStatement {
 public:
  PreparedStatement(soci::session& session, const std::string& text)
      : statement_(Session::of(session).prepared_statement(text)) {}
  ~PreparedStatement() {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);  // the bound texts are destroyed before the statement
  }
  PreparedStatement(const PreparedStatement&) = delete;
  PreparedStatement& operator=(const PreparedStatement&) = delete;

  /// 0 when the statement does not name it; binding there does nothing.
  int index_of(std::string_view name) const {
    return sqlite3_bind_parameter_index(statement_, (":" + std::string(name)).c_str());
  }
  void bind(int index, std::int64_t value) {
    if (index != 0) check(sqlite3_bind_int64(statement_, index, value));
  }
  /// The text must outlive the run.
  void bind(int index, std::string_view value) {
    if (index != 0)
      check(sqlite3_bind_text64(statement_, index, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8));
  }
  void bind_null(int index) {
    if (index != 0) check(sqlite3_bind_null(statement_, index));
  }

  /// Returns how many rows it touched.
  std::int64_t run() {
    int result = sqlite3_step(statement_);
    while (result == SQLITE_ROW) result = sqlite3_step(statement_);
    if (result != SQLITE_DONE) check(result);
    const std::int64_t touched = sqlite3_changes64(sqlite3_db_handle(statement_));
    sqlite3_reset(statement_);
    return touched;
  }

 private:
  void check(int result) const {
    if (result != SQLITE_OK) throw_sqlite_error(sqlite3_db_handle(statement_), result);
  }

  sqlite3_stmt* const statement_;
};

}  // namespace

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
  for (const Cell& cell : cells) {
    if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
      values_.push_back({Value::Kind::integer, *integer, 0});
    } else if (const auto* text = std::get_if<std::string_view>(&cell)) {
      values_.push_back({Value::Kind::text, static_cast<std::int64_t>(texts_.size()), text->size()});
      texts_ += *text;
    } else {
      values_.push_back({Value::Kind::absent, 0, 0});
    }
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
  return "unnest(" + arrays + ") AS input_row (" + names() + ")";
}

std::int64_t BulkRows::run(soci::session& session, const std::string& row_statement,
                           const std::string& table_statement) {
  std::int64_t touched = 0;
  if (rows_ == 0) return touched;
  if (dialect_ == Dialect::sqlite) {
    run_row_by_row(session, row_statement, [&](const Value&, std::int64_t count) { touched += count; });
  } else {
    soci::statement statement(session);
    bind_arrays(statement, "");
    statement.alloc();
    statement.prepare(table_statement, kRunOnce);
    statement.define_and_bind();
    statement.execute(true);
    touched = statement.get_affected_rows();
  }
  clear();
  return touched;
}

std::vector<std::int64_t> BulkRows::run_returning_keys(soci::session& session,
                                                       const std::string& row_statement,
                                                       const std::string& table_statement) {
  std::vector<std::int64_t> keys;
  if (rows_ == 0) return keys;
  if (dialect_ == Dialect::sqlite) {
    run_row_by_row(session, row_statement, [&](const Value& first, std::int64_t count) {
      if (count > 0) keys.push_back(first.integer_or_offset);
    });
  } else {
    long long key = 0;
    soci::statement statement(session);
    statement.exchange(soci::into(key));
    bind_arrays(statement, "");
    statement.alloc();
    statement.prepare(table_statement, kRunOnce);
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

/// Calls `touched` for each row with its first cell and the number of database rows changed.
template <class Touched>
void BulkRows::run_row_by_row(soci::session& session, const std::string& text, Touched&& touched) {
  PreparedStatement statement(session, text);
  std::vector<int> indexes;
  for (const Column& column : columns_) indexes.push_back(statement.index_of(column.name));
  for (std::size_t at = 0; at < values_.size(); at += columns_.size()) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Value& value = values_[at + i];
      if (value.kind == Value::Kind::integer) {
        statement.bind(indexes[i], value.integer_or_offset);
      } else if (value.kind == Value::Kind::text) {
        statement.bind(indexes[i], std::string_view(texts_).substr(
                                       static_cast<std::size_t>(value.integer_or_offset), value.length));
      } else {
        statement.bind_null(indexes[i]);
      }
    }
    touched(values_[at], statement.run());
  }
}

void BulkRows::clear() {
  rows_ = 0;
  values_.clear();
  texts_.clear();
  for (std::string& array : arrays_) array.clear();
}

BulkInsert::BulkInsert(Dialect dialect, std::string_view table, std::vector<Column> columns,
                       std::string_view suffix)
    : rows_(dialect, columns), table_(table), key_(columns.front().name), suffix_(suffix) {}

std::string BulkInsert::row_statement() const {
  return "INSERT INTO " + table_ + " (" + rows_.names() + ") VALUES (" + rows_.parameters() + ") " + suffix_;
}

std::string BulkInsert::table_statement(const std::string& prefix) const {
  return "INSERT INTO " + table_ + " (" + rows_.names() + ") SELECT " + rows_.names() + " FROM " +
         rows_.as_table(prefix) + " " + suffix_;
}

std::int64_t BulkInsert::run(soci::session& session) {
  return rows_.run(session, row_statement(), table_statement());
}

std::vector<std::int64_t> BulkInsert::run_returning_keys(soci::session& session) {
  return rows_.run_returning_keys(session, row_statement(), table_statement() + " RETURNING " + key_);
}

void BulkInsert::run_combined(soci::session& session, std::initializer_list<BulkInsert*> inserts) {
  if (Dialect(session) == Dialect::sqlite) {
    for (BulkInsert* insert : inserts) insert->run(session);
    return;
  }
  std::string text;
  soci::statement statement(session);
  std::size_t number = 0;
  for (BulkInsert* insert : inserts) {
    if (insert->empty()) continue;
    const std::string prefix = "t" + std::to_string(++number) + "_";
    text += (number == 1 ? "WITH " : ", ") + prefix + "rows AS (" + insert->table_statement(prefix) + ")";
    insert->rows_.bind_arrays(statement, prefix);
  }
  if (number == 0) return;
  statement.alloc();
  statement.prepare(text + " SELECT 1", kRunOnce);
  statement.define_and_bind();
  each_row(statement, [] {});
  for (BulkInsert* insert : inserts) insert->rows_.clear();
}

}  // namespace giftsync::sql
