// Writes the final rows of status changes through libpq: rows read in advance, one statement with arrays per batch
// (the fastest known way for batches of this size). Usage: FINISHED-CONNECTION FRESH-CONNECTION
// ROWS-IN-A-COMMIT
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "baseline.h"
#include "final_writes.h"

static PGconn* connection;
static PGresult* results[FINAL_TABLES];
static int fields[FINAL_TABLES];

static PGresult* checked(PGresult* result, const char* doing) {
  const ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail(doing, PQerrorMessage(connection));
  return result;
}

static void open_database(const char* conninfo) {
  connection = PQconnectdb(conninfo);
  if (PQstatus(connection) != CONNECTION_OK) fail("connect", PQerrorMessage(connection));
}

static void read_table(int number) {
  const struct final_table* table = &final_tables[number];
  char sql[600] = "SELECT ";
  for (; table->field[fields[number]]; ++fields[number])
    strcat(strcat(sql, fields[number] ? ", " : ""), table->field[fields[number]]);
  strcat(strcat(strcat(strcat(sql, " FROM "), table->name), " WHERE "), table->condition);
  results[number] = checked(PQexec(connection, sql), sql);
}

static void prepare_write(int number) {
  const struct final_table* table = &final_tables[number];
  char names[300] = "";
  char assignments[700] = "";
  char arrays[500] = "";
  for (int i = 0; i < fields[number]; ++i) {
    const char type = table->types[i];
    const char* array = type == 'i' ? "bigint" : type == 't' ? "text" : "timestamptz";
    sprintf(names + strlen(names), "%s%s", i ? ", " : "", table->field[i]);
    sprintf(arrays + strlen(arrays), "%s$%d::%s[]", i ? ", " : "", i + 1, array);
    if (i)
      sprintf(assignments + strlen(assignments), "%s%s = g.%s", i > 1 ? ", " : "", table->field[i],
              table->field[i]);
  }
  char sql[2000];
  if (table->key) {
    snprintf(sql, sizeof sql, "UPDATE %s w SET %s FROM unnest(%s) AS g (%s) WHERE w.%s = g.%s", table->name,
             assignments, arrays, names, table->key, table->key);
  } else {
    snprintf(sql, sizeof sql, "INSERT INTO %s (%s) SELECT * FROM unnest(%s)", table->name, names, arrays);
  }
  PQclear(checked(PQprepare(connection, table->name, sql, 0, NULL), sql));
}

static char* array_of(int number, int field, int first, int last) {
  size_t size = 3;
  for (int row = first; row < last; ++row) size += 2 * (size_t)PQgetlength(results[number], row, field) + 7;
  char* text = malloc(size);
  if (!text) fail("store a batch", "no memory");
  char* end = text;
  for (int row = first; row < last; ++row) {
    *end++ = row == first ? '{' : ',';
    if (PQgetisnull(results[number], row, field)) {
      end += sprintf(end, "NULL");
      continue;
    }
    *end++ = '"';
    for (const char* from = PQgetvalue(results[number], row, field); *from; ++from) {
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
  for (int i = 0; i < fields[number]; ++i) arrays[i] = array_of(number, i, first, last);
  PQclear(checked(PQexecPrepared(connection, final_tables[number].name, fields[number],
                                 (const char* const*)arrays, NULL, NULL, 0),
                  final_tables[number].name));
  for (int i = 0; i < fields[number]; ++i) free(arrays[i]);
}

int main(int argc, char** argv) {
  const int batch = argc == 4 ? atoi(argv[3]) : 0;
  if (batch < 1) {
    fprintf(stderr, "Usage: %s FINISHED-CONNECTION FRESH-CONNECTION ROWS-IN-A-COMMIT\n", argv[0]);
    return EX_USAGE;
  }
  open_database(argv[1]);
  for (int i = 0; i < FINAL_TABLES; ++i) read_table(i);
  PQfinish(connection);
  open_database(argv[2]);
  const double begin = seconds_now();
  for (int i = 0; i < FINAL_TABLES; ++i) {
    prepare_write(i);
    const int rows = PQntuples(results[i]);
    for (int first = 0; first < rows; first += batch)
      write_batch(i, first, first + batch < rows ? first + batch : rows);
  }
  printf("{\"seconds\": %.3f, \"changes\": %d, \"gifts\": %d}\n", seconds_now() - begin,
         PQntuples(results[0]), PQntuples(results[2]));
  PQfinish(connection);
  return 0;
}
