#include "schema/sql/database.h"

#include <soci/postgresql/soci-postgresql.h>

#include <map>
#include <tuple>

#include "schema/sql/bulk_insert.h"
#include "schema/sql/owed_answer.h"
#include "schema/sql/postgresql_connection.h"
#include "schema/sql/session.h"
#include "schema/text.h"

namespace giftsync::schema::sql {
namespace {

constexpr std::size_t kMaxIdleSessions = 16;
constexpr int kMaxTries = 4;

/// What kind of fault a SOCI exception is. SOCI's own categories are `unknown` for SQLite, hence one
/// classifier here.
enum class Fault { connection, conflict, locked, constraint, resource, statement };

Fault classify_sqlite(const soci::sqlite3_soci_error& error) {
  switch (error.result() & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Fault::conflict;
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
      return Fault::constraint;
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_NOMEM:
    case SQLITE_PERM:
      return Fault::resource;
    default:
      return Fault::statement;
  }
}

/// A trigger of the database's owner has raised an error over the row, with whatever state it chose: the
/// lines behind the first one name the statement, in any language of the server.
bool is_raised_by_trigger(const std::string& state, const std::string& message) {
  return state == "P0001" || message.find(" RAISE", message.find('\n')) != std::string::npos;
}

Fault classify_postgresql(const soci::postgresql_soci_error& error) {
  const std::string state = error.sqlstate();
  // A kept statement that the server forgot, or whose answer has another shape since a table changed: a new
  // connection prepares it anew.
  if (state == "26000" ||
      (state == "0A000" && error.get_error_message().find("cached plan") != std::string::npos))
    return Fault::connection;
  if (state == "40001" || state == "40P01") return Fault::conflict;
  if (state == "55P03") return Fault::locked;
  // Class 22: a value that its column cannot hold, which SQLite reports as a broken constraint or a mismatch.
  if (state.starts_with("23") || state.starts_with("22") ||
      is_raised_by_trigger(state, error.get_error_message()))
    return Fault::constraint;
  // A policy of the owner's that this row does not satisfy; a right that is missing has the same state.
  if (state == "42501" && error.get_error_message().find("row-level security") != std::string::npos)
    return Fault::constraint;
  if (state.starts_with("08") || state.starts_with("57P") || state == "25P03" || state.empty() ||
      state == "     ")
    return Fault::connection;
  if (state.starts_with("53") || state.starts_with("58") || state == "25006") return Fault::resource;
  return error.get_error_category() == soci::soci_error::connection_error ? Fault::connection
                                                                          : Fault::statement;
}

Fault classify(const soci::soci_error& error) {
  if (const auto* sqlite = dynamic_cast<const soci::sqlite3_soci_error*>(&error))
    return classify_sqlite(*sqlite);
  if (const auto* postgresql = dynamic_cast<const soci::postgresql_soci_error*>(&error))
    return classify_postgresql(*postgresql);
  return error.get_error_category() == soci::soci_error::connection_error ? Fault::connection
                                                                          : Fault::statement;
}

/// The database's own words. what() would add the statement with all its values: people's addresses, messages
/// and links; the lines behind PostgreSQL's first one (DETAIL) may hold the whole row.
std::string error_words(const soci::soci_error& error) {
  constexpr std::size_t kMostBytes = 500;
  std::string words = error.get_error_message();
  const auto* postgresql = dynamic_cast<const soci::postgresql_soci_error*>(&error);
  const bool is_of_statement = postgresql && classify_postgresql(*postgresql) != Fault::connection;
  if (is_of_statement) words.resize(std::min(words.find('\n'), words.size()));
  constexpr std::string_view kDriver = "Cannot execute query. Fatal error. ";  // nothing that ends anything
  if (words.starts_with(kDriver)) words.erase(0, kDriver.size());
  return words.substr(0, kMostBytes);
}

/// Drivers answer in lines with tabs; the log and the commands tell it in one.
std::string with_single_blanks(const std::string& text) {
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

/// SOCI tells nothing about why a connection could not be made; it is never the statement's fault.
Fault connecting_fault(Dialect dialect) {
  return dialect == Dialect::postgresql ? Fault::connection : Fault::resource;
}

/// `writes`: what only reads has no row that could be refused.
[[noreturn]] void raise(const DatabaseAddress& address, Fault fault, bool writes, const std::string& words) {
  const std::string what = with_single_blanks(words);
  const std::string database = address.foreign ? "the CRM's database" : "the database";
  const auto broken = [&](bool transient, const char* how) {
    return BrokenWorld(transient, database + how + what, address.foreign);
  };
  if (fault == Fault::constraint && writes) throw ConstraintBroken(database + " refused a row: " + what);
  if (fault == Fault::connection) throw broken(true, " cannot be reached: ");
  if (fault == Fault::conflict || fault == Fault::locked) throw broken(true, " is busy: ");
  throw broken(fault == Fault::resource, " failed: ");
}

std::string_view begin_statement(Dialect dialect, bool writes) {
  if (dialect == Dialect::postgresql)
    return writes ? "BEGIN" : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
  return writes ? "BEGIN IMMEDIATE" : "BEGIN";
}

/// What SQLite asks while another program has the lock. Its own handler waits longer and longer, and is soon
/// asleep whenever the other program, an import for instance, lets go between two transactions.
int wait_for_other_program(void*, int times_asked) {
  constexpr int kLongestMillis = 10'000;
  if (times_asked >= kLongestMillis) return 0;
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

/// SQLite's own locks are for connections and memory counters that threads share: here a connection is one
/// thread's at a time, and nobody asks for the counters. Before SQLite's first use.
void spare_sqlite_its_locks() {
  static const bool done = [] {
    sqlite_api::sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
    sqlite_api::sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    return true;
  }();
  (void)done;
}

std::unique_ptr<Session> connected_to_postgresql(const std::string& uri, bool foreign) {
  auto session = std::make_unique<Session>(soci::postgresql, uri);
  const OwedAnswer owed(session->socket(), foreign);
  // libpq would print the server's notices between the lines of the log.
  PQsetNoticeProcessor(
      static_cast<soci::postgresql_session_backend*>(session->get_backend())->conn_,
      [](void*, const char*) {}, nullptr);
  *session << "SET client_encoding TO 'UTF8'";
  *session << "SET standard_conforming_strings TO on";
  // A daemon that is stopped inside a transaction (SIGSTOP, a frozen machine) must not hold its locks
  // against the others for as long as it sleeps. Shorter than every lease, and than what others wait.
  *session << "SET idle_in_transaction_session_timeout TO 10000";
  // Whoever holds a table for long, its owner with an ALTER TABLE for instance, is told of and waited for
  // again: a loop that waits for ever shows no life, and the watchdog would end the whole daemon.
  *session << "SET lock_timeout TO 15000";
  *session << "SET TIME ZONE 'UTC'";
  *session << "SET client_min_messages TO warning";
  return session;
}

std::unique_ptr<Session> connected_to_sqlite(const DatabaseAddress& address) {
  auto session = std::make_unique<Session>(soci::sqlite3, "db=\"" + address.connection + "\"");
  sqlite_api::sqlite3_busy_handler(static_cast<soci::sqlite3_session_backend*>(session->get_backend())->conn_,
                                   wait_for_other_program, nullptr);
  if (!address.foreign) *session << "PRAGMA journal_mode = WAL";  // it stays with the file
  for (const char* pragma : {"PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON",
                             "PRAGMA wal_autocheckpoint = 4000", "PRAGMA cache_size = -32768"}) {
    *session << pragma;
  }
  return session;
}

}  // namespace

std::shared_ptr<Database> Database::of(const DatabaseAddress& address) {
  static std::mutex mutex;
  static std::map<std::tuple<Dialect, std::string, std::string, bool>, std::weak_ptr<Database>> open;
  const std::lock_guard lock(mutex);
  std::weak_ptr<Database>& known =
      open[{address.dialect, address.connection, address.password, address.foreign}];
  std::shared_ptr<Database> database = known.lock();
  if (!database) known = database = std::make_shared<Database>(address);
  return database;
}

Database::Database(DatabaseAddress address)
    : address_(std::move(address)),
      turn_(address_.dialect == Dialect::sqlite ? WriteTurn::of_file(address_.connection) : nullptr) {
  spare_sqlite_its_locks();
}
Database::~Database() = default;

std::unique_ptr<Session> Database::connect() {
  if (address_.dialect == Dialect::sqlite) return connected_to_sqlite(address_);
  const std::string uri = postgresql_connection(address_);
  if (is_away_) require_answer(uri, address_.foreign);
  auto session = connected_to_postgresql(uri, address_.foreign);
  is_away_ = false;
  return session;
}

Database::Leased Database::lease() {
  std::int64_t generation = 0;
  {
    const std::lock_guard lock(mutex_);
    generation = generation_;
    if (!idle_.empty()) {
      auto session = std::move(idle_.back());
      idle_.pop_back();
      return {std::move(session), generation};
    }
  }
  return {connect(), generation};
}

/// One that was out while a fault ended all others ends too, and one whose transaction would not end.
void Database::give_back(Leased leased) {
  if (!leased.session->is_at_rest()) return;
  const std::lock_guard lock(mutex_);
  if (leased.generation == generation_ && idle_.size() < kMaxIdleSessions)
    idle_.push_back(std::move(leased.session));
}

void Database::forget_idle_sessions() {
  is_away_ = true;  // perhaps; who connects next looks first
  std::vector<std::unique_ptr<Session>> dead;
  const std::lock_guard lock(mutex_);
  ++generation_;
  dead.swap(idle_);
}

void Database::run_once(Mode mode, soci::session& session, const std::function<void(soci::session&)>& work) {
  if (mode == Mode::read) {
    work(session);
    return;
  }
  const bool writes = mode != Mode::snapshot;
  const WriteTurn::Holding turn(writes ? turn_.get() : nullptr, mode == Mode::urgent_write);
  OpenTransaction transaction(session, begin_statement(address_.dialect, writes));
  work(session);
  try {
    transaction.commit();
  } catch (const soci::soci_error& error) {
    const bool unknown = writes && classify(error) == Fault::connection;
    if (unknown)
      throw CommitUnknown("the connection broke while committing: " + with_single_blanks(error_words(error)),
                          address_.foreign);
    throw;
  }
}

void Database::run(Mode mode, const std::function<void(soci::session&)>& work) {
  for (int tried = 1;; ++tried) {
    Leased leased;
    std::optional<OwedAnswer> owed;
    try {
      leased = lease();
      owed.emplace(leased.session->socket(), address_.foreign);
      run_once(mode, *leased.session, work);
      owed.reset();
      give_back(std::move(leased));
      return;
    } catch (const CommitUnknown&) {
      forget_idle_sessions();
      throw;
    } catch (const soci::soci_error& error) {
      const bool had_session = leased.session != nullptr;
      const bool was_cut = owed && owed->was_cut();
      owed.reset();
      const Fault fault = was_cut || !had_session ? connecting_fault(address_.dialect) : classify(error);
      // A session opened on a sick disk stays read-only on SQLite, so after a fault of the world none is used
      // again.
      const bool sessions_good = fault != Fault::connection && fault != Fault::resource;
      if (had_session && sessions_good) give_back(std::move(leased));
      if (!sessions_good) forget_idle_sessions();
      // SQLite has waited for its busy_timeout already, and PostgreSQL for a lock; its conflicts end at once.
      const bool again = (fault == Fault::conflict && address_.dialect == Dialect::postgresql) ||
                         (fault == Fault::connection && had_session && !was_cut);
      const bool writes = mode == Mode::write || mode == Mode::urgent_write;
      if (!again || tried == kMaxTries)
        raise(address_, fault, writes,
              was_cut ? "it takes questions and gives no answer" : error_words(error));
    } catch (...) {
      owed.reset();  // while the connection is certainly still its own
      if (leased.session) give_back(std::move(leased));
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

std::string is_one_of(Dialect dialect, const std::string& rows) {
  return dialect == Dialect::postgresql ? "= ANY(ARRAY(" + rows + "))" : "IN (" + rows + ")";
}

std::string list_of(Dialect dialect, const std::vector<std::int64_t>& values) {
  std::string text(1, dialect == Dialect::sqlite ? '[' : '{');
  for (const std::int64_t value : values) {
    if (text.size() > 1) text += ',';
    text += std::to_string(value);
  }
  return text += dialect == Dialect::sqlite ? ']' : '}';
}

std::string list_of(Dialect dialect, const std::vector<std::string>& values) {
  std::string text(1, dialect == Dialect::sqlite ? '[' : '{');
  for (const std::string& value : values) {
    if (text.size() > 1) text += ',';
    text += dialect == Dialect::sqlite ? json_text(value) : array_text(value);
  }
  return text += dialect == Dialect::sqlite ? ']' : '}';
}

std::string_view database_now(Dialect dialect) {
  if (dialect == Dialect::postgresql)
    return "cast(floor(extract(epoch from clock_timestamp()) * 1000) as bigint)";
  return "cast(round((julianday('now') - 2440587.5) * 86400000.0) as integer)";
}

void cut_leases(soci::session& session, Dialect dialect, std::string_view table,
                std::int64_t longest_millis) {
  const std::string end = std::string(database_now(dialect)) + " + " + std::to_string(longest_millis);
  session << "UPDATE " + std::string(table) + " SET lease_until = " + end + " WHERE lease_until > " + end;
}

}  // namespace giftsync::schema::sql
