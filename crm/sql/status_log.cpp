#include "crm/sql/status_log.h"

#include <cstdlib>

#include "crm/sql/columns.h"
#include "platform/dependency_error.h"
#include "platform/text.h"

namespace giftsync::crm::sql_crm {
namespace {

/// SQL expressions for the log's columns.
struct LogTable {
  std::string name;         ///< in quotes
  std::string transaction;  ///< columns, in quotes
  std::string status;
  std::string time;                ///< an expression: RFC 3339 text on SQLite, timestamptz on PostgreSQL
  std::string valid_id_condition;  ///< a condition: the transaction id, if above 0, is one
  std::string text_id;             ///< an expression: a text where a number is needed, else null
};

constexpr std::size_t kMaxShownIdLength = 40;

std::string quoted_path(const std::string& path) {
  const std::size_t dot = path.find('.');
  if (dot == std::string::npos) return quoted(path);
  return quoted(path.substr(0, dot)) + "." + quoted(path.substr(dot + 1));
}

std::string time_expression(sql::Dialect dialect, const Column& column) {
  const std::string name = quoted(column.name);
  if (dialect == sql::Dialect::postgresql) {
    // A time without a zone is UTC, whatever zone the session has.
    return column.sql_type.starts_with("timestamp without") ? "(" + name + " AT TIME ZONE 'UTC')"
                                                            : "cast(" + name + " as timestamptz)";
  }
  // Giftsync's own form is not converted, because strftime may lose a millisecond; and strftime does not
  // parse zones without a colon.
  const auto as_ours = [](const std::string& text) { return "strftime('%Y-%m-%dT%H:%M:%fZ', " + text + ")"; };
  return "CASE WHEN substr(" + name + ", 11, 1) = 'T' AND substr(" + name + ", 24) = 'Z' THEN " + name +
         " WHEN " + name + " GLOB '*[0-9][-+][0-9][0-9][0-9][0-9]' THEN " +
         as_ours("substr(" + name + ", 1, length(" + name + ") - 2) || ':' || substr(" + name + ", -2)") +
         " ELSE " + as_ours(name) + " END";
}

const Column& require_column(const std::vector<Column>& columns, const std::string& name,
                             const std::string& key, const StatusLogLocation& location) {
  if (const Column* column = find_column(columns, name)) return *column;
  throw DependencyError(false, "the status log " + location.object + " has no column " + name +
                                   "; name the right one in crm.status_log." + key);
}

enum class Affinity { number, text, none };

/// SQLite's affinity rule for this declared type.
Affinity affinity_of(std::string_view declared) {
  const auto has = [&](std::string_view part) { return declared.find(part) != std::string_view::npos; };
  if (has("int")) return Affinity::number;
  if (has("char") || has("clob") || has("text")) return Affinity::text;
  return declared.empty() || has("blob") ? Affinity::none : Affinity::number;
}

/// A number is needed, for the log is walked through in its order: texts have another one.
bool is_number(sql::Dialect dialect, const Column& column) {
  if (dialect == sql::Dialect::postgresql) return column.type == ColumnType::number;
  return affinity_of(column.sql_type) != Affinity::text;
}

/// A column without a type of its own may hold numbers as well as texts of digits.
std::string text_id_expression(sql::Dialect dialect, const Column& column) {
  if (dialect == sql::Dialect::postgresql || affinity_of(column.sql_type) != Affinity::none) return "NULL";
  const std::string name = quoted(column.name);
  return "max(CASE WHEN typeof(" + name + ") IN ('text', 'blob') AND trim(" + name +
         ") <> '' THEN substr(cast(" + name + " as text), 1, " + std::to_string(kMaxShownIdLength) + ") END)";
}

[[noreturn]] void throw_unusable_column(const StatusLogLocation& location, const std::string& column,
                                        const std::string& found, const std::string& wanted,
                                        const std::string& key) {
  throw DependencyError(false, "the status log's column " + location.object + "." + column + " " + found +
                                   ", " + wanted + " is needed; name another one as crm.status_log." + key +
                                   ", or a view that makes " + wanted + " of it as crm.status_log.object");
}

std::string describe_type(const Column& column) {
  return "is of type " + column.sql_type;
}

std::vector<Column> log_columns(sql::Database& database, const StatusLogLocation& location) {
  const std::string path =
      database.dialect() == sql::Dialect::sqlite ? location.object : quoted_path(location.object);
  return database.read([&](soci::session& session) { return columns_of(session, path); });
}

LogTable log_table(sql::Database& database, const StatusLogLocation& location) {
  const sql::Dialect dialect = database.dialect();
  const std::vector<Column> columns = log_columns(database, location);
  const Column& transaction = require_column(columns, location.transaction_id, "transaction_id", location);
  const Column& status = require_column(columns, location.status, "status", location);
  const Column& time = require_column(columns, location.time, "time", location);
  if (!is_number(dialect, transaction))
    throw_unusable_column(location, transaction.name, describe_type(transaction), "a number",
                          "transaction_id");
  if (dialect == sql::Dialect::postgresql && time.type != ColumnType::date_time &&
      time.type != ColumnType::date)
    throw_unusable_column(location, time.name, describe_type(time), "a time", "time");
  return {quoted_path(location.object),
          quoted(transaction.name),
          quoted(status.name),
          time_expression(dialect, time),
          valid_transaction_id_condition(dialect, quoted(transaction.name), transaction.sql_type),
          text_id_expression(dialect, transaction)};
}

/// Milliseconds since 1970 on PostgreSQL, RFC 3339 on SQLite.
std::string time_result(sql::Dialect dialect, const std::string& time) {
  if (dialect == sql::Dialect::sqlite) return time;
  return "cast(cast(floor(date_part('epoch', " + time + ") * 1000 + 0.001) as bigint) as text)";
}

std::optional<UtcMillis> time_of(sql::Dialect dialect, const std::optional<std::string>& stored_time) {
  if (!stored_time) return std::nullopt;
  if (dialect == sql::Dialect::sqlite) return from_rfc3339(*stored_time);
  return UtcMillis{std::strtoll(stored_time->c_str(), nullptr, 10)};
}

std::string page_query(sql::Dialect dialect, const LogTable& log, std::size_t limit) {
  const std::string type = dialect == sql::Dialect::sqlite ? "text" : "timestamptz";
  const std::string good =
      log.time + " BETWEEN cast(:earliest as " + type + ") AND cast(:latest as " + type + ")";
  const std::string valid_time = "CASE WHEN " + good + " THEN " + log.time + " END";
  // Grouped by the bare columns, so that an index by gift returns the groups in order.
  return "SELECT cast(" + log.transaction + " as bigint), coalesce(cast(" + log.status +
         " as text), ''), count(*), sum(CASE WHEN " + good + " THEN 0 ELSE 1 END), " +
         time_result(dialect, "min(" + valid_time + ")") + ", " +
         time_result(dialect, "max(" + valid_time + ")") + " FROM " + log.name + " WHERE " + log.transaction +
         " > :after AND " + log.valid_id_condition + " GROUP BY " + log.transaction + ", " + log.status +
         " ORDER BY " + log.transaction + ", " + log.status + " LIMIT " + std::to_string(limit);
}

}  // namespace

bool SqlStatusLog::exists() {
  return !log_columns(database_, location_).empty();
}

StatusLogSize SqlStatusLog::size() {
  const LogTable log = log_table(database_, location_);
  std::optional<std::string> text_id;
  const StatusLogSize size = database_.read([&](soci::session& session) {
    long long rows = 0;
    long long with_gift = 0;
    session << "SELECT count(*), coalesce(sum(CASE WHEN " + log.transaction + " > 0 AND " +
                   log.valid_id_condition + " THEN 1 ELSE 0 END), 0), " + log.text_id + " FROM " + log.name,
        soci::into(rows), soci::into(with_gift), soci::into(text_id);
    return StatusLogSize{rows, rows - with_gift};
  });
  if (!text_id) return size;
  throw_unusable_column(location_, ascii_lower(location_.transaction_id), "holds text (\"" + *text_id + "\")",
                        "a number", "transaction_id");
}

void SqlStatusLog::prepare() {
  if (index_ == Index::never || location_.object != StatusLogLocation().object) return;
  const LogTable log = log_table(database_, location_);
  // All three columns, so that the walk never leaves the index.
  database_.write([&](soci::session& session) {
    session << "CREATE INDEX IF NOT EXISTS crm_status_log_gift ON " + log.name + " (" + log.transaction +
                   ", " + log.status + ", " + quoted(location_.time) + ")";
  });
}

std::vector<StatusLogGroup> SqlStatusLog::spans(TransactionId after, std::size_t limit, UtcMillis from,
                                                UtcMillis to) {
  const LogTable log = log_table(database_, location_);
  const std::string earliest = to_rfc3339(from);
  const std::string latest = to_rfc3339(to);
  return database_.read([&](soci::session& session) {
    StatusLogGroup row;
    long long rows = 0;
    long long implausible = 0;
    std::optional<std::string> first;
    std::optional<std::string> last;
    soci::statement statement(session);
    statement.exchange(soci::into(row.transaction));
    statement.exchange(soci::into(row.status_text));
    statement.exchange(soci::into(rows));
    statement.exchange(soci::into(implausible));
    statement.exchange(soci::into(first));
    statement.exchange(soci::into(last));
    statement.exchange(soci::use(after, "after"));
    statement.exchange(soci::use(earliest, "earliest"));
    statement.exchange(soci::use(latest, "latest"));
    statement.alloc();
    statement.prepare(page_query(session, log, limit), sql::kRunOnce);
    statement.define_and_bind();
    std::vector<StatusLogGroup> spans;
    sql::each_row(statement, [&] {
      row.rows = rows;
      row.implausible = implausible;
      row.earliest = time_of(session, first);
      row.latest = last == first ? row.earliest : time_of(session, last);
      if (first && (!row.earliest || !row.latest)) {
        // In giftsync's form, but no valid time (February 30): nothing is known about the times in between.
        row.earliest = row.latest = std::nullopt;
        row.implausible = rows;
      }
      spans.push_back(row);
    });
    return spans;
  });
}

}  // namespace giftsync::crm::sql_crm
