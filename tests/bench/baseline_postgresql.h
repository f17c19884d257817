// tests/bench: what the C programs share that write through libpq. Any fault prints its reason and exits 70.
#pragma once

#include <libpq-fe.h>

extern PGconn* connection;

// Returns the result, which the caller clears.
PGresult* checked(PGresult* result, const char* doing);
// Clears the result.
void check(PGresult* result, const char* doing);
void execute(const char* sql);
void open_database(const char* conninfo);
