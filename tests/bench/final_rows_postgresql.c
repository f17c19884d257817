// See final_rows.h. libpq: one statement with arrays per batch (the fastest known way for batches of this
// size).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseline.h"
#include "baseline_postgresql.h"
#include "final_rows.h"

static PGresult* rows[MAX_FINAL_TABLES];
static PGresult* types[MAX_FINAL_TABLES];  // a row for each column of the table: name, type

static PGresult* read_types(const char* table) {
  char sql[500];
  snprintf(
      sql, sizeof sql,
      "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = '%s'::regclass "
      "AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum",
      table);
  return checked(PQexec(connection, sql), sql);
}

static const char* type_of(int number, const char* column) {
  for (int i = 0; i < PQntuples(types[number]); ++i)
    if (strcmp(PQgetvalue(types[number], i, 0), column) == 0) return PQgetvalue(types[number], i, 1);
  fail("find the type of a column", column);
}

static long read_table(int number) {
  const struct final_table* table = &final_tables[number];
  types[number] = read_types(table->name);
  char columns[MAX_COLUMN_TEXT] = "";
  if (table->columns) {
    snprintf(columns, sizeof columns, "%s", table->columns);
  } else {
    for (int i = 0; i < PQntuples(types[number]); ++i)
      sprintf(columns + strlen(columns), "%s%s", i ? ", " : "", PQgetvalue(types[number], i, 0));
  }
  char sql[MAX_COLUMN_TEXT + 300];
  snprintf(sql, sizeof sql, "SELECT %s FROM %s WHERE %s", columns, table->name,
           table->condition ? table->condition : "true");
  rows[number] = checked(PQexec(connection, sql), sql);
  if (PQnfields(rows[number]) > MAX_FIELDS) fail("read the columns", table->name);
  return PQntuples(rows[number]);
}

static void prepare_write(int number) {
  const struct final_table* table = &final_tables[number];
  char names[MAX_COLUMN_TEXT] = "";
  char assignments[2 * MAX_COLUMN_TEXT] = "";
  char arrays[2 * MAX_COLUMN_TEXT] = "";
  for (int i = 0; i < PQnfields(rows[number]); ++i) {
    const char* column = PQfname(rows[number], i);
    const char* comma = i ? ", " : "";
    sprintf(names + strlen(names), "%s%s", comma, column);
    sprintf(arrays + strlen(arrays), "%s$%d::%s[]", comma, i + 1, type_of(number, column));
    if (i) sprintf(assignments + strlen(assignments), "%s%s = g.%s", i > 1 ? ", " : "", column, column);
  }
  char sql[6 * MAX_COLUMN_TEXT];
  if (table->is_update) {
    const char* key = PQfname(rows[number], 0);
    snprintf(sql, sizeof sql, "UPDATE %s w SET %s FROM unnest(%s) AS g (%s) WHERE w.%s = g.%s", table->name,
             assignments, arrays, names, key, key);
  } else {
    snprintf(sql, sizeof sql, "INSERT INTO %s (%s) SELECT * FROM unnest(%s)", table->name, names, arrays);
  }
  check(PQprepare(connection, table->name, sql, 0, NULL), sql);
}

static char* array_of(int number, int field, int first, int last) {
  size_t size = 3;
  for (int row = first; row < last; ++row) size += 2 * (size_t)PQgetlength(rows[number], row, field) + 7;
  char* text = malloc(size);
  if (!text) fail("store a batch", "no memory");
  char* end = text;
  for (int row = first; row < last; ++row) {
    *end++ = row == first ? '{' : ',';
    if (PQgetisnull(rows[number], row, field)) {
      end += sprintf(end, "NULL");
      continue;
    }
    *end++ = '"';
    for (const char* from = PQgetvalue(rows[number], row, field); *from; ++from) {
      if (*from == '"' || *from == '\\') *end++ = '\\';
      *end++ = *from;
    }
    *end++ = '"';
  }
  strcpy(end, "}");
  return text;
}

static void write_batch(int number, int first, int last) {
  char* arrays[MAX_FIELDS];
  const int fields = PQnfields(rows[number]);
  const char* table = final_tables[number].name;
  for (int i = 0; i < fields; ++i) arrays[i] = array_of(number, i, first, last);
  check(PQexecPrepared(connection, table, fields, (const char* const*)arrays, NULL, NULL, 0), table);
  for (int i = 0; i < fields; ++i) free(arrays[i]);
}

static void write_table(int number, long batch) {
  const int count = PQntuples(rows[number]);
  const int step = (int)batch;
  prepare_write(number);
  for (int first = 0; first < count; first += step)
    write_batch(number, first, first + step < count ? first + step : count);
}

int main(int argc, char** argv) {
  const struct final_rows_options options = read_final_rows_options(argc, argv);
  open_database(options.finished);
  read_final(options, read_table);
  PQfinish(connection);
  open_database(options.fresh);
  write_final(options, write_table);
  PQfinish(connection);
  return 0;
}
