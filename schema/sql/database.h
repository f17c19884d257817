// schema/sql: one database (SQLite file or PostgreSQL), its sessions, transactions and errors. Every query of
// the program runs inside Database::read or Database::write; SOCI's exceptions become BrokenWorld here and
// nowhere else. Included by schema/'s .cpp files only.
#pragma once

#include <soci/soci.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/broken_world.h"
#include "schema/database_address.h"
#include "schema/sql/soci_types.h"
#include "schema/sql/write_turn.h"

namespace giftsync::schema::sql {

class Session;

/// The connection broke while COMMIT ran: the transaction may or may not stand. Whoever needs to know looks.
class CommitUnknown : public BrokenWorld {
 public:
  CommitUnknown(const std::string& what, bool of_foreign_crm) : BrokenWorld(true, what, of_foreign_crm) {}
};

/// A unique or other constraint refused the statement, or a value that its column cannot hold.
class ConstraintBroken : public BrokenWorld {
 public:
  explicit ConstraintBroken(const std::string& what) : BrokenWorld(false, what) {}
};

class Database {
 public:
  /// The one that everybody in this process shares who works in the database at `address`: a connection of
  /// SQLite's forgets the pages it has read when another one writes, so store and managed CRM use the same.
  static std::shared_ptr<Database> of(const DatabaseAddress& address);
  explicit Database(DatabaseAddress address);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  Dialect dialect() const { return address_.dialect; }

  /// Runs `work(soci::session&)` outside an explicit transaction; use it for single statements that read. A
  /// connection that turns out to be dead is replaced and `work` runs again, a few times. Any thread.
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
  /// exception rolls back. `work` may run again after a deadlock or a dead connection, always from a clean
  /// transaction, so it must not leave traces outside the database before it returns. Any thread.
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

  /// A write that somebody waits for: on SQLite it goes before the loops' writes.
  template <class Work>
  auto write_urgently(Work&& work) {
    std::optional<decltype(work(std::declval<soci::session&>()))> result;
    run(Mode::urgent_write, [&](soci::session& session) { result.emplace(work(session)); });
    return std::move(*result);
  }

  /// Repeats `part`, which changes at most kRowsInPart rows and returns how many, until it finds none: fewer
  /// than it may change says nothing, others may have changed some at that moment. Each time is a
  /// transaction, so that others get the lock in between. Returns how many there were.
  template <class Part>
  std::int64_t write_in_parts(Part&& part) {
    std::int64_t all = 0;
    for (std::int64_t changed = 1; changed > 0; all += changed) changed = write(part);
    return all;
  }

  /// A read that must see one moment over several statements (a snapshot on both back ends).
  template <class Work>
  auto snapshot(Work&& work) {
    using Result = decltype(work(std::declval<soci::session&>()));
    std::optional<Result> result;
    run(Mode::snapshot, [&](soci::session& session) { result.emplace(work(session)); });
    return std::move(*result);
  }

  static constexpr std::int64_t kRowsInPart = 20'000;

 private:
  enum class Mode { read, write, urgent_write, snapshot };
  void run(Mode mode, const std::function<void(soci::session&)>& work);
  void run_once(Mode mode, soci::session& session, const std::function<void(soci::session&)>& work);
  /// A session, and in which generation it was made or found good.
  struct Leased {
    std::unique_ptr<Session> session;
    std::int64_t generation = 0;
  };
  Leased lease();
  void give_back(Leased leased);
  std::unique_ptr<Session> connect();
  void forget_idle_sessions();

  const DatabaseAddress address_;
  const std::shared_ptr<WriteTurn> turn_;  // SQLite only
  std::mutex mutex_;
  std::vector<std::unique_ptr<Session>> idle_;  // guarded by mutex_
  std::int64_t generation_ =
      0;  // guarded by mutex_; grows with each fault after which no session is used again
  std::atomic<bool> is_away_ = false;  // PostgreSQL only: it could not be reached when last tried
};

/// How a statement is prepared that is run once: in one trip to PostgreSQL. A repeatable one takes three
/// (PREPARE, run, DEALLOCATE), and SOCI never keeps it for the next time.
inline constexpr auto kRunOnce = soci::details::st_one_time_query;

/// A statement with its soci::use and soci::into, ready to run: see kRunOnce. What is bound must outlive it.
template <class... Exchanged>
soci::statement bound(soci::session& session, std::string_view text, Exchanged&&... exchanged) {
  soci::statement statement(session);
  (statement.exchange(exchanged), ...);
  statement.alloc();
  statement.prepare(std::string(text), kRunOnce);
  statement.define_and_bind();
  return statement;
}

/// Runs a prepared SELECT to its end, calling `row()` after each fetch. A SELECT that is not drained keeps
/// its snapshot on SQLite and makes later writes fail, so nothing else in the program fetches.
template <class RowWork>
void each_row(soci::statement& statement, RowWork&& row) {
  statement.execute();
  while (statement.fetch()) row();
}

/// "column IN (the list bound as :name)". Bind the value with list_of().
std::string in_list(Dialect dialect, std::string_view column, std::string_view name, bool of_text);
/// "IN (rows)", for a SELECT with a LIMIT whose rows are locked: it runs once. PostgreSQL might run a plain
/// subquery again for each row, with other rows as its answer each time.
std::string is_one_of(Dialect dialect, const std::string& rows);
std::string list_of(Dialect dialect, const std::vector<std::int64_t>& values);
std::string list_of(Dialect dialect, const std::vector<std::string>& values);

/// A JSON string of well-formed UTF-8.
std::string json_text(std::string_view value);

/// The database's own clock in UTC milliseconds, as an SQL expression: leases are timed by it (design 2).
std::string_view database_now(Dialect dialect);

/// Of a table with leases: those that run for longer than `longest_millis` were taken while the database's
/// clock was ahead, and run for so long from now on.
void cut_leases(soci::session& session, Dialect dialect, std::string_view table, std::int64_t longest_millis);

/// Runs the statements of an embedded .sql file: "@key@" is the type of a 64-bit primary key, "@id@" that of
/// a text which is compared byte by byte and sorted for no reader, blocks between
/// "--@sqlite" / "--@postgresql" and "--@end" are for that back end alone, statements end with ";;" at a
/// line's end.
std::vector<std::string> statements_of(Dialect dialect, std::string_view script);
void run_script(soci::session& session, Dialect dialect, std::string_view script);

}  // namespace giftsync::schema::sql
