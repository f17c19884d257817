#include "crm/sql/managed/csv_table.h"

#include <algorithm>
#include <set>

#include "crm/sql/managed/typed_value.h"
#include "schema/ids.h"

namespace giftsync::crm::managed {
namespace {

bool has_values(soci::session& session, const std::string& table, const std::string& column) {
  long long found = 0;
  soci::statement statement = sql::bound(session,
                                         "SELECT CASE WHEN EXISTS (SELECT 1 FROM " + table + " WHERE " +
                                             crm::sql_crm::quoted(column) + " IS NOT NULL) THEN 1 ELSE 0 END",
                                         soci::into(found));
  sql::each_row(statement, [] {});
  return found != 0;
}

/// Whether the column takes its type from the values of this import.
bool takes_type(soci::session& session, const std::string& table, const NewColumn& column,
                const crm::sql_crm::Column& present) {
  return column.custom && column.type != crm::sql_crm::ColumnType::text &&
         present.type == crm::sql_crm::ColumnType::text && !has_values(session, table, column.name);
}

/// Returns the columns that stay text.
std::vector<std::string> apply_column_types(soci::session& session, const std::string& table,
                                            const std::vector<crm::sql_crm::Column>& columns,
                                            const std::vector<NewColumn>& wanted) {
  std::vector<std::string> kept_as_text;
  for (const NewColumn& column : wanted) {
    const crm::sql_crm::Column* present = crm::sql_crm::find_column(columns, column.name);
    if (!present) {
      add_column(session, table, column.name, column.type);
    } else if (takes_type(session, table, column, *present)) {
      if (!change_type(session, table, column.name, column.type)) kept_as_text.push_back(column.name);
    }
  }
  return kept_as_text;
}

/// Whether the columns are still as the rows were read for.
bool have_same_types(const std::vector<crm::sql_crm::Column>& columns,
                     const std::vector<crm::sql_crm::Column>& now) {
  return std::all_of(columns.begin(), columns.end(), [&](const crm::sql_crm::Column& column) {
    const crm::sql_crm::Column* present = crm::sql_crm::find_column(now, column.name);
    return present && present->sql_type == column.sql_type;
  });
}

/// Those of the ids, in both of their forms, that have a row.
std::set<std::string> present_ids(soci::session& session, const std::string& table,
                                  const std::vector<std::string>& ids) {
  const std::string list = sql::list_of(session, crm_id_forms(ids));
  std::set<std::string> present;
  std::string id;
  soci::statement statement =
      sql::bound(session, "SELECT id FROM " + table + " WHERE " + sql::in_list(session, "id", "ids", true),
                 soci::into(id), soci::use(list));
  sql::each_row(statement, [&] { present.insert(id); });
  return present;
}

/// The Id under which the row is there; empty when it is not.
std::string id_in(const std::set<std::string>& present, const std::string& id) {
  if (present.contains(id)) return id;
  const std::string short_id = short_crm_id(id);
  return present.contains(short_id) ? short_id : "";
}

/// A row that is there under both forms of its Id is kept under the long form.
void lengthen_ids(soci::session& session, const std::string& table, const std::set<std::string>& present) {
  for (const std::string& short_id : present) {
    const std::string long_id = long_crm_id(short_id);
    if (long_id == short_id) continue;
    if (present.contains(long_id))
      session << "DELETE FROM " + table + " WHERE id = :short_id", soci::use(short_id);
    else
      session << "UPDATE " + table + " SET id = :long_id WHERE id = :short_id", soci::use(long_id),
          soci::use(short_id);
  }
}

/// " ON CONFLICT ...": only rows that would differ are written.
std::string conflict_clause(const std::string& table, const std::vector<crm::sql_crm::Column>& columns) {
  std::string assignments;
  std::string differences;
  for (const crm::sql_crm::Column& column : columns) {
    if (column.name == "id") continue;
    const std::string name = crm::sql_crm::quoted(column.name);
    assignments += (assignments.empty() ? "" : ", ") + name + " = excluded." + name;
    differences +=
        (differences.empty() ? "" : " OR ") + table + "." + name + " IS DISTINCT FROM excluded." + name;
  }
  if (assignments.empty()) return " ON CONFLICT (id) DO NOTHING";
  return " ON CONFLICT (id) DO UPDATE SET " + assignments + " WHERE " + differences;
}

std::string upsert_statement(sql::Dialect dialect, const std::string& table,
                             const std::vector<crm::sql_crm::Column>& columns, const std::string& given) {
  std::string names;
  std::string values;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string comma = i == 0 ? "" : ", ";
    const std::string cell = "c" + std::to_string(i);
    names += comma + crm::sql_crm::quoted(columns[i].name);
    // SQLite turns the text into the column's type by itself.
    values += comma +
              (dialect == sql::Dialect::sqlite ? cell : "cast(" + cell + " as " + columns[i].sql_type + ")");
  }
  // WHERE true: without it SQLite parses ON as part of a join.
  return "INSERT INTO " + table + " (" + names + ") SELECT " + values + " FROM " + given + " WHERE true" +
         conflict_clause(table, columns);
}

/// Counts the rows' ids that are present, and the present rows that would change. A column that the table
/// lacks, or has of another type, has no values.
std::string plan_statement(sql::Dialect dialect, const std::string& table,
                           const std::vector<crm::sql_crm::Column>& columns, std::size_t id_index,
                           const std::vector<crm::sql_crm::Column>& now, const std::string& given) {
  const auto cell = [&](std::size_t i) { return "c" + std::to_string(i); };
  const auto typed = [&](std::size_t i) {
    return dialect == sql::Dialect::sqlite ? cell(i) : "cast(" + cell(i) + " as " + columns[i].sql_type + ")";
  };
  std::string differences;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i == id_index) continue;
    const crm::sql_crm::Column* present = crm::sql_crm::find_column(now, columns[i].name);
    differences += (differences.empty() ? "" : " OR ") +
                   (present && present->sql_type == columns[i].sql_type
                        ? "t." + crm::sql_crm::quoted(columns[i].name) + " IS DISTINCT FROM " + typed(i)
                        : cell(i) + " IS NOT NULL");
  }
  return "SELECT count(*), coalesce(sum(CASE WHEN " + (differences.empty() ? "false" : differences) +
         " THEN 1 ELSE 0 END), 0) FROM " + given + " JOIN " + table + " t ON t.id = " + cell(id_index);
}

std::size_t run_upsert(soci::session& session, const std::string& query, crm::sql_crm::TextRows& given) {
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
    const std::vector<crm::sql_crm::Column> columns = crm::sql_crm::columns_of(session, table);
    if (columns.empty()) {
      throw DependencyError(false, "the database has no table " + table + "; run giftsyncctl db migrate");
    }
    lock_for_import(session);
    ResolvedColumns resolved;
    resolved.kept_as_text =
        apply_column_types(session, table, crm::sql_crm::columns_of(session, table), wanted);
    resolved.all = crm::sql_crm::columns_of(session, table);
    return resolved;
  });
}

std::optional<UpsertCounts> upsert_rows(sql::Database& database, const std::string& table,
                                        const std::vector<crm::sql_crm::Column>& columns,
                                        std::size_t id_index,
                                        const std::vector<crm::sql_crm::TextRows::Row>& rows) {
  // All texts are built before the transaction begins, because other writers wait for its lock.
  const sql::Dialect dialect = database.dialect();
  crm::sql_crm::TextRows given(dialect, columns.size());
  std::vector<std::string> ids;
  for (const crm::sql_crm::TextRows::Row& row : rows) {
    given.add(row);
    ids.push_back(row[id_index].value());
  }
  const std::string query = upsert_statement(dialect, table, columns, given.as_table());
  return database.write([&](soci::session& session) -> std::optional<UpsertCounts> {
    lock_for_import(session);
    if (!have_same_types(columns, crm::sql_crm::columns_of(session, table))) return std::nullopt;
    const std::set<std::string> known = present_ids(session, table, ids);
    lengthen_ids(session, table, known);
    const auto present = static_cast<std::size_t>(
        std::count_if(ids.begin(), ids.end(), [&](const auto& id) { return !id_in(known, id).empty(); }));
    const std::size_t written = run_upsert(session, query, given);
    UpsertCounts counts;
    counts.inserted = rows.size() - present;
    counts.updated = written - counts.inserted;
    counts.unchanged = present - counts.updated;
    return counts;
  });
}

ResolvedColumns plan_columns(sql::Database& database, const std::string& table,
                             const std::vector<NewColumn>& wanted) {
  return database.read([&](soci::session& session) {
    ResolvedColumns resolved;
    resolved.all = crm::sql_crm::columns_of(session, table);
    for (const NewColumn& column : wanted) {
      const std::string type(sql_type_name(column.type));
      const crm::sql_crm::Column* present = crm::sql_crm::find_column(resolved.all, column.name);
      if (!present) {
        resolved.all.push_back({column.name, column.type, type});
      } else if (takes_type(session, table, column, *present)) {
        resolved.all[static_cast<std::size_t>(present - resolved.all.data())] = {present->name, column.type,
                                                                                 type};
      }
    }
    return resolved;
  });
}

std::vector<std::string> columns_without_values(sql::Database& database, const std::string& table,
                                                const std::vector<std::string>& columns) {
  return database.read([&](soci::session& session) {
    const std::vector<crm::sql_crm::Column> present = crm::sql_crm::columns_of(session, table);
    std::vector<std::string> without;
    for (const std::string& column : columns) {
      if (!crm::sql_crm::find_column(present, column) || !has_values(session, table, column))
        without.push_back(column);
    }
    return without;
  });
}

std::size_t delete_rows(sql::Database& database, const std::string& table,
                        const std::vector<std::string>& ids, bool only_count) {
  if (only_count)
    return database.read([&](soci::session& session) { return present_ids(session, table, ids).size(); });
  return database.write([&](soci::session& session) {
    lock_for_import(session);
    const std::set<std::string> present = present_ids(session, table, ids);
    const std::string list = sql::list_of(session, present);
    session << "DELETE FROM " + table + " WHERE " + sql::in_list(session, "id", "ids", true), soci::use(list);
    return present.size();
  });
}

UpsertCounts plan_rows(sql::Database& database, const std::string& table,
                       const std::vector<crm::sql_crm::Column>& columns, std::size_t id_index,
                       const std::vector<crm::sql_crm::TextRows::Row>& rows) {
  std::vector<std::string> ids;
  for (const crm::sql_crm::TextRows::Row& row : rows) ids.push_back(row[id_index].value());
  return database.read([&](soci::session& session) {
    const std::set<std::string> known = present_ids(session, table, ids);
    crm::sql_crm::TextRows given(session, columns.size());
    for (crm::sql_crm::TextRows::Row row : rows) {
      if (const std::string id = id_in(known, row[id_index].value()); !id.empty()) row[id_index] = id;
      given.add(row);
    }
    const std::string query = plan_statement(session, table, columns, id_index,
                                             crm::sql_crm::columns_of(session, table), given.as_table());
    long long present = 0;
    long long changed = 0;
    soci::statement statement(session);
    statement.exchange(soci::into(present));
    statement.exchange(soci::into(changed));
    given.bind(statement);
    statement.alloc();
    statement.prepare(query, sql::kRunOnce);
    statement.define_and_bind();
    sql::each_row(statement, [] {});
    UpsertCounts counts;
    counts.inserted = rows.size() - static_cast<std::size_t>(present);
    counts.updated = static_cast<std::size_t>(changed);
    counts.unchanged = static_cast<std::size_t>(present - changed);
    return counts;
  });
}

}  // namespace giftsync::crm::managed
