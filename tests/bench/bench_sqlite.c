// Durable group commits through SQLite's own C API, with the daemon's pragmas and statements prepared once.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "baseline_sqlite.h"

static sqlite3_stmt* begin_statement;
static sqlite3_stmt* commit_statement;
static sqlite3_stmt* inserts[TABLES];

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
  bind_cells(inserts[table], cells, tables[table].columns, SQLITE_TRANSIENT);
  run(inserts[table]);
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
  if (options.watch) {
    connect_database(options.database);
    watch_groups(options.seconds);
    return 0;
  }
  open_database(options.database);
  each_ddl_statement(options.schema, "sqlite", "INTEGER PRIMARY KEY", execute);
  prepare_inserts();
  run_groups(options, commit_group);
  return 0;
}
