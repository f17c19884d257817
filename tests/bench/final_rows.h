// tests/bench: the reference for `scripts/bench --what end_to_end`: C programs that write the same final rows
// and files as a daemon that has taken, mailed and synced all gifts. Whole rows of these tables are read from
// the daemon's store in advance and inserted into an empty one, once each, in large batches; each mail is
// written to a file that is synced, and the folder after each batch. Shared by final_rows_sqlite.c and
// final_rows_postgresql.c. Any fault prints its reason and exits 70.
#pragma once

static const char* const final_row_tables[] = {"gift_request", "recipient_transaction", "mail_outbox",
                                               "change_log",   "crm_sync_state",        "crm_gift_record"};
enum { FINAL_ROW_TABLES = sizeof final_row_tables / sizeof *final_row_tables };

struct final_rows_options {
  const char* finished;         // SQLite: a file; PostgreSQL: a libpq connection string
  const char* fresh;            // the same
  const char* finished_folder;  // of mails
  const char* fresh_folder;
  long batch;  // rows in a commit, and mails in a sync of the folder
};

struct final_rows_options read_final_rows_options(int argc, char** argv);

// Keeps the mails of the folder in memory.
void read_mails(const char* folder);
// Writes them all; returns how many.
long write_mails(const char* folder, long batch);
