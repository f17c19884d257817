// The bare SELECTs of matching through SQLite's own C API, each batch in one read transaction.
#include <sqlite3.h>
#include <stdlib.h>

#include "match_baseline.h"

static sqlite3* database;
static sqlite3_stmt* queries[QUERIES];

static void check(int result, int wanted, const char* doing) {
  if (result != wanted) fail(doing, sqlite3_errmsg(database));
}

static void run(enum query query, const char* list, void (*row)(const char*, const char*)) {
  sqlite3_stmt* statement = queries[query];
  check(sqlite3_bind_text(statement, 1, list, -1, SQLITE_STATIC), SQLITE_OK, "bind a list");
  int result;
  while ((result = sqlite3_step(statement)) == SQLITE_ROW)
    row((const char*)sqlite3_column_text(statement, 0), (const char*)sqlite3_column_text(statement, 1));
  check(result, SQLITE_DONE, "read rows");
  sqlite3_reset(statement);
}

int main(int argc, char** argv) {
  if (argc != 4) fail("begin", "DATABASE RECIPIENTS SECONDS; scripts/bench calls this program");
  check(sqlite3_open_v2(argv[1], &database, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK, "open the database");
  // As in schema/sql/database.cpp.
  sqlite3_exec(database, "PRAGMA cache_size = -32768", NULL, NULL, NULL);
  for (int i = 0; i < QUERIES; ++i) {
    char text[1000];
    query_text((enum query)i, "%s IN (SELECT value FROM json_each(?1))", text, sizeof text);
    check(sqlite3_prepare_v3(database, text, -1, SQLITE_PREPARE_PERSISTENT, &queries[i], NULL), SQLITE_OK,
          text);
  }
  match_recipients(argv[2], atof(argv[3]), "[]", run);
  return 0;
}
