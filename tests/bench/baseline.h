// tests/bench: the reference for POST /api/v1/gift_requests: a plain C program that writes the same rows
// without HTTP, JSON or clients. One connection commits group after group, as the daemon's group-commit
// writer does. Shared by bench_sqlite.c and bench_postgresql.c; built by scripts/bench. Any fault prints its
// reason and exits 70.
#pragma once

#include <stdbool.h>

enum { TABLES = 4, MAX_COLUMNS = 14 };

enum value_kind { INTEGER, TEXT, ABSENT };

struct value {
  enum value_kind kind;
  long long integer;
  const char* text;
};

struct table {
  const char* name;
  int columns;
  const char* column[MAX_COLUMNS];
  const char* types;  // one letter per column: i: 64-bit integer, t: text
};

// gift_request, recipient_transaction, crm_outbox and mail_outbox, with the columns that the daemon writes.
extern const struct table tables[TABLES];

struct options {
  const char* database;  // SQLite: a file; PostgreSQL: a libpq connection string
  const char* schema;    // schema/sql/store_001.sql
  double seconds;
  long group;  // requests in a commit
  bool watch;  // SQLite only: do not write, but measure how many requests another program commits at a time
};

struct options read_options(int argc, char** argv, bool can_watch);

// Calls `run` for each statement of the store's DDL; `key_type` is the back end's type of a 64-bit primary
// key.
void each_ddl_statement(const char* path, const char* dialect, const char* key_type,
                        void (*run)(const char* statement));

// Calls `add` with the four rows of one request for one recipient, in the order of `tables`. The texts come
// from the environment (BENCH_MESSAGE, ...), as in wrk's requests.
void each_row_of_request(long long id, void (*add)(int table, const struct value* cells));

// Commits groups of `options.group` requests for `options.seconds`, and prints the rate as one line of JSON.
void run_groups(struct options options, void (*commit_group)(long long first_id, long size));

double seconds_now(void);
_Noreturn void fail(const char* doing, const char* reason);
