#include "schema/crm/managed/csv_table.h"

#include <soci/postgresql/soci-postgresql.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include <algorithm>

namespace giftsync::schema::crm::managed {
namespace {

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

/// One import at a time adds columns and counts rows.
void lock_for_import(soci::session& session, sql::Dialect dialect) {
  if (dialect != sql::Dialect::postgresql) return;  // SQLite: BEGIN IMMEDIATE has done it
  session << "SET LOCAL lock_timeout TO 0";         // another import may take long
  session << "LOCK TABLE crm_meta IN SHARE ROW EXCLUSIVE MODE";
}

void add_column(soci::session& session, const std::string& table, const NewColumn& column) {
  session << "ALTER TABLE " + table + " ADD COLUMN " + sql_common::quoted(column.name) + " " +
                 std::string(sql_type_name(column.type));
}

bool has_values(soci::session& session, const std::string& table, const std::string& column) {
  long long found = 0;
  soci::statement statement = sql::bound(session,
                                         "SELECT CASE WHEN EXISTS (SELECT 1 FROM " + table + " WHERE " +
                                             sql_common::quoted(column) + " IS NOT NULL) THEN 1 ELSE 0 END",
                                         soci::into(found));
  sql::each_row(statement, [] {});
  return found != 0;
}

/// Something of the database that depends on the column, and no fault of this moment, such as a deadlock.
bool blocks_type_change(const soci::soci_error& error) {
  if (const auto* sqlite = dynamic_cast<const soci::sqlite3_soci_error*>(&error))
    return (sqlite->result() & 0xff) == SQLITE_ERROR;
  const auto* postgresql = dynamic_cast<const soci::postgresql_soci_error*>(&error);
  const std::string state = postgresql ? postgresql->sqlstate() : "";
  // Not supported (a view, a generated column), dependent objects, a wrong definition (an index, a default).
  return state.starts_with("0A") || state.starts_with("2B") || state.starts_with("42");
}

/// Converts a column without values to its type. An admin's own index or view may prevent it: then it stays
/// text, and the result is false.
bool change_type(soci::session& session, sql::Dialect dialect, const std::string& table,
                 const NewColumn& column) {
  session << "SAVEPOINT column_type";
  bool is_done = true;
  try {
    if (dialect == sql::Dialect::sqlite) {
      // SQLite has no other way.
      session << "ALTER TABLE " + table + " DROP COLUMN " + sql_common::quoted(column.name);
      add_column(session, table, column);
    } else {
      const std::string type(sql_type_name(column.type));
      session << "ALTER TABLE " + table + " ALTER COLUMN " + sql_common::quoted(column.name) + " TYPE " +
                     type + " USING cast(" + sql_common::quoted(column.name) + " as " + type + ")";
    }
  } catch (const soci::soci_error& error) {
    if (!blocks_type_change(error)) throw;
    session << "ROLLBACK TO SAVEPOINT column_type";
    is_done = false;
  }
  session << "RELEASE SAVEPOINT column_type";
  return is_done;
}

/// Returns the columns that stay text.
std::vector<std::string> apply_column_types(soci::session& session, sql::Dialect dialect,
                                            const std::string& table,
                                            const std::vector<sql_common::Column>& columns,
                                            const std::vector<NewColumn>& wanted) {
  std::vector<std::string> kept_as_text;
  for (const NewColumn& column : wanted) {
    const sql_common::Column* present = sql_common::find_column(columns, column.name);
    if (!present) {
      add_column(session, table, column);
    } else if (column.custom && column.type != sql_common::ColumnType::text &&
               present->type == sql_common::ColumnType::text && !has_values(session, table, column.name)) {
      if (!change_type(session, dialect, table, column)) kept_as_text.push_back(column.name);
    }
  }
  return kept_as_text;
}

/// Whether the columns are still as the rows were read for.
bool have_same_types(const std::vector<sql_common::Column>& columns,
                     const std::vector<sql_common::Column>& now) {
  return std::all_of(columns.begin(), columns.end(), [&](const sql_common::Column& column) {
    const sql_common::Column* present = sql_common::find_column(now, column.name);
    return present && present->sql_type == column.sql_type;
  });
}

std::size_t count_present(soci::session& session, sql::Dialect dialect, const std::string& table,
                          const std::string& ids) {
  long long count = 0;
  soci::statement statement = sql::bound(
      session, "SELECT count(*) FROM " + table + " WHERE " + sql::in_list(dialect, "id", "ids", true),
      soci::into(count), soci::use(ids));
  sql::each_row(statement, [] {});
  return static_cast<std::size_t>(count);
}

/// " ON CONFLICT ...": only rows that would differ are written.
std::string conflict_clause(const std::string& table, const std::vector<sql_common::Column>& columns) {
  std::string assignments;
  std::string differences;
  for (const sql_common::Column& column : columns) {
    if (column.name == "id") continue;
    const std::string name = sql_common::quoted(column.name);
    assignments += (assignments.empty() ? "" : ", ") + name + " = excluded." + name;
    differences +=
        (differences.empty() ? "" : " OR ") + table + "." + name + " IS DISTINCT FROM excluded." + name;
  }
  if (assignments.empty()) return " ON CONFLICT (id) DO NOTHING";
  return " ON CONFLICT (id) DO UPDATE SET " + assignments + " WHERE " + differences;
}

std::string upsert_statement(sql::Dialect dialect, const std::string& table,
                             const std::vector<sql_common::Column>& columns, const std::string& given) {
  std::string names;
  std::string values;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string comma = i == 0 ? "" : ", ";
    const std::string cell = "c" + std::to_string(i);
    names += comma + sql_common::quoted(columns[i].name);
    // SQLite turns the text into the column's type by itself.
    values += comma +
              (dialect == sql::Dialect::sqlite ? cell : "cast(" + cell + " as " + columns[i].sql_type + ")");
  }
  // WHERE true: without it SQLite parses ON as part of a join.
  return "INSERT INTO " + table + " (" + names + ") SELECT " + values + " FROM " + given + " WHERE true" +
         conflict_clause(table, columns);
}

std::size_t run_upsert(soci::session& session, const std::string& query, sql_common::TextRows& given) {
  soci::statement statement(session);
  given.bind(statement);
  statement.alloc();
  statement.prepare(query, sql::kRunOnce);
  statement.define_and_bind();
  statement.execute(true);
  return static_cast<std::size_t>(statement.get_affected_rows());
}

}  // namespace

ResolvedColumns ensure_columns(sql::Database& database, const std::string& table,
                               const std::vector<NewColumn>& wanted) {
  return database.write([&](soci::session& session) {
    const std::vector<sql_common::Column> columns =
        sql_common::columns_of(session, database.dialect(), table);
    if (columns.empty()) {
      throw platform::DependencyError(false,
                                      "the database has no table " + table + "; run giftsyncctl db migrate");
    }
    lock_for_import(session, database.dialect());
    ResolvedColumns resolved;
    resolved.kept_as_text =
        apply_column_types(session, database.dialect(), table,
                           sql_common::columns_of(session, database.dialect(), table), wanted);
    resolved.all = sql_common::columns_of(session, database.dialect(), table);
    return resolved;
  });
}

std::optional<UpsertCounts> upsert_rows(sql::Database& database, const std::string& table,
                                        const std::vector<sql_common::Column>& columns, std::size_t id_index,
                                        const std::vector<sql_common::TextRows::Row>& rows) {
  // All texts are built before the transaction begins, because other writers wait for its lock.
  const sql::Dialect dialect = database.dialect();
  sql_common::TextRows given(dialect, columns.size());
  std::vector<std::string> ids;
  for (const sql_common::TextRows::Row& row : rows) {
    given.add(row);
    ids.push_back(row[id_index].value());
  }
  const std::string id_list = sql::list_of(dialect, ids);
  const std::string query = upsert_statement(dialect, table, columns, given.as_table());
  return database.write([&](soci::session& session) -> std::optional<UpsertCounts> {
    lock_for_import(session, dialect);
    if (!have_same_types(columns, sql_common::columns_of(session, dialect, table))) return std::nullopt;
    const std::size_t present = count_present(session, dialect, table, id_list);
    const std::size_t written = run_upsert(session, query, given);
    UpsertCounts counts;
    counts.inserted = rows.size() - present;
    counts.updated = written - counts.inserted;
    counts.unchanged = present - counts.updated;
    return counts;
  });
}

}  // namespace giftsync::schema::crm::managed
