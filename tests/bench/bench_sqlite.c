// Durable group commits through SQLite's own C API, with the daemon's pragmas and statements prepared once.
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "baseline.h"

static sqlite3* database;
static sqlite3_stmt* begin_statement;
static sqlite3_stmt* commit_statement;
static sqlite3_stmt* inserts[TABLES];

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

static void prepare_inserts(void) {
  for (int i = 0; i < TABLES; ++i) {
    char names[300] = "";
    char places[2 * MAX_COLUMNS + 1] = "";
    for (int column = 0; column < tables[i].columns; ++column) {
      if (column > 0) strcat(names, ", ");
      strcat(names, tables[i].column[column]);
      strcat(places, column > 0 ? ",?" : "?");
    }
    char sql[500];
    snprintf(sql, sizeof sql, "INSERT INTO %s (%s) VALUES (%s)", tables[i].name, names, places);
    inserts[i] = prepare(sql);
  }
  begin_statement = prepare("BEGIN IMMEDIATE");
  commit_statement = prepare("COMMIT");
}

static void insert(int table, const struct value* cells) {
  sqlite3_stmt* statement = inserts[table];
  for (int column = 0; column < tables[table].columns; ++column) {
    const struct value* cell = &cells[column];
    if (cell->kind == INTEGER) sqlite3_bind_int64(statement, column + 1, cell->integer);
    if (cell->kind == TEXT) sqlite3_bind_text(statement, column + 1, cell->text, -1, SQLITE_TRANSIENT);
    if (cell->kind == ABSENT) sqlite3_bind_null(statement, column + 1);
  }
  run(statement);
}

static void commit_group(long long first_id, long size) {
  run(begin_statement);
  for (long i = 0; i < size; ++i) each_row_of_request(first_id + i, insert);
  run(commit_statement);
}

// Measures how many requests another program commits at a time, with a query every 50 microseconds.
static void watch_groups(double seconds) {
  sqlite3_stmt* newest = prepare("SELECT coalesce(max(id), 0) FROM gift_request");
  const struct timespec pause = {0, 50000};
  const double end = seconds_now() + seconds;
  long long first = -1;
  long long last = -1;
  long long commits = 0;
  while (seconds_now() < end) {
    check(sqlite3_step(newest), SQLITE_ROW, "read the newest request");
    const long long id = sqlite3_column_int64(newest, 0);
    sqlite3_reset(newest);
    if (first < 0) first = last = id;
    if (id != last) ++commits;
    last = id;
    nanosleep(&pause, NULL);
  }
  printf("{\"requests_in_commit\": %.0f}\n", commits > 0 ? (double)(last - first) / (double)commits : 0.0);
}

int main(int argc, char** argv) {
  const struct options options = read_options(argc, argv, true);
  check(sqlite3_open(options.database, &database), SQLITE_OK, "open the database");
  sqlite3_busy_timeout(database, 10000);
  if (options.watch) {
    watch_groups(options.seconds);
    return 0;
  }
  // As in schema/sql/database.cpp.
  execute("PRAGMA journal_mode = WAL");
  execute("PRAGMA synchronous = FULL");
  execute("PRAGMA foreign_keys = ON");
  execute("PRAGMA wal_autocheckpoint = 4000");
  execute("PRAGMA cache_size = -32768");
  each_ddl_statement(options.schema, "sqlite", "INTEGER PRIMARY KEY", execute);
  prepare_inserts();
  run_groups(options, commit_group);
  return 0;
}
