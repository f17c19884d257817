// Writes the final rows and mails of gifts through libpq: rows read in advance, one statement with arrays per
// batch (the fastest known way for batches of this size).
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseline.h"
#include "final_rows.h"

enum { MAX_FIELDS = 80, MAX_COLUMN_TEXT = 3000 };

static PGconn* connection;
static PGresult* rows[FINAL_ROW_TABLES];
static char columns[FINAL_ROW_TABLES][MAX_COLUMN_TEXT];  // without generated ones
static PGresult* types[FINAL_ROW_TABLES];                // a row for each column: name, type

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
  char sql[500];
  snprintf(
      sql, sizeof sql,
      "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = '%s'::regclass "
      "AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum",
      final_row_tables[number]);
  types[number] = checked(PQexec(connection, sql), sql);
  if (PQntuples(types[number]) > MAX_FIELDS) fail("read the columns", final_row_tables[number]);
  for (int i = 0; i < PQntuples(types[number]); ++i)
    sprintf(columns[number] + strlen(columns[number]), "%s%s", i ? ", " : "",
            PQgetvalue(types[number], i, 0));
  char select[MAX_COLUMN_TEXT + 100];
  snprintf(select, sizeof select, "SELECT %s FROM %s", columns[number], final_row_tables[number]);
  rows[number] = checked(PQexec(connection, select), select);
}

static void prepare_write(int number) {
  char sql[6000];
  snprintf(sql, sizeof sql, "INSERT INTO %s (%s) SELECT * FROM unnest(", final_row_tables[number],
           columns[number]);
  for (int i = 0; i < PQntuples(types[number]); ++i)
    sprintf(sql + strlen(sql), "%s$%d::%s[]", i ? ", " : "", i + 1, PQgetvalue(types[number], i, 1));
  strcat(sql, ")");
  PQclear(checked(PQprepare(connection, final_row_tables[number], sql, 0, NULL), sql));
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
  const int fields = PQntuples(types[number]);
  for (int i = 0; i < fields; ++i) arrays[i] = array_of(number, i, first, last);
  PQclear(checked(
      PQexecPrepared(connection, final_row_tables[number], fields, (const char* const*)arrays, NULL, NULL, 0),
      final_row_tables[number]));
  for (int i = 0; i < fields; ++i) free(arrays[i]);
}

int main(int argc, char** argv) {
  const struct final_rows_options options = read_final_rows_options(argc, argv);
  const int batch = (int)options.batch;
  open_database(options.finished);
  for (int i = 0; i < FINAL_ROW_TABLES; ++i) read_table(i);
  PQfinish(connection);
  read_mails(options.finished_folder);
  open_database(options.fresh);
  const double begin = seconds_now();
  for (int i = 0; i < FINAL_ROW_TABLES; ++i) {
    prepare_write(i);
    const int count = PQntuples(rows[i]);
    for (int first = 0; first < count; first += batch)
      write_batch(i, first, first + batch < count ? first + batch : count);
  }
  const double rows_end = seconds_now();
  const long mails = write_mails(options.fresh_folder, options.batch);
  printf("{\"seconds\": %.3f, \"row_seconds\": %.3f, \"gifts\": %d, \"mails\": %ld}\n", seconds_now() - begin,
         rows_end - begin, PQntuples(rows[1]), mails);
  PQfinish(connection);
  return 0;
}
