#include "crm/sql/managed/typed_value.h"

#include <soci/postgresql/soci-postgresql.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include <algorithm>
#include <map>

#include "crm/number_text.h"
#include "crm/sql/table_rows.h"
#include "platform/text.h"
#include "platform/time.h"

namespace giftsync::crm::managed {
namespace {

bool is_date(std::string_view text) {
  return text.size() == 10 && from_rfc3339(std::string(text) + "T00:00:00Z").has_value();
}

std::optional<UtcMillis> time_of(std::string_view text) {
  return is_date(text) ? from_rfc3339(std::string(text) + "T00:00:00Z") : from_iso8601(text);
}

std::optional<std::string> normalize_checkbox(std::string_view text, sql::Dialect dialect) {
  const std::string lower = ascii_lower(text);
  if (lower != "true" && lower != "false" && lower != "1" && lower != "0") return std::nullopt;
  const bool checked = lower == "true" || lower == "1";
  if (dialect == sql::Dialect::sqlite) return checked ? "1" : "0";
  return checked ? "true" : "false";
}

}  // namespace

std::optional<std::string> normalize_cell(std::string_view cell, crm::sql_crm::ColumnType type,
                                          sql::Dialect dialect) {
  if (type == crm::sql_crm::ColumnType::text) return std::string(cell);
  cell = trimmed(cell);
  if (type == crm::sql_crm::ColumnType::checkbox) return normalize_checkbox(cell, dialect);
  if (type == crm::sql_crm::ColumnType::date_time) {
    const std::optional<UtcMillis> time = time_of(cell);
    return time ? std::optional(to_rfc3339(*time)) : std::nullopt;
  }
  if (type == crm::sql_crm::ColumnType::number) return normalize_number(cell);
  return is_date(cell) ? std::optional(std::string(cell)) : std::nullopt;
}

std::string_view expected_format(crm::sql_crm::ColumnType type) {
  switch (type) {
    case crm::sql_crm::ColumnType::number:
      return "a number such as 80000.50";
    case crm::sql_crm::ColumnType::date:
      return "a date such as 2026-11-21";
    case crm::sql_crm::ColumnType::date_time:
      return "a time such as 2026-11-21T12:31:07Z";
    case crm::sql_crm::ColumnType::checkbox:
      return "true or false";
    case crm::sql_crm::ColumnType::text:
      break;
  }
  return "text";
}

namespace {

std::size_t index_of(crm::sql_crm::ColumnType type) {
  return static_cast<std::size_t>(type);
}

/// Numbers, dates and times begin so.
bool may_have_type(std::string_view cell) {
  return cell.front() == '-' || (cell.front() >= '0' && cell.front() <= '9');
}

bool suits(std::string_view cell, crm::sql_crm::ColumnType type) {
  if (!may_have_type(cell)) return false;
  if (type == crm::sql_crm::ColumnType::number) return normalize_number(cell).has_value();
  return type == crm::sql_crm::ColumnType::date ? is_date(cell) : time_of(cell).has_value();
}

}  // namespace

void TypeDetector::add(std::string_view cell, std::size_t line, std::string_view id) {
  cell = trimmed(cell);
  if (cell.empty()) return;
  ++values_;
  for (const crm::sql_crm::ColumnType type : kTypes) {
    Counted& counted = counted_[index_of(type)];
    if (suits(cell, type))
      ++counted.values;
    else if (!counted.other)
      counted.other = OtherValue{type, line, std::string(id), std::string(cell)};
  }
}

void TypeDetector::merge(const TypeDetector& more) {
  values_ += more.values_;
  for (const crm::sql_crm::ColumnType type : kTypes) {
    Counted& counted = counted_[index_of(type)];
    counted.values += more.counted_[index_of(type)].values;
    if (!counted.other) counted.other = more.counted_[index_of(type)].other;
  }
}

crm::sql_crm::ColumnType TypeDetector::type() const {
  if (values_ == 0) return crm::sql_crm::ColumnType::text;
  const auto found = std::find_if(kTypes.begin(), kTypes.end(), [&](crm::sql_crm::ColumnType type) {
    return counted_[index_of(type)].values == values_;
  });
  return found == kTypes.end() ? crm::sql_crm::ColumnType::text : *found;
}

std::optional<OtherValue> TypeDetector::text_cause() const {
  if (type() != crm::sql_crm::ColumnType::text) return std::nullopt;
  const auto most = std::max_element(kTypes.begin(), kTypes.end(),
                                     [&](crm::sql_crm::ColumnType a, crm::sql_crm::ColumnType b) {
                                       return counted_[index_of(a)].values < counted_[index_of(b)].values;
                                     });
  const Counted& counted = counted_[index_of(*most)];
  if (counted.values == 0 || counted.values * 2 < values_) return std::nullopt;
  return counted.other;
}

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
                    crm::sql_crm::ColumnType type) {
  const std::string old = crm::sql_crm::quoted(column);
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
  const std::string name = crm::sql_crm::quoted(column);
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

void replace_values(soci::session& session, const std::string& table, const std::string& column,
                    const Spellings& stored_by_value) {
  if (stored_by_value.empty()) return;
  crm::sql_crm::TextRows given(session, 2);
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
void normalize_spellings(soci::session& session, const std::string& table, const std::string& column,
                         crm::sql_crm::ColumnType type) {
  const std::string name = crm::sql_crm::quoted(column);
  std::string after;
  std::size_t rows = 0;
  do {
    Spellings changes;
    rows = read_page(session, table, column, after, [&](const std::string&, const std::string& value) {
      const bool is_blank = trimmed(value).empty();
      const auto stored = is_blank ? std::optional(std::string()) : normalize_cell(value, type, session);
      if (stored && *stored != value) changes.emplace(value, *stored);
    });
    replace_values(session, table, name, changes);
  } while (rows == kPageRows);
  session << "UPDATE " + table + " SET " + name + " = NULL WHERE " + name + " = ''";
}

}  // namespace

std::string_view sql_type_name(crm::sql_crm::ColumnType type) {
  switch (type) {
    case crm::sql_crm::ColumnType::number:
      return "NUMERIC";
    case crm::sql_crm::ColumnType::date:
      return "DATE";
    case crm::sql_crm::ColumnType::date_time:
      return "TIMESTAMPTZ";
    case crm::sql_crm::ColumnType::checkbox:
      return "BOOLEAN";
    case crm::sql_crm::ColumnType::text:
      break;
  }
  return "TEXT";
}

void lock_for_import(soci::session& session) {
  if (sql::Dialect(session) != sql::Dialect::postgresql) return;  // SQLite: BEGIN IMMEDIATE has done it
  session << "SET LOCAL lock_timeout TO 0";                       // another import may take long
  session << "LOCK TABLE crm_meta IN SHARE ROW EXCLUSIVE MODE";
}

void add_column(soci::session& session, const std::string& table, const std::string& name,
                crm::sql_crm::ColumnType type) {
  session << "ALTER TABLE " + table + " ADD COLUMN " + crm::sql_crm::quoted(name) + " " +
                 std::string(sql_type_name(type));
}

bool change_type(soci::session& session, const std::string& table, const std::string& column,
                 crm::sql_crm::ColumnType type) {
  session << "SAVEPOINT column_type";
  bool is_done = true;
  try {
    if (sql::Dialect(session) == sql::Dialect::sqlite) {
      replace_column(session, table, column, type);
    } else {
      const std::string name(sql_type_name(type));
      session << "ALTER TABLE " + table + " ALTER COLUMN " + crm::sql_crm::quoted(column) + " TYPE " + name +
                     " USING cast(" + crm::sql_crm::quoted(column) + " as " + name + ")";
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
    const bool is_plain_text = detector.type() == crm::sql_crm::ColumnType::text && !detector.text_cause();
    if (detector.has_values() && is_plain_text) break;
  }
  return detector;
}

TypeChangeOutcome change_type_of_values(sql::Database& database, const std::string& table,
                                        const std::string& column, crm::sql_crm::ColumnType type) {
  return database.write([&](soci::session& session) {
    lock_for_import(session);
    // No value of another type may come in between.
    if (sql::Dialect(session) == sql::Dialect::postgresql)
      session << "LOCK TABLE " + table + " IN ACCESS EXCLUSIVE MODE";
    const auto columns = crm::sql_crm::columns_of(session, table);
    const crm::sql_crm::Column* present = crm::sql_crm::find_column(columns, column);
    if (!present || present->type != crm::sql_crm::ColumnType::text ||
        detect_stored_type(session, table, column, [](const std::string&) { return false; }).type() != type)
      return TypeChangeOutcome::not_needed;
    session << "SAVEPOINT spellings";
    normalize_spellings(session, table, column, type);
    const bool is_done = change_type(session, table, column, type);
    if (!is_done) session << "ROLLBACK TO SAVEPOINT spellings";
    session << "RELEASE SAVEPOINT spellings";
    return is_done ? TypeChangeOutcome::done : TypeChangeOutcome::prevented;
  });
}

}  // namespace giftsync::crm::managed
