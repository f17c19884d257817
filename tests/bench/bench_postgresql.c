// Durable group commits through libpq: one connection, one prepared statement per table and group, with
// arrays as text parameters (the fastest known way for groups of this size).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseline.h"
#include "baseline_postgresql.h"

// A PostgreSQL array literal that grows.
struct array {
  char* text;
  size_t length;
  size_t capacity;
};

static struct array arrays[TABLES][MAX_COLUMNS];

static void prepare_inserts(void) {
  for (int i = 0; i < TABLES; ++i) {
    char names[300] = "";
    char places[400] = "";
    for (int column = 0; column < tables[i].columns; ++column) {
      const char* comma = column > 0 ? ", " : "";
      strcat(strcat(names, comma), tables[i].column[column]);
      const char* type = tables[i].types[column] == 'i' ? "bigint" : "text";
      snprintf(places + strlen(places), sizeof places - strlen(places), "%s$%d::%s[]", comma, column + 1,
               type);
    }
    char sql[800];
    snprintf(sql, sizeof sql, "INSERT INTO %s (%s) SELECT * FROM unnest(%s)", tables[i].name, names, places);
    check(PQprepare(connection, tables[i].name, sql, 0, NULL), sql);
  }
}

static void append(struct array* array, const char* bytes, size_t length) {
  if (array->length + length + 1 > array->capacity) {
    array->capacity = 2 * (array->length + length + 1);
    array->text = realloc(array->text, array->capacity);
    if (!array->text) fail("store a group", "no memory");
  }
  memcpy(array->text + array->length, bytes, length);
  array->length += length;
  array->text[array->length] = '\0';
}

static void append_quoted(struct array* array, const char* text) {
  append(array, "\"", 1);
  for (size_t plain = 0; *text; text += plain) {
    plain = strcspn(text, "\"\\");
    append(array, text, plain);
    if (!text[plain]) break;
    append(array, "\\", 1);
    append(array, text + plain++, 1);
  }
  append(array, "\"", 1);
}

static void add_row(int table, const struct value* cells) {
  for (int column = 0; column < tables[table].columns; ++column) {
    struct array* array = &arrays[table][column];
    append(array, array->length == 0 ? "{" : ",", 1);
    if (cells[column].kind == INTEGER) {
      char digits[24];
      append(array, digits, (size_t)snprintf(digits, sizeof digits, "%lld", cells[column].integer));
    }
    if (cells[column].kind == TEXT) append_quoted(array, cells[column].text);
    if (cells[column].kind == ABSENT) append(array, "NULL", 4);
  }
}

static void insert_rows(int table) {
  const char* values[MAX_COLUMNS];
  for (int column = 0; column < tables[table].columns; ++column) {
    append(&arrays[table][column], "}", 1);
    values[column] = arrays[table][column].text;
    arrays[table][column].length = 0;
  }
  check(PQexecPrepared(connection, tables[table].name, tables[table].columns, values, NULL, NULL, 0),
        tables[table].name);
}

static void commit_group(long long first_id, long size) {
  for (long i = 0; i < size; ++i) each_row_of_request(first_id + i, add_row);
  execute("BEGIN");
  for (int table = 0; table < TABLES; ++table) insert_rows(table);
  execute("COMMIT");
}

int main(int argc, char** argv) {
  const struct options options = read_options(argc, argv, false);
  open_database(options.database);
  each_ddl_statement(options.schema, "postgresql", "BIGINT PRIMARY KEY", execute);
  prepare_inserts();
  run_groups(options, commit_group);
  PQfinish(connection);
  return 0;
}
