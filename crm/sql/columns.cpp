#include "crm/sql/columns.h"

#include <algorithm>
#include <array>

#include "platform/text.h"
#include "schema/ids.h"

namespace giftsync::crm::sql_crm {
namespace {

constexpr std::array<std::string_view, 6> kDeletionMarks{"true", "t", "1", "1.0", "yes", "y"};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

ColumnType type_of(std::string_view sql_type) {
  if (sql_type.starts_with("date") && !sql_type.starts_with("datetime")) return ColumnType::date;
  if (sql_type.starts_with("timestamp") || sql_type.starts_with("datetime")) return ColumnType::date_time;
  if (sql_type.starts_with("bool")) return ColumnType::checkbox;
  if (has(sql_type, "[]") || sql_type.starts_with("interval")) return ColumnType::text;
  for (const std::string_view number : {"int", "numeric", "decimal", "real", "double", "float"}) {
    if (has(sql_type, number)) return ColumnType::number;
  }
  return ColumnType::text;
}

/// Times written by plain SQL may have another form ("2026-11-21 12:31:07"); giftsync's own form is not
/// converted, because SQLite's parsing of milliseconds may lose one.
std::string sqlite_time_text(const std::string& expression) {
  return "CASE WHEN " + expression + " LIKE '____-__-__T__:__:__.___Z' THEN " + expression +
         " ELSE strftime('%Y-%m-%dT%H:%M:%fZ', " + expression + ") END";
}

}  // namespace

std::vector<Column> columns_of(soci::session& session, const std::string& table) {
  const std::string_view query =
      sql::Dialect(session) == sql::Dialect::sqlite
          ? "SELECT name, type, type FROM pragma_table_xinfo(:table) WHERE hidden <> 1 ORDER BY cid"
          : "SELECT cast(attname as text), format_type(atttypid, NULL), format_type(atttypid, atttypmod) "
            "FROM "
            "pg_attribute"
            " WHERE attrelid = to_regclass(:table) AND attnum > 0 AND NOT attisdropped ORDER BY attnum";
  std::vector<Column> columns;
  std::string name;
  std::string type;
  std::string sized;
  soci::statement statement =
      sql::bound(session, query, soci::into(name), soci::into(type), soci::into(sized), soci::use(table));
  sql::each_row(statement, [&] {
    const std::string lower = ascii_lower(type);
    columns.push_back({ascii_lower(name), type_of(lower), lower, sized});
  });
  return columns;
}

const Column* find_column(const std::vector<Column>& columns, std::string_view name) {
  const auto found =
      std::find_if(columns.begin(), columns.end(),
                   [lower = ascii_lower(name)](const Column& column) { return column.name == lower; });
  return found == columns.end() ? nullptr : &*found;
}

bool is_unique(soci::session& session, const std::string& table, const std::string& column) {
  // SQLite's rowid alias has no index of its own.
  const std::string_view query =
      sql::Dialect(session) == sql::Dialect::sqlite
          ? "SELECT count(*) FROM (SELECT l.name FROM pragma_index_list(:table) l JOIN "
            "pragma_index_xinfo(l.name) i WHERE l.\"unique\" = 1 AND l.partial = 0 AND i.key = 1 GROUP BY "
            "l.name HAVING count(*) = 1 AND lower(max(i.name)) = :column)"
          : "SELECT count(*) FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = "
            "i.indkey[0] WHERE i.indrelid = to_regclass(:table) AND i.indisunique AND i.indisvalid AND "
            "i.indpred IS NULL AND i.indnkeyatts = 1 AND lower(a.attname) = :column";
  long long found = 0;
  const std::string lower = ascii_lower(column);
  soci::statement statement =
      sql::bound(session, query, soci::into(found), soci::use(table), soci::use(lower));
  sql::each_row(statement, [] {});
  return found > 0;
}

std::string quoted(std::string_view name) {
  return "\"" + std::string(name) + "\"";
}

std::string as_text(sql::Dialect dialect, const std::string& expression, ColumnType type) {
  const bool sqlite = dialect == sql::Dialect::sqlite;
  switch (type) {
    case ColumnType::date:
      return sqlite ? "date(" + expression + ")" : "to_char(" + expression + ", 'YYYY-MM-DD')";
    case ColumnType::date_time:
      if (sqlite) return sqlite_time_text(expression);
      return "to_char(cast(" + expression +
             " as timestamptz) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')";
    case ColumnType::checkbox:
      return "CASE WHEN " + expression + " THEN 'true' WHEN NOT " + expression + " THEN 'false' END";
    case ColumnType::number:
    case ColumnType::text:
      break;
  }
  return "cast(" + expression + " as text)";
}

bool is_deletion_mark(std::string_view text) {
  const std::string lower = ascii_lower(trimmed(text));
  return std::find(kDeletionMarks.begin(), kDeletionMarks.end(), lower) != kDeletionMarks.end();
}

std::string not_deleted_condition(sql::Dialect dialect, const std::string& expression, ColumnType type) {
  if (type == ColumnType::date || type == ColumnType::date_time) return expression + " IS NULL";
  std::string marks;
  for (const std::string_view mark : kDeletionMarks)
    marks += (marks.empty() ? "'" : ", '") + std::string(mark) + "'";
  const std::string text = bytewise(dialect, "coalesce(trim(cast(" + expression + " as text)), '')");
  return "lower(" + text + ") NOT IN (" + marks + ")";
}

std::string row_not_deleted_condition(sql::Dialect dialect, const std::string& table,
                                      const std::string& alias) {
  // Where the table lacks the column, its name means the null of the outer SELECT. Scalar, as PostgreSQL
  // might read the whole table for EXISTS.
  return "(SELECT (SELECT CASE WHEN " + not_deleted_condition(dialect, "isdeleted", ColumnType::text) +
         " AND coalesce(cast(isdeleted as text), '') NOT LIKE '____-__-__%' THEN 1 ELSE 0 END FROM " + table +
         " marked WHERE marked.id = " + alias +
         ".id) FROM (SELECT cast(NULL AS text) AS isdeleted) without_column) = 1";
}

std::string as_sort_key(sql::Dialect dialect, const std::string& expression, ColumnType type) {
  if (type == ColumnType::text) {
    return bytewise(dialect, "lower(" + bytewise(dialect, "cast(" + expression + " as text)") + ")");
  }
  const bool time = type == ColumnType::date || type == ColumnType::date_time;
  return dialect == sql::Dialect::sqlite && time ? as_text(dialect, expression, type) : expression;
}

std::string valid_transaction_id_condition(sql::Dialect dialect, const std::string& expression,
                                           std::string_view sql_type) {
  std::string bounded = expression + " <= " + std::to_string(kMaxId);
  if (dialect == sql::Dialect::sqlite)
    return bounded + " AND " + expression + " = cast(" + expression + " as integer)";
  if (sql_type.find("int") != std::string_view::npos) return bounded;
  // Not "=": PostgreSQL would estimate it as rare and sort the table for each page.
  return bounded + " AND " + expression + " - floor(" + expression + ") <= 0";
}

std::string bytewise(sql::Dialect dialect, const std::string& expression) {
  return dialect == sql::Dialect::sqlite ? expression : expression + " COLLATE \"C\"";
}

std::string crm_id_forms_expression(sql::Dialect dialect, const std::string& id) {
  const std::string code = dialect == sql::Dialect::sqlite ? "unicode" : "ascii";
  std::string suffix;
  for (int part = 0; part < 3; ++part) {
    suffix += " || substr('ABCDEFGHIJKLMNOPQRSTUVWXYZ012345', 1";
    for (int i = 0; i < 5; ++i)
      suffix += " + CASE WHEN " + code + "(substr(" + id + ", " + std::to_string(5 * part + i + 1) +
                ", 1)) BETWEEN 65 AND 90 THEN " + std::to_string(1 << i) + " ELSE 0 END";
    suffix += ", 1)";
  }
  return "(" + id + ", CASE WHEN substr(" + id + ", 1, 3) NOT IN (" + std::string(kCrmIdPrefixes) +
         ") THEN " + id + " WHEN length(" + id + ") = 18 THEN substr(" + id + ", 1, 15) WHEN length(" + id +
         ") = 15 THEN " + id + suffix + " ELSE " + id + " END)";
}

std::string trim_trailing_zeros(std::string text) {
  if (text.find('.') == std::string::npos || text.find_first_of("eE") != std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace giftsync::crm::sql_crm
