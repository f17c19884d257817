#include "schema/sql/database.h"

#include <soci/postgresql/soci-postgresql.h>

#include <map>
#include <random>
#include <tuple>

#include "platform/text.h"
#include "platform/time.h"
#include "schema/sql/bulk_rows.h"
#include "schema/sql/connection_check.h"
#include "schema/sql/database_file.h"
#include "schema/sql/no_change.h"
#include "schema/sql/query_watchdog.h"
#include "schema/sql/session.h"

namespace giftsync::sql {
namespace {

constexpr std::size_t kMaxIdleSessions = 16;
constexpr int kMaxAttempts = 4;
/// In which a server that works says that it has interrupted a statement.
constexpr std::int64_t kAnswerMillis = 500;

/// What kind of fault a SOCI exception is. SOCI's own categories are `unknown` for SQLite, hence one
/// classifier here.
enum class ErrorKind { connection, conflict, locked, constraint, resource, statement };

ErrorKind classify_sqlite(const soci::sqlite3_soci_error& error) {
  switch (error.result() & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorKind::conflict;
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
      return ErrorKind::constraint;
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_NOMEM:
    case SQLITE_PERM:
      return ErrorKind::resource;
    default:
      return ErrorKind::statement;
  }
}

/// A trigger of the database's owner has raised an error over the row, with whatever state it chose: the
/// lines behind the first one name the statement, in any language of the server.
bool is_raised_by_trigger(const std::string& state, const std::string& message) {
  return state == "P0001" || message.find(" RAISE", message.find('\n')) != std::string::npos;
}

ErrorKind classify_postgresql(const soci::postgresql_soci_error& error) {
  const std::string state = error.sqlstate();
  // The server lost a prepared statement, or its result changed its columns because a table changed: a new
  // connection prepares it again.
  if (state == "26000" ||
      (state == "0A000" && error.get_error_message().find("cached plan") != std::string::npos))
    return ErrorKind::connection;
  if (state == "40001" || state == "40P01") return ErrorKind::conflict;
  // A lock or a statement took longer than the role may wait (lock_timeout, statement_timeout).
  if (state == "55P03" || state == "57014") return ErrorKind::locked;
  // Class 22: the column cannot hold the value; SQLite reports this as a violated constraint or a mismatch.
  if (state.starts_with("23") || state.starts_with("22") ||
      is_raised_by_trigger(state, error.get_error_message()))
    return ErrorKind::constraint;
  // A policy of the owner's that this row does not satisfy; a right that is missing has the same state.
  if (state == "42501" && error.get_error_message().find("row-level security") != std::string::npos)
    return ErrorKind::constraint;
  if (state.starts_with("08") || state.starts_with("57P") || state == "25P03" || state.empty() ||
      state == "     ")
    return ErrorKind::connection;
  if (state.starts_with("53") || state.starts_with("58") || state == "25006") return ErrorKind::resource;
  return error.get_error_category() == soci::soci_error::connection_error ? ErrorKind::connection
                                                                          : ErrorKind::statement;
}

ErrorKind classify(const soci::soci_error& error) {
  if (const auto* sqlite = dynamic_cast<const soci::sqlite3_soci_error*>(&error))
    return classify_sqlite(*sqlite);
  if (const auto* postgresql = dynamic_cast<const soci::postgresql_soci_error*>(&error))
    return classify_postgresql(*postgresql);
  return error.get_error_category() == soci::soci_error::connection_error ? ErrorKind::connection
                                                                          : ErrorKind::statement;
}

/// The database's own message. what() would add the statement with all its values: addresses, messages and
/// links; the lines after PostgreSQL's first one (DETAIL) may contain the whole row.
std::string error_message(const soci::soci_error& error) {
  constexpr std::size_t kMaxBytes = 500;
  std::string message = error.get_error_message();
  const auto* postgresql = dynamic_cast<const soci::postgresql_soci_error*>(&error);
  const bool is_of_statement = postgresql && classify_postgresql(*postgresql) != ErrorKind::connection;
  if (is_of_statement) message.resize(std::min(message.find('\n'), message.size()));
  constexpr std::string_view kDriverPrefix =
      "Cannot execute query. Fatal error. ";  // constant: it describes no error
  if (message.starts_with(kDriverPrefix)) message.erase(0, kDriverPrefix.size());
  return message.substr(0, kMaxBytes);
}

/// Drivers return several lines with tabs; the log and the commands print one line.
std::string collapse_whitespace(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool is_space = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (!is_space)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  return std::string(trimmed(line));
}

/// What SQLite's error leaves out: the file, what keeps this process from it, and what to do; "; CAUSE;
/// STEP". Empty when no cause is visible.
std::string cause_of(const Dsn& dsn, ErrorKind kind, const soci::soci_error& error) {
  if (dsn.dialect != Dialect::sqlite) return "";
  const auto* sqlite = dynamic_cast<const soci::sqlite3_soci_error*>(&error);
  if (sqlite && (sqlite->result() & 0xff) == SQLITE_NOTADB)
    return "; " + dsn.connection +
           " is no database of SQLite's; restore it from its backup, or correct the path";
  const auto refusal = kind == ErrorKind::resource ? refused_database_file(dsn.connection) : std::nullopt;
  return refusal ? "; " + describe(*refusal) : "";
}

/// Two transactions that waited for each other would do so again. At most 160 ms.
void pause_before_retry(int attempt) {
  thread_local std::minstd_rand random{std::random_device{}()};
  std::uniform_int_distribution<int> millis(1, 20 << attempt);
  sqlite_api::sqlite3_sleep(millis(random));
}

/// SOCI gives no reason for a failed connection; the statement is never the cause.
ErrorKind connect_error_kind(Dialect dialect) {
  return dialect == Dialect::postgresql ? ErrorKind::connection : ErrorKind::resource;
}

/// `is_write`: what only reads has no row that could be refused.
[[noreturn]] void throw_error(const Dsn& dsn, ErrorKind fault, bool is_write, const std::string& message) {
  const std::string what = collapse_whitespace(message);
  const std::string database = dsn.is_external_crm ? "the CRM's database" : "the database";
  const auto broken = [&](bool transient, const char* how) {
    return DependencyError(transient, database + how + what, dsn.is_external_crm);
  };
  if (fault == ErrorKind::constraint && is_write)
    throw ConstraintViolation(database + " refused a row: " + what);
  if (fault == ErrorKind::connection) throw broken(true, " cannot be reached: ");
  if (fault == ErrorKind::conflict || fault == ErrorKind::locked) throw broken(true, " is busy: ");
  throw broken(fault == ErrorKind::resource, " failed: ");
}

/// What waited for a lock must see what was committed meanwhile, whatever the server's default is.
std::string_view begin_statement(Dialect dialect, bool is_write) {
  if (dialect == Dialect::postgresql)
    return is_write ? "BEGIN ISOLATION LEVEL READ COMMITTED"
                    : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
  return is_write ? "BEGIN IMMEDIATE" : "BEGIN";
}

/// SQLite's busy handler while another process has the lock. SQLite's own handler sleeps longer and longer
/// and misses the moments when the other process, an import for instance, releases the lock between two
/// transactions.
/// `is_external_crm`: not null for one, whose thread may have a deadline.
int wait_for_file_lock(void* is_external_crm, int attempt) {
  constexpr int kMaxWaitMillis = 10'000;
  if (attempt >= kMaxWaitMillis) return 0;
  if (is_external_crm != nullptr && !ThreadCallDeadline::may_continue()) return 0;
  sqlite_api::sqlite3_sleep(1);
  return 1;
}

/// Rolls back unless committed. A rollback that fails belongs to a session that is thrown away.
class OpenTransaction {
 public:
  OpenTransaction(soci::session& session, std::string_view begin) : session_(session) {
    session_ << std::string(begin);
  }
  ~OpenTransaction() {
    if (done_) return;
    try {
      session_ << "ROLLBACK";
    } catch (const soci::soci_error&) {
    }
  }
  OpenTransaction(const OpenTransaction&) = delete;
  OpenTransaction& operator=(const OpenTransaction&) = delete;
  void commit() {
    session_ << "COMMIT";
    done_ = true;
  }

 private:
  soci::session& session_;
  bool done_ = false;
};

/// SQLite's own locks are for shared connections and memory counters: here each connection is used by one
/// thread at a time, and the counters are unused. To be called before SQLite's first use.
void disable_sqlite_mutexes() {
  static const bool done = [] {
    sqlite_api::sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
    sqlite_api::sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    return true;
  }();
  (void)done;
}

std::unique_ptr<Session> connect_postgresql(const std::string& uri, bool is_external_crm) {
  auto session = std::make_unique<Session>(soci::postgresql, uri);
  const ActiveQuery active(session->socket(), is_external_crm);
  // libpq would print the server's notices between the lines of the log.
  PQsetNoticeProcessor(
      static_cast<soci::postgresql_session_backend*>(session->get_backend())->conn_,
      [](void*, const char*) {}, nullptr);
  *session << "SET client_encoding TO 'UTF8'";
  *session << "SET standard_conforming_strings TO on";
  // A daemon that is stopped inside a transaction (SIGSTOP, a frozen machine) must not hold its locks
  // against the others for as long as it sleeps. Shorter than every lease, and than what others wait.
  *session << "SET idle_in_transaction_session_timeout TO 10000";
  // When another session locks a table for long, for instance with ALTER TABLE, the wait ends with an error
  // and is retried: a worker that waits forever has no heartbeat, and the watchdog would end the daemon.
  *session << "SET lock_timeout TO 15000";
  // What a response has confirmed outlives a crash of the server, whatever server, database or role say
  // (HTTP-5). A stronger value, which waits for standbys too, stays.
  *session << "SELECT set_config(name, 'on', false) FROM pg_settings "
              "WHERE name = 'synchronous_commit' AND setting IN ('off', 'local')";
  *session << "SET TIME ZONE 'UTC'";
  *session << "SET client_min_messages TO warning";
  // To compile a search of the console took longer than to run it. Servers before 11 do not know the setting.
  *session << "SELECT set_config(name, 'off', false) FROM pg_settings WHERE name = 'jit'";
  return session;
}

sqlite_api::sqlite3* connection_of(Session& session) {
  return static_cast<soci::sqlite3_session_backend*>(session.get_backend())->conn_;
}

/// It stays with the file. Two programs that open a new file at the same time collide here, and SQLite calls
/// no busy handler for this statement.
void enable_write_ahead_log(Session& session) {
  for (int attempt = 0;; ++attempt) {
    try {
      session << "PRAGMA journal_mode = WAL";
      return;
    } catch (const soci::soci_error&) {
      const bool is_busy = (sqlite_api::sqlite3_errcode(connection_of(session)) & 0xff) == SQLITE_BUSY;
      if (!is_busy || wait_for_file_lock(nullptr, attempt) == 0) throw;
    }
  }
}

/// As a URI that SQLite opens only if the file exists.
std::string existing_file_uri(const std::string& path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain =
        is_ascii_letter_or_digit(c) || std::string_view("/-._~").find(c) != std::string_view::npos;
    if (is_plain)
      uri += c;
    else
      uri.append("%").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
  }
  return uri + "?mode=rw";
}

/// Does not wait: another connection may be busy with it, and what it leaves is copied later.
void copy_write_ahead_log(sqlite_api::sqlite3* connection) {
  sqlite_api::sqlite3_wal_checkpoint_v2(connection, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
}

/// SQLite's hook after each commit. An error would be the commit's, which has succeeded.
int after_commit(void* checkpointer, sqlite_api::sqlite3* connection, const char*, int pages) {
  if (static_cast<Checkpointer*>(checkpointer)->should_finish(pages)) copy_write_ahead_log(connection);
  return SQLITE_OK;
}

/// The schema of a file that another program may have written has no effect beyond the file: its triggers and
/// views run no function with side effects, and no statement changes the schema's own tables (SEC-9).
void distrust_schema(Session& session) {
  sqlite_api::sqlite3_db_config(connection_of(session), SQLITE_DBCONFIG_DEFENSIVE, 1,
                                static_cast<int*>(nullptr));
  session << "PRAGMA trusted_schema = OFF";
}

/// Many connections may read, and each discards its pages when the writer has committed (ARCH-45): the system
/// keeps the file's pages anyway.
const char* cache_size(bool is_writer) {
  return is_writer ? "PRAGMA cache_size = -32768" : "PRAGMA cache_size = -4096";
}

/// `must_exist`: a file that was deleted meanwhile is not made again, empty.
std::unique_ptr<Session> connect_sqlite(const Dsn& dsn, bool is_writer, bool must_exist,
                                        Checkpointer& checkpointer) {
  const std::string file = must_exist ? existing_file_uri(dsn.connection) : dsn.connection;
  auto session = std::make_unique<Session>(soci::sqlite3, "db=\"" + file + "\"");
  static char external_crm;
  sqlite_api::sqlite3_busy_handler(connection_of(*session), wait_for_file_lock,
                                   dsn.is_external_crm ? &external_crm : nullptr);
  distrust_schema(*session);
  if (!dsn.is_external_crm) enable_write_ahead_log(*session);
  for (const char* pragma : {"PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON", cache_size(is_writer)})
    *session << pragma;
  sqlite_api::sqlite3_wal_hook(connection_of(*session), after_commit, &checkpointer);
  return session;
}

}  // namespace

std::shared_ptr<Database> Database::shared(const Dsn& dsn) {
  static std::mutex mutex;
  static std::map<std::tuple<Dialect, std::string, std::string, bool>, std::weak_ptr<Database>> open;
  const std::lock_guard lock(mutex);
  std::weak_ptr<Database>& shared_database =
      open[{dsn.dialect, dsn.connection, dsn.password, dsn.is_external_crm}];
  std::shared_ptr<Database> database = shared_database.lock();
  if (!database) shared_database = database = std::make_shared<Database>(dsn);
  return database;
}

Database::Database(Dsn dsn)
    : dsn_(std::move(dsn)),
      writer_lock_(dsn_.dialect == Dialect::sqlite ? WriterLock::of_file(dsn_.connection) : nullptr) {
  disable_sqlite_mutexes();
  if (dsn_.dialect == Dialect::sqlite) checkpointer_.emplace([this] { checkpoint(); });
}
Database::~Database() {
  if (checkpointer_) checkpointer_->stop();
}

std::unique_ptr<Session> Database::connect(bool is_writer) {
  if (dsn_.dialect == Dialect::sqlite) {
    std::unique_lock lock(mutex_);
    const bool must_exist = file_.has_value();
    lock.unlock();
    return connect_sqlite(dsn_, is_writer, must_exist, *checkpointer_);
  }
  std::string uri = postgresql_uri(dsn_);
  // The last one counts. libpq knows whole seconds, 2 at least.
  if (const std::int64_t limit = dsn_.is_external_crm ? ThreadCallDeadline::remaining_millis() : 0; limit > 0)
    uri += "&connect_timeout=" + std::to_string(std::max<std::int64_t>(limit / kSecondMillis, 2));
  if (is_unreachable_) probe_connection(uri, dsn_.is_external_crm);
  auto session = connect_postgresql(uri, dsn_.is_external_crm);
  is_unreachable_ = false;
  const ActiveQuery active(session->socket(), dsn_.is_external_crm);
  check_new_connection(dsn_, *session);
  return session;
}

void Database::refuse_use(std::string reason) {
  const std::lock_guard lock(mutex_);
  refusal_ = std::move(reason);
}

void Database::check_usable() {
  std::optional<FileIdentity> opened;
  {
    const std::lock_guard lock(mutex_);
    if (!refusal_.empty()) throw DependencyError(true, refusal_, dsn_.is_external_crm);
    opened = file_;
  }
  if (opened && identify_file(dsn_.connection) != opened)
    throw DependencyError(true,
                          "the store's file " + dsn_.connection +
                              " was deleted, moved or replaced while in use: put it back; a deleted one "
                              "is whole until giftsyncd stops, see \"Store outage\" in troubleshooting.md; "
                              "if it is lost, restore the store from its backup and restart giftsyncd");
}

void Database::checkpoint() {
  try {
    read([](soci::session& session) { copy_write_ahead_log(connection_of(Session::of(session))); });
  } catch (const DependencyError&) {
    // The next commit meets the same fault, or the writer copies all.
  }
}

Database::LeasedSession Database::acquire_session(bool is_writer) {
  check_usable();
  std::int64_t generation = 0;
  {
    const std::lock_guard lock(mutex_);
    generation = generation_;
    if (is_writer && idle_writer_) return {std::move(idle_writer_), generation};
    if (!is_writer && !idle_.empty()) {
      auto session = std::move(idle_.back());
      idle_.pop_back();
      return {std::move(session), generation};
    }
  }
  LeasedSession leased{connect(is_writer), generation};
  if (dsn_.dialect == Dialect::sqlite && !dsn_.is_external_crm) {
    const std::lock_guard lock(mutex_);
    if (!file_) file_ = identify_file(dsn_.connection);
  }
  return leased;
}

/// One that was out while a fault ended all others ends too, and one whose transaction would not end.
void Database::release_session(LeasedSession leased, bool is_writer) {
  if (!leased.session->is_idle()) return;
  const std::lock_guard lock(mutex_);
  if (leased.generation != generation_) return;
  if (is_writer)
    idle_writer_ = std::move(leased.session);
  else if (idle_.size() < kMaxIdleSessions)
    idle_.push_back(std::move(leased.session));
}

void Database::drop_idle_sessions() {
  is_unreachable_ = true;  // possibly; the next caller that connects checks first
  std::vector<std::unique_ptr<Session>> dead;
  const std::lock_guard lock(mutex_);
  ++generation_;
  dead.swap(idle_);
  if (idle_writer_) dead.push_back(std::move(idle_writer_));
}

void Database::run_once(Mode mode, soci::session& session, std::int64_t limit,
                        const std::function<void(soci::session&)>& work) {
  // PostgreSQL keeps a limit that is set outside of a transaction.
  if (mode == Mode::read && (limit == 0 || dsn_.dialect == Dialect::sqlite)) {
    const ReadDeadline deadline(session, limit);
    work(session);
    return;
  }
  const bool is_write = mode != Mode::snapshot && mode != Mode::read;
  OpenTransaction transaction(session, begin_statement(dsn_.dialect, is_write));
  std::shared_ptr<const Addition> added;
  {
    const ReadDeadline deadline(session, limit);
    if (is_write && has_addition_ && !NoChange::exists())
      added = run_with_addition(session, work);
    else
      work(session);
  }
  if (is_write) check_usable();  // what is committed to a file without a name is lost
  try {
    transaction.commit();
  } catch (const soci::soci_error& error) {
    const bool unknown = is_write && classify(error) == ErrorKind::connection;
    if (unknown)
      throw CommitOutcomeUnknown(
          "the connection broke while committing: " + collapse_whitespace(error_message(error)),
          dsn_.is_external_crm);
    throw;
  }
  if (!added) return;
  const std::lock_guard lock(mutex_);
  if (addition_ != added) return;
  addition_ = nullptr;
  has_addition_ = false;
}

void Database::add_to_next_change(Addition add) {
  const std::lock_guard lock(mutex_);
  has_addition_ = add != nullptr;
  addition_ = add ? std::make_shared<const Addition>(std::move(add)) : nullptr;
}

std::shared_ptr<const Database::Addition> Database::run_with_addition(
    soci::session& session, const std::function<void(soci::session&)>& work) {
  std::unique_lock lock(mutex_);
  std::shared_ptr<const Addition> addition = addition_;
  lock.unlock();
  const std::int64_t before = changed_rows(session);
  work(session);
  if (!addition || changed_rows(session) == before) return nullptr;
  (*addition)(session);
  return addition;
}

std::int64_t Database::changed_rows(soci::session& session) const {
  if (dsn_.dialect == Dialect::sqlite)
    return sqlite_api::sqlite3_total_changes(connection_of(Session::of(session))) - NoChange::id_rows();
  // Without statistics whether the transaction has written at all; rows that are only locked, and ids, count
  // there.
  std::int64_t rows = 0;
  session << "SELECT cast(CASE WHEN current_setting('track_counts') = 'on' THEN (SELECT "
             "coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) FROM pg_stat_xact_user_tables WHERE "
             "relname <> 'id_block') ELSE "
             "count(txid_current_if_assigned()) END AS bigint)",
      soci::into(rows);
  return rows;
}

std::int64_t Database::read_limit(Mode mode) const {
  if (mode != Mode::read && mode != Mode::snapshot) return 0;
  return dsn_.is_external_crm ? ThreadCallDeadline::remaining_millis() : ReadLimit::millis();
}

void Database::run(Mode mode, const std::function<void(soci::session&)>& work) {
  const bool is_write = mode == Mode::write || mode == Mode::urgent_write;
  const bool is_writer = is_write && writer_lock_;
  const WriterLock::Guard guard(is_writer ? writer_lock_.get() : nullptr, mode == Mode::urgent_write);
  for (int attempt = 1;; ++attempt) {
    LeasedSession leased;
    std::optional<ActiveQuery> active;
    const std::int64_t limit = read_limit(mode);
    try {
      leased = acquire_session(is_writer);
      leased.session->keeps_feed = keeps_feed_;
      active.emplace(leased.session->socket(), dsn_.is_external_crm,
                     dsn_.is_external_crm && limit > 0 ? limit + kAnswerMillis : 0);
      run_once(mode, *leased.session, limit, work);
      active.reset();
      release_session(std::move(leased), is_writer);
      return;
    } catch (const CommitOutcomeUnknown&) {
      drop_idle_sessions();
      throw;
    } catch (const soci::soci_error& error) {
      const bool had_session = leased.session != nullptr;
      const bool was_aborted = active && active->was_aborted();
      active.reset();
      // Checks of a new connection may meet another writer's change (serializable isolation).
      const bool is_conflict =
          !was_aborted && dsn_.dialect == Dialect::postgresql && classify(error) == ErrorKind::conflict;
      const ErrorKind fault =
          was_aborted || (!had_session && !is_conflict) ? connect_error_kind(dsn_.dialect) : classify(error);
      // A session opened on a sick disk stays read-only on SQLite, so after a fault of the world none is used
      // again.
      const bool sessions_good = fault != ErrorKind::connection && fault != ErrorKind::resource;
      if (had_session && sessions_good) release_session(std::move(leased), is_writer);
      if (!sessions_good) drop_idle_sessions();
      if (limit > 0 && is_interrupted(error)) {
        const std::string took = " took more than " + std::to_string(limit) + " ms";
        if (dsn_.is_external_crm) throw DependencyError(true, "the CRM's database" + took, true);
        throw ReadTooLong("a read of the store" + took);
      }
      // SQLite has waited for its busy_timeout already, and PostgreSQL for a lock; its conflicts end at once.
      const bool again = (fault == ErrorKind::conflict && dsn_.dialect == Dialect::postgresql) ||
                         (fault == ErrorKind::connection && had_session && !was_aborted);
      if (!again || attempt == kMaxAttempts)
        throw_error(dsn_, fault, is_write,
                    was_aborted ? "it accepts queries and does not respond"
                                : error_message(error) + cause_of(dsn_, fault, error));
      if (fault == ErrorKind::conflict) pause_before_retry(attempt);
    } catch (...) {
      active.reset();  // while the connection is certainly still its own
      if (leased.session) release_session(std::move(leased), is_writer);
      throw;
    }
  }
}

std::string json_text(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (byte < 0x20) {
      constexpr std::string_view kHex = "0123456789abcdef";
      text += "\\u00";
      text += kHex[byte >> 4];
      text += kHex[byte & 15];
    } else {
      text += c;
    }
  }
  return text += '"';
}

std::string in_list(Dialect dialect, std::string_view column, std::string_view name, bool of_text) {
  const std::string parameter = ":" + std::string(name);
  if (dialect == Dialect::sqlite)
    return std::string(column) + " IN (SELECT value FROM json_each(" + parameter + "))";
  return std::string(column) + " = ANY(cast(" + parameter + (of_text ? " as text[]))" : " as bigint[]))");
}

std::string in_subquery(Dialect dialect, const std::string& rows) {
  return dialect == Dialect::postgresql ? "= ANY(ARRAY(" + rows + "))" : "IN (" + rows + ")";
}

std::string_view database_now(Dialect dialect) {
  if (dialect == Dialect::postgresql)
    return "cast(floor(extract(epoch from clock_timestamp()) * 1000) as bigint)";
  return "cast(round((julianday('now') - 2440587.5) * 86400000.0) as integer)";
}

std::vector<std::string> durability_warnings(Database& database) {
  std::vector<std::string> warnings;
  if (database.dialect() != Dialect::postgresql) return warnings;
  for (const char* const name : {"fsync", "full_page_writes"}) {
    const std::string value = database.read([&](soci::session& session) {
      std::string found;
      session << "SHOW " << name, soci::into(found);
      return found;
    });
    if (value == "off")
      warnings.push_back(
          std::string(name) +
          " is off in the PostgreSQL server: a crash of its machine may lose or damage what giftsync "
          "has confirmed; set it to on in postgresql.conf and reload the server");
  }
  return warnings;
}

}  // namespace giftsync::sql
