#include "schema/sql_crm/status_log.h"

#include <cstdlib>

#include "schema/broken_world.h"
#include "schema/sql_crm/columns.h"
#include "schema/text.h"

namespace giftsync::schema::sql_crm {
namespace {

/// The log in the database's words.
struct LogTable {
  std::string name;         ///< in quotes
  std::string transaction;  ///< columns, in quotes
  std::string status;
  std::string time;      ///< an expression: RFC 3339 text on SQLite, timestamptz on PostgreSQL
  std::string is_an_id;  ///< a condition: the transaction id, if above 0, is one
  std::string odd_id;    ///< an expression: a text where a number is needed, else null
};

constexpr std::size_t kShownIdMax = 40;

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
  // Ours is left as it is, for strftime may lose a millisecond; it does not know zones without a colon.
  const auto as_ours = [](const std::string& text) { return "strftime('%Y-%m-%dT%H:%M:%fZ', " + text + ")"; };
  return "CASE WHEN substr(" + name + ", 11, 1) = 'T' AND substr(" + name + ", 24) = 'Z' THEN " + name +
         " WHEN " + name + " GLOB '*[0-9][-+][0-9][0-9][0-9][0-9]' THEN " +
         as_ours("substr(" + name + ", 1, length(" + name + ") - 2) || ':' || substr(" + name + ", -2)") +
         " ELSE " + as_ours(name) + " END";
}

const Column& needed(const std::vector<Column>& columns, const std::string& name, const std::string& key,
                     const StatusLogPlace& place) {
  if (const Column* column = find_column(columns, name)) return *column;
  throw BrokenWorld(false, "the status log " + place.object + " has no column " + name + "; crm.status_log." +
                               key + " says which one it is");
}

enum class Affinity { number, text, none };

/// SQLite's own rule: what a column of this declared type makes of the values that it is given.
Affinity affinity_of(std::string_view declared) {
  const auto has = [&](std::string_view part) { return declared.find(part) != std::string_view::npos; };
  if (has("int")) return Affinity::number;
  if (has("char") || has("clob") || has("text")) return Affinity::text;
  return declared.empty() || has("blob") ? Affinity::none : Affinity::number;
}

/// A number is needed, for the log is walked through in its order: texts have another one.
bool is_number(Dialect dialect, const Column& column) {
  if (dialect == Dialect::postgresql) return column.type == ColumnType::number;
  return affinity_of(column.sql_type) != Affinity::text;
}

/// A column without a type of its own may hold numbers as well as texts of digits.
std::string odd_id_expression(Dialect dialect, const Column& column) {
  if (dialect == Dialect::postgresql || affinity_of(column.sql_type) != Affinity::none) return "NULL";
  const std::string name = quoted(column.name);
  return "max(CASE WHEN typeof(" + name + ") IN ('text', 'blob') AND trim(" + name +
         ") <> '' THEN substr(cast(" + name + " as text), 1, " + std::to_string(kShownIdMax) + ") END)";
}

[[noreturn]] void refuse(const StatusLogPlace& place, const std::string& column, const std::string& found,
                         const std::string& wanted, const std::string& key) {
  throw BrokenWorld(false, "the status log's column " + place.object + "." + column + " " + found + ", " +
                               wanted + " is needed; name another one as crm.status_log." + key +
                               ", or a view that makes " + wanted + " of it as crm.status_log.object");
}

std::string typed(const Column& column) {
  return "is of type " + column.sql_type;
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
  if (!is_number(dialect, transaction))
    refuse(place, transaction.name, typed(transaction), "a number", "transaction_id");
  if (dialect == Dialect::postgresql && time.type != ColumnType::date_time && time.type != ColumnType::date)
    refuse(place, time.name, typed(time), "a time", "time");
  return LogTable{quoted_path(place.object),
                  quoted(transaction.name),
                  quoted(status.name),
                  time_expression(dialect, time),
                  is_whole_id(dialect, quoted(transaction.name), transaction.sql_type),
                  odd_id_expression(dialect, transaction)};
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
         " > :after AND " + log.is_an_id + " GROUP BY " + log.transaction + ", " + log.status + " ORDER BY " +
         log.transaction + ", " + log.status + " LIMIT " + std::to_string(limit);
}

}  // namespace

std::optional<StatusLogSize> size_of_status_log(sql::Database& database, const StatusLogPlace& place) {
  const std::optional<LogTable> log = find_log(database, place);
  if (!log) return std::nullopt;
  std::optional<std::string> odd_id;
  const StatusLogSize size = database.read([&](soci::session& session) {
    long long rows = 0;
    long long with_gift = 0;
    session << "SELECT count(*), coalesce(sum(CASE WHEN " + log->transaction + " > 0 AND " + log->is_an_id +
                   " THEN 1 ELSE 0 END), 0), " + log->odd_id + " FROM " + log->name,
        soci::into(rows), soci::into(with_gift), soci::into(odd_id);
    return StatusLogSize{rows, rows - with_gift};
  });
  if (!odd_id) return size;
  refuse(place, ascii_lower(place.transaction_id), "holds text (\"" + *odd_id + "\")", "a number",
         "transaction_id");
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
      if (first && (!row.earliest || !row.latest)) {
        // In our own form, yet no time (February 30): nothing is known of the others between them.
        row.earliest = row.latest = std::nullopt;
        row.unbelievable = rows;
      }
      spans.push_back(row);
    });
    return spans;
  });
}

}  // namespace giftsync::schema::sql_crm
