// Writes the final rows and mails of gifts through SQLite's C API: rows read in advance, prepared statements,
// the daemon's pragmas, batches in transactions.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseline.h"
#include "final_rows.h"

static sqlite3* database;

struct rows {
  char columns[1000];   // without generated ones
  struct value* cells;  // row after row
  long count;
  int fields;
};
static struct rows tables_read[FINAL_ROW_TABLES];

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

static void open_database(const char* file) {
  check(sqlite3_open(file, &database), SQLITE_OK, "open the database");
  // As in schema/sql/database.cpp.
  execute("PRAGMA journal_mode = WAL");
  execute("PRAGMA synchronous = FULL");
  execute("PRAGMA wal_autocheckpoint = 4000");
  execute("PRAGMA cache_size = -32768");
}

static struct value value_of(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
      return (struct value){ABSENT, 0, NULL};
    case SQLITE_INTEGER:
      return (struct value){INTEGER, sqlite3_column_int64(statement, column), NULL};
    default:
      return (struct value){TEXT, 0, strdup((const char*)sqlite3_column_text(statement, column))};
  }
}

static void read_columns(int number) {
  char sql[200];
  snprintf(sql, sizeof sql, "SELECT group_concat(name, ', ') FROM pragma_table_info('%s')",
           final_row_tables[number]);
  sqlite3_stmt* statement = prepare(sql);
  check(sqlite3_step(statement), SQLITE_ROW, sql);
  snprintf(tables_read[number].columns, sizeof tables_read[number].columns, "%s",
           (const char*)sqlite3_column_text(statement, 0));
  sqlite3_finalize(statement);
}

static void read_table(int number) {
  struct rows* rows = &tables_read[number];
  read_columns(number);
  char sql[1200];
  snprintf(sql, sizeof sql, "SELECT %s FROM %s", rows->columns, final_row_tables[number]);
  sqlite3_stmt* statement = prepare(sql);
  rows->fields = sqlite3_column_count(statement);
  long capacity = 0;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    if (rows->count == capacity) {
      capacity = capacity ? 2 * capacity : 1024;
      rows->cells = realloc(rows->cells, (size_t)capacity * (size_t)rows->fields * sizeof(struct value));
      if (!rows->cells) fail("store the rows", "no memory");
    }
    struct value* row = rows->cells + rows->count++ * rows->fields;
    for (int i = 0; i < rows->fields; ++i) row[i] = value_of(statement, i);
  }
  sqlite3_finalize(statement);
}

static void write_row(sqlite3_stmt* statement, const struct value* row, int count) {
  for (int i = 0; i < count; ++i) {
    if (row[i].kind == INTEGER) sqlite3_bind_int64(statement, i + 1, row[i].integer);
    if (row[i].kind == TEXT) sqlite3_bind_text(statement, i + 1, row[i].text, -1, SQLITE_STATIC);
    if (row[i].kind == ABSENT) sqlite3_bind_null(statement, i + 1);
  }
  check(sqlite3_step(statement), SQLITE_DONE, sqlite3_sql(statement));
  sqlite3_reset(statement);
}

static void write_table(int number, long batch) {
  const struct rows* rows = &tables_read[number];
  char sql[2000];
  snprintf(sql, sizeof sql, "INSERT INTO %s (%s) VALUES (", final_row_tables[number], rows->columns);
  for (int i = 0; i < rows->fields; ++i) sprintf(sql + strlen(sql), "%s?%d", i ? ", " : "", i + 1);
  strcat(sql, ")");
  sqlite3_stmt* statement = prepare(sql);
  for (long row = 0; row < rows->count; ++row) {
    if (row % batch == 0) execute("BEGIN IMMEDIATE");
    write_row(statement, rows->cells + row * rows->fields, rows->fields);
    if (row % batch == batch - 1 || row == rows->count - 1) execute("COMMIT");
  }
  sqlite3_finalize(statement);
}

int main(int argc, char** argv) {
  const struct final_rows_options options = read_final_rows_options(argc, argv);
  open_database(options.finished);
  for (int i = 0; i < FINAL_ROW_TABLES; ++i) read_table(i);
  sqlite3_close(database);
  read_mails(options.finished_folder);
  open_database(options.fresh);
  const double begin = seconds_now();
  for (int i = 0; i < FINAL_ROW_TABLES; ++i) write_table(i, options.batch);
  const double rows_end = seconds_now();
  const long mails = write_mails(options.fresh_folder, options.batch);
  printf("{\"seconds\": %.3f, \"row_seconds\": %.3f, \"gifts\": %ld, \"mails\": %ld}\n",
         seconds_now() - begin, rows_end - begin, tables_read[1].count, mails);
  return 0;
}
