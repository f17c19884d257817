#include "schema/sql_crm/import_table.h"

#include <soci/postgresql/soci-postgresql.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include <algorithm>

namespace giftsync::schema::sql_crm {
namespace {

std::string_view new_column_type(ColumnType type) {
  switch (type) {
    case ColumnType::number:
      return "NUMERIC";
    case ColumnType::date:
      return "DATE";
    case ColumnType::date_time:
      return "TIMESTAMPTZ";
    case ColumnType::checkbox:
      return "BOOLEAN";
    case ColumnType::text:
      break;
  }
  return "TEXT";
}

/// One import at a time adds columns and counts rows.
void take_turns(soci::session& session, Dialect dialect) {
  if (dialect != Dialect::postgresql) return;  // SQLite: BEGIN IMMEDIATE has done it
  session << "SET LOCAL lock_timeout TO 0";    // however long the other one takes
  session << "LOCK TABLE crm_meta IN SHARE ROW EXCLUSIVE MODE";
}

void add_column(soci::session& session, const std::string& table, const NewColumn& column) {
  session << "ALTER TABLE " + table + " ADD COLUMN " + quoted(column.name) + " " +
                 std::string(new_column_type(column.type));
}

bool has_values(soci::session& session, const std::string& table, const std::string& column) {
  long long found = 0;
  soci::statement statement = sql::bound(session,
                                         "SELECT CASE WHEN EXISTS (SELECT 1 FROM " + table + " WHERE " +
                                             quoted(column) + " IS NOT NULL) THEN 1 ELSE 0 END",
                                         soci::into(found));
  sql::each_row(statement, [] {});
  return found != 0;
}

/// Something of the database that depends on the column, and no fault of this moment, such as a deadlock.
bool stands_in_the_way(const soci::soci_error& error) {
  if (const auto* sqlite = dynamic_cast<const soci::sqlite3_soci_error*>(&error))
    return (sqlite->result() & 0xff) == SQLITE_ERROR;
  const auto* postgresql = dynamic_cast<const soci::postgresql_soci_error*>(&error);
  const std::string state = postgresql ? postgresql->sqlstate() : "";
  // Not supported (a view, a generated column), dependent objects, a wrong definition (an index, a default).
  return state.starts_with("0A") || state.starts_with("2B") || state.starts_with("42");
}

/// Gives a column without a value its type. An admin's own index or view on it may stand in the way: then it
/// stays text, and the answer is false.
bool change_type(soci::session& session, Dialect dialect, const std::string& table, const NewColumn& column) {
  session << "SAVEPOINT column_type";
  bool is_done = true;
  try {
    if (dialect == Dialect::sqlite) {
      // It knows no other way.
      session << "ALTER TABLE " + table + " DROP COLUMN " + quoted(column.name);
      add_column(session, table, column);
    } else {
      const std::string type(new_column_type(column.type));
      session << "ALTER TABLE " + table + " ALTER COLUMN " + quoted(column.name) + " TYPE " + type +
                     " USING cast(" + quoted(column.name) + " as " + type + ")";
    }
  } catch (const soci::soci_error& error) {
    if (!stands_in_the_way(error)) throw;
    session << "ROLLBACK TO SAVEPOINT column_type";
    is_done = false;
  }
  session << "RELEASE SAVEPOINT column_type";
  return is_done;
}

/// Returns those that stay text.
std::vector<std::string> settle_types(soci::session& session, Dialect dialect, const std::string& table,
                                      const std::vector<Column>& columns,
                                      const std::vector<NewColumn>& wanted) {
  std::vector<std::string> kept_text;
  for (const NewColumn& column : wanted) {
    const Column* present = find_column(columns, column.name);
    if (!present) {
      add_column(session, table, column);
    } else if (column.custom && column.type != ColumnType::text && present->type == ColumnType::text &&
               !has_values(session, table, column.name)) {
      if (!change_type(session, dialect, table, column)) kept_text.push_back(column.name);
    }
  }
  return kept_text;
}

/// Whether the columns are still as the rows were read for.
bool are_as_before(const std::vector<Column>& columns, const std::vector<Column>& now) {
  return std::all_of(columns.begin(), columns.end(), [&](const Column& column) {
    const Column* present = find_column(now, column.name);
    return present && present->sql_type == column.sql_type;
  });
}

std::size_t count_present(soci::session& session, Dialect dialect, const std::string& table,
                          const std::string& ids) {
  long long count = 0;
  soci::statement statement = sql::bound(
      session, "SELECT count(*) FROM " + table + " WHERE " + sql::in_list(dialect, "id", "ids", true),
      soci::into(count), soci::use(ids));
  sql::each_row(statement, [] {});
  return static_cast<std::size_t>(count);
}

/// " ON CONFLICT ...": only rows that would differ are written.
std::string conflict_clause(const std::string& table, const std::vector<Column>& columns) {
  std::string assignments;
  std::string differences;
  for (const Column& column : columns) {
    if (column.name == "id") continue;
    const std::string name = quoted(column.name);
    assignments += (assignments.empty() ? "" : ", ") + name + " = excluded." + name;
    differences +=
        (differences.empty() ? "" : " OR ") + table + "." + name + " IS DISTINCT FROM excluded." + name;
  }
  if (assignments.empty()) return " ON CONFLICT (id) DO NOTHING";
  return " ON CONFLICT (id) DO UPDATE SET " + assignments + " WHERE " + differences;
}

std::string upsert_statement(Dialect dialect, const std::string& table, const std::vector<Column>& columns,
                             const std::string& given) {
  std::string names;
  std::string values;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string comma = i == 0 ? "" : ", ";
    const std::string cell = "c" + std::to_string(i);
    names += comma + quoted(columns[i].name);
    // SQLite turns the text into the column's type by itself.
    values +=
        comma + (dialect == Dialect::sqlite ? cell : "cast(" + cell + " as " + columns[i].sql_type + ")");
  }
  // WHERE true: without it SQLite takes ON for a join's.
  return "INSERT INTO " + table + " (" + names + ") SELECT " + values + " FROM " + given + " WHERE true" +
         conflict_clause(table, columns);
}

std::size_t run_upsert(soci::session& session, const std::string& query, TextRows& given) {
  soci::statement statement(session);
  given.bind(statement);
  statement.alloc();
  statement.prepare(query, sql::kRunOnce);
  statement.define_and_bind();
  statement.execute(true);
  return static_cast<std::size_t>(statement.get_affected_rows());
}

}  // namespace

SettledColumns with_columns(sql::Database& database, const std::string& table,
                            const std::vector<NewColumn>& wanted) {
  return database.write([&](soci::session& session) {
    const std::vector<Column> columns = columns_of(session, database.dialect(), table);
    if (columns.empty()) {
      throw BrokenWorld(false, "the database has no table " + table + "; run giftsyncctl db migrate");
    }
    take_turns(session, database.dialect());
    SettledColumns settled;
    settled.kept_text = settle_types(session, database.dialect(), table,
                                     columns_of(session, database.dialect(), table), wanted);
    settled.all = columns_of(session, database.dialect(), table);
    return settled;
  });
}

std::optional<UpsertCounts> upsert_rows(sql::Database& database, const std::string& table,
                                        const std::vector<Column>& columns, std::size_t id_at,
                                        const std::vector<TextRows::Row>& rows) {
  // All texts are made before the transaction begins: others wait for its lock.
  const Dialect dialect = database.dialect();
  TextRows given(dialect, columns.size());
  std::vector<std::string> ids;
  for (const TextRows::Row& row : rows) {
    given.add(row);
    ids.push_back(row[id_at].value());
  }
  const std::string id_list = sql::list_of(dialect, ids);
  const std::string query = upsert_statement(dialect, table, columns, given.as_table());
  return database.write([&](soci::session& session) -> std::optional<UpsertCounts> {
    take_turns(session, dialect);
    if (!are_as_before(columns, columns_of(session, dialect, table))) return std::nullopt;
    const std::size_t present = count_present(session, dialect, table, id_list);
    const std::size_t written = run_upsert(session, query, given);
    UpsertCounts counts;
    counts.inserted = rows.size() - present;
    counts.updated = written - counts.inserted;
    counts.unchanged = present - counts.updated;
    return counts;
  });
}

}  // namespace giftsync::schema::sql_crm
