#include "baseline_postgresql.h"

#include "baseline.h"

PGconn* connection;

PGresult* checked(PGresult* result, const char* doing) {
  const ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail(doing, PQerrorMessage(connection));
  return result;
}

void check(PGresult* result, const char* doing) {
  PQclear(checked(result, doing));
}

void execute(const char* sql) {
  check(PQexec(connection, sql), sql);
}

void open_database(const char* conninfo) {
  connection = PQconnectdb(conninfo);
  if (PQstatus(connection) != CONNECTION_OK) fail("connect", PQerrorMessage(connection));
}
