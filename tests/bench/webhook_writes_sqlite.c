// See webhook_writes.h. SQLite's own C API, with the daemon's pragmas and statements prepared once.
#include <sqlite3.h>
#include <stddef.h>

#include "baseline.h"
#include "webhook_writes.h"

static sqlite3* database;
static sqlite3_stmt* begin_statement;
static sqlite3_stmt* change_statement;
static sqlite3_stmt* mark_statement;
static sqlite3_stmt* count_statement;
static sqlite3_stmt* commit_statement;

static void check(int result, int wanted, const char* doing) {
  if (result != wanted) fail(doing, sqlite3_errmsg(database));
}

static void execute(const char* sql) {
  check(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK, sql);
}

static sqlite3_stmt* prepare(const char* sql) {
  sqlite3_stmt* statement = NULL;
  check(sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL), SQLITE_OK, sql);
  return statement;
}

static void run(sqlite3_stmt* statement) {
  check(sqlite3_step(statement), SQLITE_DONE, sqlite3_sql(statement));
  check(sqlite3_reset(statement), SQLITE_OK, sqlite3_sql(statement));
}

static void write_change(long long number) {
  sqlite3_bind_int64(change_statement, 1, number);
  sqlite3_bind_int64(change_statement, 2, GIFT_OF_CHANGE(number));
  sqlite3_bind_int64(change_statement, 3, number);
  run(change_statement);
  sqlite3_bind_int64(mark_statement, 1, GIFT_OF_CHANGE(number));
  run(mark_statement);
}

static void commit_group(long long first_id, long size) {
  run(begin_statement);
  for (long i = 0; i < size; ++i) write_change(first_id + i);
  sqlite3_bind_int64(count_statement, 1, size);
  run(count_statement);
  run(commit_statement);
}

int main(int argc, char** argv) {
  const struct options options = read_options(argc, argv, false);
  check(sqlite3_open(options.database, &database), SQLITE_OK, "open the database");
  // As in schema/sql/database.cpp.
  execute("PRAGMA journal_mode = WAL");
  execute("PRAGMA synchronous = FULL");
  execute("PRAGMA wal_autocheckpoint = 4000");
  execute("PRAGMA cache_size = -32768");
  each_ddl_statement(options.schema, "sqlite", "INTEGER PRIMARY KEY", execute);
  execute(SOURCE_ROW);
  begin_statement = prepare("BEGIN IMMEDIATE");
  change_statement = prepare(
      "INSERT INTO change_log (id, source, transaction_id, status, premise, occurred_at, received_at, "
      "orphaned, "
      "gift_source) VALUES (?, 'vendor', ?, 'opened', '', ?, 1800000000000, 0, '') ON CONFLICT DO NOTHING");
  mark_statement = prepare(
      "INSERT INTO crm_outbox (transaction_id, mark_seq, next_attempt_at, attempts, lease_owner, "
      "lease_until, "
      "last_error) VALUES (?, 1, 1800000000000, 0, '', 0, '')" MARK_CONFLICT);
  count_statement =
      prepare("UPDATE source SET last_received_at = 1, accepted = accepted + ? WHERE name = 'vendor'");
  commit_statement = prepare("COMMIT");
  run_groups(options, commit_group);
  return 0;
}
