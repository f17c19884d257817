// schema/sql: one database (SQLite file or PostgreSQL) with its sessions, transactions and errors. Every
// query of the program runs inside Database::read or Database::write, which alone convert SOCI's
// exceptions to DependencyError. Included by schema/'s .cpp files only.
#pragma once

#include <soci/soci.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "platform/dependency_error.h"
#include "schema/sql/dsn.h"
#include "schema/sql/soci_conversions.h"
#include "schema/sql/sqlite_file.h"

namespace giftsync::sql {

class Session;

/// The connection broke during COMMIT: the transaction may or may not be committed. The caller has to
/// check.
class CommitOutcomeUnknown : public DependencyError {
 public:
  CommitOutcomeUnknown(const std::string& what, bool of_external_crm)
      : DependencyError(true, what, of_external_crm) {}
};

/// A unique or other constraint refused the statement, or a column cannot hold the value.
class ConstraintViolation : public DependencyError {
 public:
  explicit ConstraintViolation(const std::string& what) : DependencyError(false, what) {}
};

class Database {
 public:
  /// The instance that all users of the database at `dsn` share in this process. An SQLite connection
  /// discards its page cache when another connection writes; therefore store and managed CRM use the
  /// same one.
  static std::shared_ptr<Database> shared(const Dsn& dsn);
  explicit Database(Dsn dsn);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  Dialect dialect() const { return dsn_.dialect; }

  /// From now on every read and write throws a DependencyError with this reason.
  void refuse_use(std::string reason);

  /// Runs `work(soci::session&)` without an explicit transaction; for single statements that read. A
  /// dead connection is replaced and `work` runs again, a few times. Any thread.
  template <class Work>
  auto read(Work&& work) {
    using Result = decltype(work(std::declval<soci::session&>()));
    if constexpr (std::is_void_v<Result>) {
      run(Mode::read, [&](soci::session& session) { work(session); });
    } else {
      std::optional<Result> result;
      run(Mode::read, [&](soci::session& session) { result.emplace(work(session)); });
      return std::move(*result);
    }
  }

  /// Runs `work(soci::session&)` inside one transaction (BEGIN IMMEDIATE on SQLite) and commits it; an
  /// exception rolls back. `work` may run again after a deadlock or a dead connection, always in a
  /// fresh transaction, so it must have no effect outside the database before it returns. Any thread.
  template <class Work>
  auto write(Work&& work) {
    using Result = decltype(work(std::declval<soci::session&>()));
    if constexpr (std::is_void_v<Result>) {
      run(Mode::write, [&](soci::session& session) { work(session); });
    } else {
      std::optional<Result> result;
      run(Mode::write, [&](soci::session& session) { result.emplace(work(session)); });
      return std::move(*result);
    }
  }

  /// A write that a caller waits for: on SQLite it has priority over the workers' writes.
  template <class Work>
  auto write_urgent(Work&& work) {
    std::optional<decltype(work(std::declval<soci::session&>()))> result;
    run(Mode::urgent_write, [&](soci::session& session) { result.emplace(work(session)); });
    return std::move(*result);
  }

  /// Repeats `part`, which changes at most kMaxRowsPerBatch rows and returns how many, until it changes
  /// none. (Fewer than the maximum does not mean the end: other writers may have changed some rows
  /// meanwhile.) Each run is a transaction of its own, so that other writers get the lock in between.
  /// Returns the total.
  template <class Part>
  std::int64_t write_in_batches(Part&& part) {
    std::int64_t all = 0;
    for (std::int64_t changed = 1; changed > 0; all += changed) changed = write(part);
    return all;
  }

  /// A read whose statements all see the same snapshot (on both back ends).
  template <class Work>
  auto snapshot(Work&& work) {
    using Result = decltype(work(std::declval<soci::session&>()));
    std::optional<Result> result;
    run(Mode::snapshot, [&](soci::session& session) { result.emplace(work(session)); });
    return std::move(*result);
  }

  /// Whether the writers of this process mark what the feed has to publish (API-10); not at first. Here,
  /// since all of them, of each Store of this database, meet only in its sessions. Any thread; a transaction
  /// that is in progress goes on as it began.
  void keep_feed(bool keeps) { keeps_feed_ = keeps; }

  static constexpr std::int64_t kMaxRowsPerBatch = 20'000;

  using Addition = std::function<void(soci::session&)>;
  /// The next write that changes a row ends with `add`, in its transaction, and is the only one. Null: none
  /// does. A write that is rolled back leaves it for the next one.
  void add_to_next_change(Addition add);

 private:
  enum class Mode { read, write, urgent_write, snapshot };
  void run(Mode mode, const std::function<void(soci::session&)>& work);
  /// ReadLimit of this thread, as far as it applies; 0: none.
  /// The limit of the present thread, in milliseconds; 0: none.
  std::int64_t read_limit(Mode mode) const;
  void run_once(Mode mode, soci::session& session, std::int64_t limit,
                const std::function<void(soci::session&)>& work);
  /// Runs `work`, and what add_to_next_change() got if it has changed a row. Returns what it added, or null.
  std::shared_ptr<const Addition> run_with_addition(soci::session& session,
                                                    const std::function<void(soci::session&)>& work);
  std::int64_t changed_rows(soci::session& session) const;
  /// A session and the generation in which it was created or checked.
  struct LeasedSession {
    std::unique_ptr<Session> session;
    std::int64_t generation = 0;
  };
  LeasedSession acquire_session(bool is_writer);
  void release_session(LeasedSession leased, bool is_writer);
  /// Copies SQLite's write-ahead log. Any thread.
  void checkpoint();
  std::unique_ptr<Session> connect(bool is_writer);
  /// Throws a DependencyError when the database must not be used: refuse_use(), or the store's file is not
  /// the one that was opened (ARCH-38).
  void check_usable();
  void drop_idle_sessions();

  const Dsn dsn_;
  const std::shared_ptr<WriterLock> writer_lock_;  // SQLite only
  std::mutex mutex_;
  std::vector<std::unique_ptr<Session>> idle_;  // guarded by mutex_
  /// Guarded by mutex_. SQLite only: used by all writes, since a connection discards its page cache when
  /// another one has written.
  std::unique_ptr<Session> idle_writer_;
  std::optional<FileIdentity> file_;  // guarded by mutex_; SQLite store only: the file that was opened first
  std::string refusal_;               // guarded by mutex_; empty: none
  std::shared_ptr<const Addition> addition_;  // guarded by mutex_; null: none
  std::atomic<bool> has_addition_ = false;
  std::atomic<bool> keeps_feed_ = false;
  std::int64_t generation_ =
      0;  // guarded by mutex_; grows with each fault after which no session is used again
  std::atomic<bool> is_unreachable_ = false;  // PostgreSQL only: the last connection attempt failed
  std::optional<Checkpointer> checkpointer_;  // SQLite only; last: its thread uses all of the above
};

/// How to prepare a statement that runs once: PostgreSQL needs one round trip. A repeatable statement
/// takes three (PREPARE, run, DEALLOCATE), and SOCI never reuses it.
inline constexpr auto kRunOnce = soci::details::st_one_time_query;

/// Conditions that all hold, with the values of their parameters: texts, or the digits of a value, which the
/// comparison converts to a number. SOCI counts what it binds, so an unused parameter must not be added.
struct Conditions {
  std::string text = {};
  std::vector<std::string> names = {};
  std::vector<std::string> values = {};

  void add(const std::string& condition) { text.append(text.empty() ? "" : " AND ").append(condition); }
  void add(const std::string& condition, const std::string& name, std::string value) {
    add(condition);
    bind(name, std::move(value));
  }
  /// A further parameter of a condition.
  void bind(const std::string& name, std::string value) {
    names.push_back(name);
    values.push_back(std::move(value));
  }
};

template <class Exchanged>
void exchange_into(soci::statement& statement, Exchanged& exchanged) {
  statement.exchange(exchanged);
}
inline void exchange_into(soci::statement& statement, const Conditions& conditions) {
  for (std::size_t i = 0; i < conditions.names.size(); ++i)
    statement.exchange(soci::use(conditions.values[i], conditions.names[i]));
}
inline void exchange_into(soci::statement& statement, Conditions& conditions) {
  exchange_into(statement, std::as_const(conditions));
}

/// A statement with its soci::use, soci::into and Conditions, ready to run: see kRunOnce. Bound values must
/// outlive it.
template <class... Exchanged>
soci::statement bound(soci::session& session, std::string_view text, Exchanged&&... exchanged) {
  soci::statement statement(session);
  (exchange_into(statement, exchanged), ...);
  statement.alloc();
  statement.prepare(std::string(text), kRunOnce);
  statement.define_and_bind();
  return statement;
}

/// Runs a prepared SELECT to its end and calls `row()` after each fetch. On SQLite a SELECT that is not
/// drained retains its snapshot and makes later writes fail; therefore all fetching goes through this
/// function.
template <class RowWork>
void each_row(soci::statement& statement, RowWork&& row) {
  statement.execute();
  while (statement.fetch()) row();
}

/// "column IN (the list bound as :name)". Bind the value with list_of().
std::string in_list(Dialect dialect, std::string_view column, std::string_view name, bool of_text);
/// "IN (rows)" for a SELECT with a LIMIT whose rows are locked: it runs once. PostgreSQL may run a plain
/// subquery again for each row, with a different result each time.
std::string in_subquery(Dialect dialect, const std::string& rows);

/// A JSON string of well-formed UTF-8.
std::string json_text(std::string_view value);
/// One quoted element of a PostgreSQL array literal.
std::string array_text(std::string_view value);

/// Texts, numbers or ids as the value of an in_list().
template <class Values>
std::string list_of(Dialect dialect, const Values& values) {
  const bool sqlite = dialect == Dialect::sqlite;
  std::string text(1, sqlite ? '[' : '{');
  for (const auto& value : values) {
    if (text.size() > 1) text += ',';
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, std::string>)
      text += sqlite ? json_text(value) : array_text(value);
    else if constexpr (std::is_integral_v<Value>)
      text += std::to_string(value);
    else
      text += std::to_string(value.value);
  }
  return text += sqlite ? ']' : '}';
}

/// The database's own clock in UTC milliseconds, as an SQL expression: leases are timed by it (ARCH-17).
std::string_view database_now(Dialect dialect);

/// Runs the statements of an embedded .sql file: "@key@" is the type of a 64-bit primary key, "@id@" the
/// type of a text that is compared byte by byte and never sorted for display. Blocks between "--@sqlite"
/// / "--@postgresql" and "--@end" are for that back end only; those that begin with "--@background", or with
/// "--@background sqlite" or "--@background postgresql", run after the start
/// (schema/store/background_work.h). Statements end with ";;" at a line's end.
enum class ScriptPart : std::uint8_t { start, background };
std::vector<std::string> statements_of(Dialect dialect, std::string_view script,
                                       ScriptPart part = ScriptPart::start);
void run_script(soci::session& session, std::string_view script);

/// What the settings of a PostgreSQL server put at risk when its machine crashes, with the next step; each
/// begins with the setting's name. Empty for none, and for SQLite. Throws DependencyError.
std::vector<std::string> durability_warnings(Database& database);

}  // namespace giftsync::sql
