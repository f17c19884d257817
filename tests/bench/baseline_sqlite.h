// tests/bench: what the C programs share that write through SQLite's own C API. Any fault prints its reason
// and exits 70.
#pragma once

#include <sqlite3.h>

#include "baseline.h"

extern sqlite3* database;

void check(int result, int wanted, const char* doing);
void execute(const char* sql);
sqlite3_stmt* prepare(const char* sql);
// Runs a statement without rows, and makes it ready for its next run.
void run(sqlite3_stmt* statement);
// `lifetime` of the texts: SQLITE_STATIC or SQLITE_TRANSIENT.
void bind_cells(sqlite3_stmt* statement, const struct value* cells, int count,
                sqlite3_destructor_type lifetime);

void connect_database(const char* file);
// With the daemon's pragmas.
void open_database(const char* file);
