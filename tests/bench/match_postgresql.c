// The bare SELECTs of matching through libpq: one connection, statements prepared once, keys as an array.
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#include "match_baseline.h"

static PGconn* connection;

static void run(enum query query, const char* list, void (*row)(const char*, const char*)) {
  char name[8];
  snprintf(name, sizeof name, "q%d", query);
  PGresult* result = PQexecPrepared(connection, name, 1, &list, NULL, NULL, 0);
  if (PQresultStatus(result) != PGRES_TUPLES_OK) fail("read rows", PQerrorMessage(connection));
  for (int i = 0; i < PQntuples(result); ++i) row(PQgetvalue(result, i, 0), PQgetvalue(result, i, 1));
  PQclear(result);
}

int main(int argc, char** argv) {
  if (argc != 4) fail("begin", "DATABASE RECIPIENTS SECONDS; scripts/bench calls this program");
  connection = PQconnectdb(argv[1]);
  if (PQstatus(connection) != CONNECTION_OK) fail("connect", PQerrorMessage(connection));
  for (int i = 0; i < QUERIES; ++i) {
    char text[1000];
    char name[8];
    query_text((enum query)i, "%s = ANY($1::text[])", text, sizeof text);
    snprintf(name, sizeof name, "q%d", i);
    PGresult* result = PQprepare(connection, name, text, 0, NULL);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) fail(text, PQerrorMessage(connection));
    PQclear(result);
  }
  match_recipients(argv[2], atof(argv[3]), "{}", run);
  return 0;
}
