#include "schema/store/background_work.h"

#include <optional>
#include <sstream>
#include <vector>

#include "schema/sql/long_statement.h"
#include "schema/sql/queries.h"
#include "schema/store/statements/metadata.h"

namespace giftsync::store {
namespace {

using soci::use;

constexpr const char* kFaultFact = "background_fault";
/// Held by who works on PostgreSQL, for as long as its session lives: also by the server's process that still
/// makes an index for a daemon that was killed.
constexpr std::string_view kLockKey = "7208292";
constexpr std::int64_t kRowsPerStep = 5'000;

struct Position {
  std::size_t script = 0;  ///< how many scripts' background parts are done
  std::size_t statement = 0;
  std::int64_t after = 0;  ///< the id up to which an UPDATE has run
  friend bool operator==(const Position&, const Position&) = default;
};

struct Statement {
  Position position;
  std::string text;
  bool is_index() const { return text.starts_with("CREATE "); }
};

std::vector<std::string> background_statements(soci::session& session, std::string_view script) {
  return sql::statements_of(session, script, sql::ScriptPart::background);
}

Position read_position(soci::session& session) {
  Position position;
  std::istringstream(read_metadata(session, kBackgroundFact).value_or("0 0 0")) >> position.script >>
      position.statement >> position.after;
  return position;
}

void write_position(soci::session& session, const Position& position) {
  write_metadata(session, kBackgroundFact,
                 std::to_string(position.script) + " " + std::to_string(position.statement) + " " +
                     std::to_string(position.after));
  session << "DELETE FROM store_metadata WHERE name = '" + std::string(kFaultFact) + "'";
}

/// The position's own one, or the next that there is. A position beyond the scripts is a newer program's.
std::optional<Statement> present_statement(soci::session& session, MigrationScripts scripts) {
  for (Position at = read_position(session); at.script < scripts.size(); at = {at.script + 1, 0, 0}) {
    const std::vector<std::string> statements = background_statements(session, scripts[at.script]);
    if (at.statement < statements.size()) return Statement{at, statements[at.statement]};
  }
  return std::nullopt;
}

Position behind(const Statement& statement) {
  return {statement.position.script, statement.position.statement + 1, 0};
}

std::string word_after(const std::string& text, const std::string& word) {
  const std::size_t at = text.find(word + " ") + word.size() + 1;
  return text.substr(at, text.find_first_of(" \n(", at) - at);
}

/// Only where the store is PostgreSQL; SQLite's writers follow one another.
bool try_lock(soci::session& session, std::string_view scope) {
  return sql::select_value<std::int64_t>(session, "SELECT cast(pg_try_advisory_" + std::string(scope) + "(" +
                                                      std::string(kLockKey) + ") AS int)") == 1;
}

/// Waits for other transactions for as long as they take, and holds the lock of the work.
class IndexSession {
 public:
  explicit IndexSession(soci::session& session) : session_(session) {
    session_ << "SET lock_timeout TO 0";
    session_ << "SET statement_timeout TO 0";
    has_lock_ = try_lock(session_, "lock");
  }
  ~IndexSession() {
    try {
      session_ << "SET lock_timeout TO 15000";
      session_ << "RESET statement_timeout";
      if (has_lock_)
        sql::select_value<std::int64_t>(
            session_, "SELECT cast(pg_advisory_unlock(" + std::string(kLockKey) + ") AS int)");
    } catch (const soci::soci_error&) {
      // The connection broke: the session ends, and its lock and settings with it.
    }
  }
  IndexSession(const IndexSession&) = delete;
  IndexSession& operator=(const IndexSession&) = delete;
  bool has_lock() const { return has_lock_; }

 private:
  soci::session& session_;
  bool has_lock_ = false;
};

/// A kill, a stop or a fault of the server leaves an index that is not valid: it is dropped and made again.
BackgroundStep make_index_concurrently(soci::session& session, const Statement& found,
                                       MigrationScripts scripts, const std::function<bool()>& should_run) {
  const IndexSession lock(session);
  if (!lock.has_lock()) return BackgroundStep::busy;
  const std::optional<Statement> present = present_statement(session, scripts);
  if (!present || present->position != found.position) return BackgroundStep::more;  // done meanwhile
  const std::string index = word_after(present->text, "INDEX");
  const auto valid = sql::first_of(sql::select_column<std::int64_t>(
      session,
      "SELECT cast(cast(indisvalid AS int) AS bigint) FROM pg_index WHERE indexrelid = to_regclass(:name)",
      use(index)));
  if (valid == 0) sql::run_long_statement(session, "DROP INDEX CONCURRENTLY " + index, should_run);
  if (valid != 1) {
    std::string statement = present->text;
    constexpr std::string_view kIndex = "INDEX ";
    statement.insert(statement.find(kIndex) + kIndex.size(), "CONCURRENTLY ");
    sql::run_long_statement(session, statement, should_run);
  }
  write_position(session, behind(*present));
  return BackgroundStep::more;
}

void fill_rows(soci::session& session, const Statement& statement) {
  const std::int64_t after = statement.position.after;
  const std::int64_t until = sql::select_value<std::int64_t>(
      session,
      "SELECT coalesce(max(id), 0) FROM (SELECT id FROM " + word_after(statement.text, "UPDATE") +
          " WHERE id > :after ORDER BY id LIMIT :rows) part",
      use(after, "after"), use(kRowsPerStep, "rows"));
  if (until == 0) return write_position(session, behind(statement));
  session << statement.text, use(after, "after"), use(until, "until");
  write_position(session, {statement.position.script, statement.position.statement, until});
}

BackgroundStep step_in_transaction(soci::session& session, MigrationScripts scripts,
                                   const std::function<bool()>& should_run) {
  const bool is_sqlite = sql::Dialect(session) == sql::Dialect::sqlite;
  if (!is_sqlite && !try_lock(session, "xact_lock")) return BackgroundStep::busy;
  const std::optional<Statement> present = present_statement(session, scripts);
  if (!present) return BackgroundStep::none;
  if (!present->is_index()) {
    fill_rows(session, *present);
  } else if (is_sqlite) {
    if (!sql::has_row(session, "sqlite_master WHERE type = 'index' AND name = :name",
                      use(word_after(present->text, "INDEX"))))
      sql::run_long_statement(session, present->text, should_run);
    write_position(session, behind(*present));
  }
  return BackgroundStep::more;
}

std::string beginning_of(const std::string& statement) {
  constexpr std::size_t kMaxBytes = 80;
  std::string text = statement.substr(0, statement.find_first_of("(\n"));
  while (text.ends_with(' ')) text.pop_back();
  return text.substr(0, kMaxBytes);
}

}  // namespace

BackgroundWork background_work(const sql::Dsn& dsn, MigrationScripts scripts) {
  return sql::Database::shared(dsn)->snapshot([&](soci::session& session) {
    BackgroundWork work;
    const std::optional<Statement> present = present_statement(session, scripts);
    if (!present) return work;
    for (std::size_t at = present->position.script; at < scripts.size(); ++at)
      work.remaining += background_statements(session, scripts[at]).size();
    work.remaining -= present->position.statement;
    work.present = beginning_of(present->text);
    work.is_index = present->is_index();
    work.filled = present->position.after;
    work.fault = read_metadata(session, kFaultFact).value_or("");
    return work;
  });
}

BackgroundStep do_background_step(const sql::Dsn& dsn, const std::function<bool()>& should_run,
                                  MigrationScripts scripts) {
  const std::shared_ptr<sql::Database> database = sql::Database::shared(dsn);
  try {
    const auto present =
        database->read([&](soci::session& session) { return present_statement(session, scripts); });
    if (present && present->is_index() && database->dialect() == sql::Dialect::postgresql) {
      return database->read([&](soci::session& session) {
        return make_index_concurrently(session, *present, scripts, should_run);
      });
    }
    return database->write(
        [&](soci::session& session) { return step_in_transaction(session, scripts, should_run); });
  } catch (const sql::StatementStopped&) {
    return BackgroundStep::stopped;
  }
}

void note_background_fault(const sql::Dsn& dsn, const std::string& fault) {
  sql::Database::shared(dsn)->write(
      [&](soci::session& session) { write_metadata(session, kFaultFact, fault); });
}

}  // namespace giftsync::store
