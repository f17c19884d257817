#include "baseline_sqlite.h"

#include <stddef.h>

sqlite3* database;

void check(int result, int wanted, const char* doing) {
  if (result != wanted) fail(doing, sqlite3_errmsg(database));
}

void execute(const char* sql) {
  check(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK, sql);
}

sqlite3_stmt* prepare(const char* sql) {
  sqlite3_stmt* statement = NULL;
  check(sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL), SQLITE_OK, sql);
  return statement;
}

void run(sqlite3_stmt* statement) {
  check(sqlite3_step(statement), SQLITE_DONE, sqlite3_sql(statement));
  check(sqlite3_reset(statement), SQLITE_OK, sqlite3_sql(statement));
}

void bind_cells(sqlite3_stmt* statement, const struct value* cells, int count,
                sqlite3_destructor_type lifetime) {
  for (int i = 0; i < count; ++i) {
    if (cells[i].kind == INTEGER) sqlite3_bind_int64(statement, i + 1, cells[i].integer);
    if (cells[i].kind == TEXT) sqlite3_bind_text(statement, i + 1, cells[i].text, -1, lifetime);
    if (cells[i].kind == ABSENT) sqlite3_bind_null(statement, i + 1);
  }
}

void connect_database(const char* file) {
  check(sqlite3_open(file, &database), SQLITE_OK, "open the database");
  sqlite3_busy_timeout(database, 10000);
}

void open_database(const char* file) {
  connect_database(file);
  // As in schema/sql/database.cpp.
  execute("PRAGMA journal_mode = WAL");
  execute("PRAGMA synchronous = FULL");
  execute("PRAGMA foreign_keys = ON");
  execute("PRAGMA wal_autocheckpoint = 4000");
  execute("PRAGMA cache_size = -32768");
}
