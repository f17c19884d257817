// See final_rows.h. SQLite's C API: prepared statements, the daemon's pragmas, batches in transactions.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseline_sqlite.h"
#include "final_rows.h"

struct rows {
  char* column[MAX_FIELDS];
  struct value* cells;  // row after row
  long count;
  int fields;
};
static struct rows tables_read[MAX_FINAL_TABLES];

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

// All columns of a table, without generated ones.
static void read_columns(const char* table, char* columns, size_t size) {
  char sql[200];
  snprintf(sql, sizeof sql, "SELECT group_concat(name, ', ') FROM pragma_table_info('%s')", table);
  sqlite3_stmt* statement = prepare(sql);
  check(sqlite3_step(statement), SQLITE_ROW, sql);
  snprintf(columns, size, "%s", (const char*)sqlite3_column_text(statement, 0));
  sqlite3_finalize(statement);
}

static sqlite3_stmt* prepare_read(const struct final_table* table) {
  char columns[MAX_COLUMN_TEXT];
  if (table->columns) {
    snprintf(columns, sizeof columns, "%s", table->columns);
  } else {
    read_columns(table->name, columns, sizeof columns);
  }
  char sql[MAX_COLUMN_TEXT + 300];
  snprintf(sql, sizeof sql, "SELECT %s FROM %s WHERE %s", columns, table->name,
           table->condition ? table->condition : "1 = 1");
  return prepare(sql);
}

static long read_table(int number) {
  struct rows* rows = &tables_read[number];
  sqlite3_stmt* statement = prepare_read(&final_tables[number]);
  rows->fields = sqlite3_column_count(statement);
  if (rows->fields > MAX_FIELDS) fail("read the columns", final_tables[number].name);
  for (int i = 0; i < rows->fields; ++i) rows->column[i] = strdup(sqlite3_column_name(statement, i));
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
  return rows->count;
}

static sqlite3_stmt* prepare_write(int number) {
  const struct final_table* table = &final_tables[number];
  const struct rows* rows = &tables_read[number];
  char names[MAX_COLUMN_TEXT] = "";
  char places[8 * MAX_FIELDS] = "";
  char assignments[2 * MAX_COLUMN_TEXT] = "";
  for (int i = 0; i < rows->fields; ++i) {
    const char* comma = i ? ", " : "";
    sprintf(names + strlen(names), "%s%s", comma, rows->column[i]);
    sprintf(places + strlen(places), "%s?%d", comma, i + 1);
    if (i)
      sprintf(assignments + strlen(assignments), "%s%s = ?%d", i > 1 ? ", " : "", rows->column[i], i + 1);
  }
  char sql[3 * MAX_COLUMN_TEXT];
  if (table->is_update) {
    snprintf(sql, sizeof sql, "UPDATE %s SET %s WHERE %s = ?1", table->name, assignments, rows->column[0]);
  } else {
    snprintf(sql, sizeof sql, "INSERT INTO %s (%s) VALUES (%s)", table->name, names, places);
  }
  return prepare(sql);
}

static void write_table(int number, long batch) {
  const struct rows* rows = &tables_read[number];
  sqlite3_stmt* statement = prepare_write(number);
  for (long row = 0; row < rows->count; ++row) {
    if (row % batch == 0) execute("BEGIN IMMEDIATE");
    bind_cells(statement, rows->cells + row * rows->fields, rows->fields, SQLITE_STATIC);
    run(statement);
    if (row % batch == batch - 1 || row == rows->count - 1) execute("COMMIT");
  }
  sqlite3_finalize(statement);
}

int main(int argc, char** argv) {
  const struct final_rows_options options = read_final_rows_options(argc, argv);
  open_database(options.finished);
  read_final(options, read_table);
  sqlite3_close(database);
  open_database(options.fresh);
  write_final(options, write_table);
  return 0;
}
