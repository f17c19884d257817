// Writes the final rows of status changes through SQLite's C API: rows read in advance, prepared statements, the
// daemon's pragmas, batches in transactions. Usage: FINISHED-FILE FRESH-FILE ROWS-IN-A-COMMIT
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "baseline.h"
#include "final_writes.h"

static sqlite3* database;
static struct value* cells[FINAL_TABLES];  // row after row
static long rows[FINAL_TABLES];
static int fields[FINAL_TABLES];

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
  execute("PRAGMA foreign_keys = ON");
  execute("PRAGMA wal_autocheckpoint = 4000");
  execute("PRAGMA cache_size = -32768");
}

static void read_table(int number) {
  const struct final_table* table = &final_tables[number];
  char sql[600] = "SELECT ";
  for (; table->field[fields[number]]; ++fields[number])
    strcat(strcat(sql, fields[number] ? ", " : ""), table->field[fields[number]]);
  strcat(strcat(strcat(strcat(sql, " FROM "), table->name), " WHERE "), table->condition);
  sqlite3_stmt* statement = prepare(sql);
  long capacity = 0;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    if (rows[number] == capacity) {
      capacity = capacity ? 2 * capacity : 1024;
      cells[number] =
          realloc(cells[number], (size_t)capacity * (size_t)fields[number] * sizeof(struct value));
      if (!cells[number]) fail("store the rows", "no memory");
    }
    struct value* row = cells[number] + rows[number]++ * fields[number];
    for (int i = 0; i < fields[number]; ++i) {
      const int type = sqlite3_column_type(statement, i);
      row[i] = (struct value){type == SQLITE_NULL      ? ABSENT
                              : type == SQLITE_INTEGER ? INTEGER
                                                       : TEXT,
                              0, NULL};
      if (row[i].kind == INTEGER) row[i].integer = sqlite3_column_int64(statement, i);
      if (row[i].kind == TEXT) row[i].text = strdup((const char*)sqlite3_column_text(statement, i));
    }
  }
  sqlite3_finalize(statement);
}

static sqlite3_stmt* prepare_write(int number) {
  const struct final_table* table = &final_tables[number];
  char sql[900];
  snprintf(sql, sizeof sql, table->key ? "UPDATE %s SET " : "INSERT INTO %s (", table->name);
  for (int i = table->key ? 1 : 0; i < fields[number]; ++i) {
    if (i > (table->key ? 1 : 0)) strcat(sql, ", ");
    strcat(sql, table->field[i]);
    if (table->key) sprintf(sql + strlen(sql), " = ?%d", i + 1);
  }
  if (table->key) {
    sprintf(sql + strlen(sql), " WHERE %s = ?1", table->key);
  } else {
    strcat(sql, ") VALUES (");
    for (int i = 0; i < fields[number]; ++i) sprintf(sql + strlen(sql), "%s?%d", i ? ", " : "", i + 1);
    strcat(sql, ")");
  }
  return prepare(sql);
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

int main(int argc, char** argv) {
  const long batch = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
  if (batch < 1) {
    fprintf(stderr, "Usage: %s FINISHED-FILE FRESH-FILE ROWS-IN-A-COMMIT\n", argv[0]);
    return EX_USAGE;
  }
  open_database(argv[1]);
  for (int i = 0; i < FINAL_TABLES; ++i) read_table(i);
  sqlite3_close(database);
  open_database(argv[2]);
  const double begin = seconds_now();
  for (int i = 0; i < FINAL_TABLES; ++i) {
    sqlite3_stmt* statement = prepare_write(i);
    for (long row = 0; row < rows[i]; ++row) {
      if (row % batch == 0) execute("BEGIN IMMEDIATE");
      write_row(statement, cells[i] + row * fields[i], fields[i]);
      if (row % batch == batch - 1 || row == rows[i] - 1) execute("COMMIT");
    }
    sqlite3_finalize(statement);
  }
  printf("{\"seconds\": %.3f, \"changes\": %ld, \"gifts\": %ld}\n", seconds_now() - begin, rows[0], rows[2]);
  return 0;
}
