#include "schema/sql_crm/status_log.h"

#include <cstdlib>

#include "schema/broken_world.h"
#include "schema/sql_crm/columns.h"

namespace giftsync::schema::sql_crm {
namespace {

/// The log in the database's words.
struct LogTable {
  std::string name;         ///< in quotes
  std::string transaction;  ///< columns, in quotes
  std::string status;
  std::string time;  ///< an expression: RFC 3339 text on SQLite, timestamptz on PostgreSQL
};

std::string quoted_path(const std::string& path) {
  const std::size_t dot = path.find('.');
  if (dot == std::string::npos) return quoted(path);
  return quoted(path.substr(0, dot)) + "." + quoted(path.substr(dot + 1));
}

std::string time_expression(Dialect dialect, const Column& column) {
  const std::string name = quoted(column.name);
  if (dialect == Dialect::postgresql) {
    // A time without a zone is UTC, whatever zone the session has.
    return column.sql_type.starts_with("timestamp without") ? "(" + name + " AT TIME ZONE 'UTC')"
                                                            : "cast(" + name + " as timestamptz)";
  }
  // Ours is always 24 long; other spellings are what SQLite understands, and the CRM's own "+0000".
  return "CASE WHEN length(" + name + ") = 24 THEN " + name +
         " ELSE strftime('%Y-%m-%dT%H:%M:%fZ', replace(" + name + ", '+0000', 'Z')) END";
}

const Column& needed(const std::vector<Column>& columns, const std::string& name, const std::string& key,
                     const StatusLogPlace& place) {
  if (const Column* column = find_column(columns, name)) return *column;
  throw BrokenWorld(false, "the status log " + place.object + " has no column " + name + "; crm.status_log." +
                               key + " says which one it is");
}

std::optional<LogTable> find_log(sql::Database& database, const StatusLogPlace& place) {
  const Dialect dialect = database.dialect();
  const std::string path = dialect == Dialect::sqlite ? place.object : quoted_path(place.object);
  const std::vector<Column> columns =
      database.read([&](soci::session& session) { return columns_of(session, dialect, path); });
  if (columns.empty()) return std::nullopt;
  const Column& transaction = needed(columns, place.transaction_id, "transaction_id", place);
  const Column& status = needed(columns, place.status, "status", place);
  const Column& time = needed(columns, place.time, "time", place);
  const auto refuse = [&](const Column& column, const char* wanted) {
    throw BrokenWorld(false, "the status log's column " + place.object + "." + column.name + " is of type " +
                                 column.sql_type + ", " + wanted + " is needed");
  };
  if (dialect == Dialect::postgresql) {
    if (transaction.type != ColumnType::number) refuse(transaction, "a number");
    if (time.type != ColumnType::date_time && time.type != ColumnType::date) refuse(time, "a time");
  }
  return LogTable{quoted_path(place.object), quoted(transaction.name), quoted(status.name),
                  time_expression(dialect, time)};
}

/// Milliseconds since 1970 on PostgreSQL, RFC 3339 on SQLite.
std::string as_answer(Dialect dialect, const std::string& time) {
  if (dialect == Dialect::sqlite) return time;
  return "cast(cast(floor(date_part('epoch', " + time + ") * 1000 + 0.001) as bigint) as text)";
}

std::optional<UtcMillis> time_of(Dialect dialect, const std::optional<std::string>& answer) {
  if (!answer) return std::nullopt;
  if (dialect == Dialect::sqlite) return from_rfc3339(*answer);
  return UtcMillis{std::strtoll(answer->c_str(), nullptr, 10)};
}

std::string page_query(Dialect dialect, const LogTable& log, std::size_t limit) {
  const std::string type = dialect == Dialect::sqlite ? "text" : "timestamptz";
  const std::string good =
      log.time + " BETWEEN cast(:earliest as " + type + ") AND cast(:latest as " + type + ")";
  const std::string believable = "CASE WHEN " + good + " THEN " + log.time + " END";
  // Grouped by the bare columns, so that an index by gift hands the groups out in their order.
  return "SELECT cast(" + log.transaction + " as bigint), coalesce(cast(" + log.status +
         " as text), ''), count(*), sum(CASE WHEN " + good + " THEN 0 ELSE 1 END), " +
         as_answer(dialect, "min(" + believable + ")") + ", " +
         as_answer(dialect, "max(" + believable + ")") + " FROM " + log.name + " WHERE " + log.transaction +
         " > :after GROUP BY " + log.transaction + ", " + log.status + " ORDER BY " + log.transaction + ", " +
         log.status + " LIMIT " + std::to_string(limit);
}

}  // namespace

std::optional<StatusLogSize> size_of_status_log(sql::Database& database, const StatusLogPlace& place) {
  const std::optional<LogTable> log = find_log(database, place);
  if (!log) return std::nullopt;
  return database.read([&](soci::session& session) {
    long long rows = 0;
    long long with_gift = 0;
    session << "SELECT count(*), coalesce(sum(CASE WHEN " + log->transaction +
                   " > 0 THEN 1 ELSE 0 END), 0) FROM " + log->name,
        soci::into(rows), soci::into(with_gift);
    return StatusLogSize{rows, rows - with_gift};
  });
}

void index_status_log(sql::Database& database, const StatusLogPlace& place) {
  if (place.object != StatusLogPlace().object) return;
  const std::optional<LogTable> log = find_log(database, place);
  if (!log) return;
  // All three columns, so that the walk never leaves the index.
  database.write([&](soci::session& session) {
    session << "CREATE INDEX IF NOT EXISTS crm_status_log_gift ON " + log->name + " (" + log->transaction +
                   ", " + log->status + ", " + quoted(place.time) + ")";
  });
}

std::vector<StatusLogSpan> read_status_log(sql::Database& database, const StatusLogPlace& place,
                                           TransactionId after, std::size_t limit, UtcMillis from,
                                           UtcMillis to) {
  const std::optional<LogTable> log = find_log(database, place);
  if (!log) return {};
  const Dialect dialect = database.dialect();
  const std::string earliest = to_rfc3339(from);
  const std::string latest = to_rfc3339(to);
  return database.read([&](soci::session& session) {
    StatusLogSpan row;
    long long rows = 0;
    long long unbelievable = 0;
    std::optional<std::string> first;
    std::optional<std::string> last;
    soci::statement statement(session);
    statement.exchange(soci::into(row.transaction));
    statement.exchange(soci::into(row.word));
    statement.exchange(soci::into(rows));
    statement.exchange(soci::into(unbelievable));
    statement.exchange(soci::into(first));
    statement.exchange(soci::into(last));
    statement.exchange(soci::use(after, "after"));
    statement.exchange(soci::use(earliest, "earliest"));
    statement.exchange(soci::use(latest, "latest"));
    statement.alloc();
    statement.prepare(page_query(dialect, *log, limit), sql::kRunOnce);
    statement.define_and_bind();
    std::vector<StatusLogSpan> spans;
    sql::each_row(statement, [&] {
      row.rows = rows;
      row.unbelievable = unbelievable;
      row.earliest = time_of(dialect, first);
      row.latest = last == first ? row.earliest : time_of(dialect, last);
      spans.push_back(row);
    });
    return spans;
  });
}

}  // namespace giftsync::schema::sql_crm
