// tests/bench: the reference for `scripts/bench --what end_to_end` and `--what changes`: C programs that
// write the same final rows and files as a daemon that has done everything. Rows are read from the daemon's
// store in advance and written once each, in their final state, in large batches: nothing is read, folded,
// compared or synced meanwhile. Each mail is written to a file that is synced, and the folder after each
// batch. Shared by final_rows_sqlite.c and final_rows_postgresql.c. Any fault prints its reason and exits 70.
#pragma once

#include <stdbool.h>

enum { MAX_FINAL_TABLES = 6, MAX_FIELDS = 80, MAX_COLUMN_TEXT = 3000 };

// A table whose rows are written.
struct final_table {
  const char* name;
  bool is_update;         // by the first column; else rows are inserted
  const char* columns;    // NULL: all
  const char* condition;  // of the rows; NULL: all rows
};

struct final_rows_options {
  const char* finished;         // SQLite: a file; PostgreSQL: a libpq connection string
  const char* fresh;            // the same
  long batch;                   // rows in a commit, and mails in a sync of the folder
  const char* finished_folder;  // of mails; NULL: there are none to write
  const char* fresh_folder;
};

// The tables to write, which read_final_rows_options chose; the last one has no name.
extern const struct final_table* final_tables;

struct final_rows_options read_final_rows_options(int argc, char** argv);

// Reads the rows of the table with that number into memory; returns how many.
typedef long read_final_table(int number);
typedef void write_final_table(int number, long batch);

// Reads all tables and mails.
void read_final(struct final_rows_options options, read_final_table* read);
// Writes them, and prints the seconds and numbers as one line of JSON.
void write_final(struct final_rows_options options, write_final_table* write);
