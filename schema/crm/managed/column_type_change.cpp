#include "schema/crm/managed/column_type_change.h"

#include <soci/postgresql/soci-postgresql.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include <map>

#include "platform/text.h"
#include "schema/crm/sql_common/text_rows.h"

namespace giftsync::schema::crm::managed {
namespace {

constexpr std::size_t kPageRows = 20'000;
/// Beside the column while SQLite changes its type.
constexpr const char* kTemporaryColumn = "giftsync_type_change";

/// Something of the database that depends on the column, and no fault of this moment, such as a deadlock.
bool blocks_type_change(const soci::soci_error& error) {
  if (const auto* sqlite = dynamic_cast<const soci::sqlite3_soci_error*>(&error))
    return (sqlite->result() & 0xff) == SQLITE_ERROR;
  const auto* postgresql = dynamic_cast<const soci::postgresql_soci_error*>(&error);
  const std::string state = postgresql ? postgresql->sqlstate() : "";
  // Not supported (a view, a generated column), dependent objects, a wrong definition (an index, a default);
  // a missing right is none of these.
  if (state == "42501") return false;
  return state.starts_with("0A") || state.starts_with("2B") || state.starts_with("42");
}

/// SQLite changes no type: the values move to a new column of the type.
void replace_column(soci::session& session, const std::string& table, const std::string& column,
                    sql_common::ColumnType type) {
  const std::string old = sql_common::quoted(column);
  add_column(session, table, kTemporaryColumn, type);
  session << "UPDATE " + table + " SET " + kTemporaryColumn + " = " + old + " WHERE " + old + " IS NOT NULL";
  session << "ALTER TABLE " + table + " DROP COLUMN " + old;
  session << "ALTER TABLE " + table + " RENAME COLUMN " + kTemporaryColumn + " TO " + old;
}

/// Calls `each` with the id and value of a page's rows after `after`, which becomes the last id. Returns the
/// number of rows.
template <class Each>
std::size_t read_page(soci::session& session, const std::string& table, const std::string& column,
                      std::string& after, Each&& each) {
  const std::string name = sql_common::quoted(column);
  std::string id;
  std::string value;
  std::size_t rows = 0;
  soci::statement statement =
      sql::bound(session,
                 "SELECT id, " + name + " FROM " + table + " WHERE id > :after AND " + name +
                     " IS NOT NULL ORDER BY id LIMIT " + std::to_string(kPageRows),
                 soci::into(id), soci::into(value), soci::use(after));
  sql::each_row(statement, [&] {
    ++rows;
    each(id, value);
  });
  after = id;
  return rows;
}

using Spellings = std::map<std::string, std::string>;

void replace_values(soci::session& session, sql::Dialect dialect, const std::string& table,
                    const std::string& column, const Spellings& stored_by_value) {
  if (stored_by_value.empty()) return;
  sql_common::TextRows given(dialect, 2);
  for (const auto& [value, stored] : stored_by_value) given.add({value, stored});
  soci::statement statement(session);
  given.bind(statement);
  statement.alloc();
  statement.prepare("UPDATE " + table + " SET " + column + " = given.c1 FROM " + given.as_table() +
                        " WHERE " + table + "." + column + " = given.c0",
                    sql::kRunOnce);
  statement.define_and_bind();
  statement.execute(true);
}

/// Gives each value the text that a column of the type stores; a blank one becomes absent.
void normalize_spellings(soci::session& session, sql::Dialect dialect, const std::string& table,
                         const std::string& column, sql_common::ColumnType type) {
  const std::string name = sql_common::quoted(column);
  std::string after;
  std::size_t rows = 0;
  do {
    Spellings changes;
    rows = read_page(session, table, column, after, [&](const std::string&, const std::string& value) {
      const bool is_blank = platform::trimmed(value).empty();
      const auto stored = is_blank ? std::optional(std::string()) : normalize_cell(value, type, dialect);
      if (stored && *stored != value) changes.emplace(value, *stored);
    });
    replace_values(session, dialect, table, name, changes);
  } while (rows == kPageRows);
  session << "UPDATE " + table + " SET " + name + " = NULL WHERE " + name + " = ''";
}

}  // namespace

std::string_view sql_type_name(sql_common::ColumnType type) {
  switch (type) {
    case sql_common::ColumnType::number:
      return "NUMERIC";
    case sql_common::ColumnType::date:
      return "DATE";
    case sql_common::ColumnType::date_time:
      return "TIMESTAMPTZ";
    case sql_common::ColumnType::checkbox:
      return "BOOLEAN";
    case sql_common::ColumnType::text:
      break;
  }
  return "TEXT";
}

void lock_for_import(soci::session& session, sql::Dialect dialect) {
  if (dialect != sql::Dialect::postgresql) return;  // SQLite: BEGIN IMMEDIATE has done it
  session << "SET LOCAL lock_timeout TO 0";         // another import may take long
  session << "LOCK TABLE crm_meta IN SHARE ROW EXCLUSIVE MODE";
}

void add_column(soci::session& session, const std::string& table, const std::string& name,
                sql_common::ColumnType type) {
  session << "ALTER TABLE " + table + " ADD COLUMN " + sql_common::quoted(name) + " " +
                 std::string(sql_type_name(type));
}

bool change_type(soci::session& session, sql::Dialect dialect, const std::string& table,
                 const std::string& column, sql_common::ColumnType type) {
  session << "SAVEPOINT column_type";
  bool is_done = true;
  try {
    if (dialect == sql::Dialect::sqlite) {
      replace_column(session, table, column, type);
    } else {
      const std::string name(sql_type_name(type));
      session << "ALTER TABLE " + table + " ALTER COLUMN " + sql_common::quoted(column) + " TYPE " + name +
                     " USING cast(" + sql_common::quoted(column) + " as " + name + ")";
    }
  } catch (const soci::soci_error& error) {
    if (!blocks_type_change(error)) throw;
    session << "ROLLBACK TO SAVEPOINT column_type";
    is_done = false;
  }
  session << "RELEASE SAVEPOINT column_type";
  return is_done;
}

TypeDetector detect_stored_type(soci::session& session, const std::string& table, const std::string& column,
                                const std::function<bool(const std::string& id)>& skipped) {
  TypeDetector detector;
  std::string after;
  const auto add = [&](const std::string& id, const std::string& value) {
    if (!skipped(id)) detector.add(value, 0, id);
  };
  while (read_page(session, table, column, after, add) == kPageRows) {
    const bool is_plain_text = detector.type() == sql_common::ColumnType::text && !detector.text_cause();
    if (detector.has_values() && is_plain_text) break;
  }
  return detector;
}

TypeChangeOutcome change_type_of_values(sql::Database& database, const std::string& table,
                                        const std::string& column, sql_common::ColumnType type) {
  const sql::Dialect dialect = database.dialect();
  return database.write([&](soci::session& session) {
    lock_for_import(session, dialect);
    // No value of another type may come in between.
    if (dialect == sql::Dialect::postgresql) session << "LOCK TABLE " + table + " IN ACCESS EXCLUSIVE MODE";
    const auto columns = sql_common::columns_of(session, dialect, table);
    const sql_common::Column* present = sql_common::find_column(columns, column);
    if (!present || present->type != sql_common::ColumnType::text ||
        detect_stored_type(session, table, column, [](const std::string&) { return false; }).type() != type)
      return TypeChangeOutcome::not_needed;
    session << "SAVEPOINT spellings";
    normalize_spellings(session, dialect, table, column, type);
    const bool is_done = change_type(session, dialect, table, column, type);
    if (!is_done) session << "ROLLBACK TO SAVEPOINT spellings";
    session << "RELEASE SAVEPOINT spellings";
    return is_done ? TypeChangeOutcome::done : TypeChangeOutcome::prevented;
  });
}

}  // namespace giftsync::schema::crm::managed
